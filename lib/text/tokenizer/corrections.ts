/** Corrects a `tokenizer.json` so that the package reads it as the Rust crate does. */
import { z } from 'zod';
import { escapeRegex } from '../regex.js';

const PUNCTUATION = '[\\p{P}\\u0021-\\u002F\\u003A-\\u0040\\u005B-\\u0060\\u007B-\\u007E]';
const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
/** Han characters beyond 2^16, which BERT surrounds with spaces. */
const RARE_HAN = '[\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}]';
const text = z.string().optional();
const stepSchema = z.looseObject({
  type: z.string(),
  content: text,
  delimiter: text,
  prepend: text,
  replacement: text,
});
type StepJson = z.infer<typeof stepSchema>;
/** An escape, a class or another operand, and the `+` of a possessive quantifier. */
const POSSESSIVE =
  /(\\[pP]\{[^}]*\}|\\.|\[(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[^\\[\](){}|+*?])(?:([+*?])\+)?/gsu;

/**
 * Writes `a++` as `a+(?!a)`: the package lets such quantifiers give back what they took.
 * @throws Error for `\G`, which the package reads as a letter, and for groups that do not
 * give back; tiktoken's patterns have neither
 */
function withoutPossessive(regex: string): string {
  const rest = regex.replace(POSSESSIVE, (match, atom: string, quantifier?: string) => {
    if (atom === '\\G') throw new Error(`\\G is not supported, in ${regex}`);
    if (!quantifier) return match;
    return quantifier === '?' ? `(?:${atom}|(?!${atom}))` : `${atom}${quantifier}(?!${atom})`;
  });
  if (/\(\?>|[\])][+*?]\+/.test(rest.replace(POSSESSIVE, (part) => (part.length > 1 ? 'a' : part))))
    throw new Error(`a group that does not give back is not supported, in ${regex}`);
  return rest;
}

const patternSchema = z.object({
  pattern: z.union([
    z.object({ Regex: z.string().transform(withoutPossessive) }),
    z.object({ String: z.string() }),
  ]),
});

/** The package handles these steps as the reference does. */
const sequence = (list: string, ...steps: unknown[]): object => ({
  type: 'Sequence',
  [list]: steps,
});
const split = (regex: string, behavior: unknown = 'Isolated', invert = false): object => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior,
  invert,
});
const replace = (regex: string, content: string): object => ({
  type: 'Replace',
  pattern: { Regex: regex },
  content,
});

/** Escapes `$`, which `String.replace` treats as special in the replacement. */
const literal = (step: StepJson): object => ({
  ...step,
  ...patternSchema.parse(step),
  content: (step.content ?? '').replaceAll('$', '$$$$'),
});

/** Lower-cases letter by letter: JavaScript has a special sigma at the end of a word. */
const lowercased = (step: StepJson): object => sequence('normalizers', replace('Σ', 'σ'), step);

function correctNormalizer(step: StepJson): object {
  switch (step.type) {
    case 'Sequence':
      return correctAll(step, 'normalizers', correctNormalizer);
    case 'Replace':
      return literal(step);
    case 'Prepend': // nothing to an empty text
      return literal(stepSchema.parse(replace('\\A(?=[\\s\\S])', step.prepend ?? '')));
    case 'Lowercase':
      return lowercased(step);
    case 'BertNormalizer': {
      const lower = step.lowercase ? lowercased(step) : step;
      return step.handle_chinese_chars
        ? sequence('normalizers', replace(RARE_HAN, ' $& '), lower)
        : lower;
    }
    case 'Strip': {
      const ends = [step.strip_left && '\\A\\s+', step.strip_right && '\\s+\\z'].filter(Boolean);
      return sequence('normalizers', ...ends.map((end) => replace(end as string, '')));
    }
    default:
      return step;
  }
}

const isMarkOfFirst = ({ type, prepend_scheme: scheme }: StepJson): boolean =>
  type === 'Metaspace' && scheme === 'first';

function correctPreTokenizer(step: StepJson): object {
  switch (step.type) {
    case 'Sequence':
      // Of a text's pieces, the reference marks only the first; the package marks each.
      if (z.array(stepSchema).parse(step.pretokenizers).slice(1).some(isMarkOfFirst))
        throw new Error('prepend_scheme "first" after another step is not supported.');
      return correctAll(step, 'pretokenizers', correctPreTokenizer);
    case 'Digits':
      return split(step.individual_digits ? '\\p{N}' : '\\p{N}+');
    case 'Punctuation':
      return split(PUNCTUATION, step.behavior ?? 'Isolated');
    case 'Whitespace':
      return split(`[${WORD}]+|[^\\s${WORD}]+`, 'Removed', true);
    case 'WhitespaceSplit':
      return split('\\s+', 'Removed');
    case 'BertPreTokenizer':
      return sequence('pretokenizers', split('\\s+', 'Removed'), split(PUNCTUATION));
    case 'CharDelimiterSplit':
      return split(escapeRegex(step.delimiter ?? ''), 'Removed');
    case 'FixedLength':
      return split(
        `[\\s\\S]{1,${z
          .int()
          .min(1)
          .parse(step.length ?? 5)}}`,
      );
    case 'Split':
      return { ...step, ...patternSchema.parse(step) };
    case 'Metaspace': {
      const { replacement = '▁', split: splits = true, add_prefix_space: prefix } = step;
      // Files from before version 0.15 have add_prefix_space.
      const spaces = { prepend_scheme: prefix === false ? 'never' : 'always', ...step };
      const mark = escapeRegex(replacement);
      return splits ? sequence('pretokenizers', spaces, split(mark, 'MergedWithNext')) : spaces;
    }
    default:
      return step;
  }
}

function correctDecoder(step: StepJson): object {
  switch (step.type) {
    case 'Sequence': {
      const types = z
        .array(stepSchema)
        .parse(step.decoders)
        .map(({ type }) => type);
      const bytesAt = types.indexOf('ByteFallback');
      // Bytes are then several words in the package, and one in the reference.
      if (bytesAt >= 0 && types.includes('WordPiece', bytesAt))
        throw new Error('a WordPiece decoder after ByteFallback is not supported');
      return correctAll(step, 'decoders', correctDecoder);
    }
    case 'Replace':
      return literal(step);
    case 'CTC':
      throw new Error('a CTC decoder, of speech, is not supported');
    default:
      return step;
  }
}

const correctAll = (step: StepJson, list: string, correct: (step: StepJson) => object): object => ({
  ...step,
  [list]: z.array(stepSchema).parse(step[list]).map(correct),
});

/** A word list is WordPiece without continuation pieces. */
function correctModel(model: object): object {
  const { type, vocab } = model as { type?: unknown; vocab: Record<string, number> };
  if (type !== 'WordLevel') return model;
  // Makes longer words unknown without searching for pieces.
  const longest = Object.keys(vocab).reduce((most, { length }) => Math.max(most, length), 0);
  const noPieces = { continuing_subword_prefix: '\0\0', max_input_chars_per_word: longest };
  return { ...model, ...noPieces, type: 'WordPiece' };
}

/** @throws Error for steps that the package or these corrections cannot apply */
export function correctTokenizerJson(json: object): Record<string, unknown> {
  const steps = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  const corrected: Record<string, unknown> = { added_tokens: [], ...steps, ...json };
  const correct = (name: string, change: (step: StepJson) => object): void => {
    if (corrected[name] !== null && corrected[name] !== undefined)
      corrected[name] = change(stepSchema.parse(corrected[name]));
  };
  correct('normalizer', correctNormalizer);
  correct('pre_tokenizer', correctPreTokenizer);
  correct('decoder', correctDecoder);
  corrected.model = correctModel(corrected.model as object);
  // Without a normalizer, the package finds normalised tokens together with the others.
  corrected.normalizer ??= sequence('normalizers');
  return corrected;
}
