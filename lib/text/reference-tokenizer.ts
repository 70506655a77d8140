/** The tokenizer of `@huggingface/tokenizers`, corrected to match the Rust crate's. */
import * as huggingFace from '@huggingface/tokenizers';
import { greatest } from 'd3-array';
import { z } from 'zod';
import { escapeRegex } from './regex.js';
import { segmentText } from './segments.js';

/** The part of the package used here; its own types do not resolve under NodeNext. */
export interface PackageTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: { skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
  normalizer: Step | null;
  pre_tokenizer: Step | null;
  decoder: Step | null;
  model: {
    unk_token_id?: number;
    tokens_to_ids: Map<string, number>;
    /** Of BPE models only: all tokens of a piece, also unknown ones. */
    bpe?(piece: string): string[];
    config: { unk_token?: string | null; byte_fallback?: boolean };
    _call(tokens: string[]): string[];
    /** Of unigram models only. */
    populate_nodes?(lattice: Lattice): void;
  };
  added_tokens_map: Map<string, { lstrip: boolean; rstrip: boolean }>;
  splitter_unnormalized: Splitter;
  splitter_normalized: Splitter;
}
/** The possible tokens of a text by their end, for Viterbi's algorithm. */
interface Lattice {
  end_nodes: Iterable<LatticeNode>[];
}
interface LatticeNode {
  backtrace_score: number;
}
/** Splits a text at added tokens. */
interface Splitter {
  split(text: string): string[];
}
/** A normalizer, pre-tokenizer or decoder. */
interface Step {
  config: { precompiled_charsmap?: string | null };
  normalizers?: (Step | null)[];
  tokenizers?: (Step | null)[];
  decoders?: (Step | null)[];
  pattern: RegExp;
  text_decoder: Pick<TextDecoder, 'decode'>;
  normalize(text: string): string;
  pre_tokenize_text(text: string): string[];
}
type Constructor<T> = new (...args: object[]) => T;
type StepName =
  | 'SplitPreTokenizer'
  | 'ByteLevelPreTokenizer'
  | 'PrecompiledNormalizer'
  | 'ByteFallbackDecoder';
const {
  Tokenizer,
  SplitPreTokenizer,
  ByteLevelPreTokenizer,
  PrecompiledNormalizer,
  ByteFallbackDecoder,
} = huggingFace as unknown as Record<StepName, Constructor<Step>> & {
  Tokenizer: Constructor<PackageTokenizer>;
};

const PUNCTUATION = '[\\p{P}\\u0021-\\u002F\\u003A-\\u0040\\u005B-\\u0060\\u007B-\\u007E]';
const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
/** Han characters beyond 2^16, which BERT surrounds with spaces. */
const RARE_HAN = '[\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2CEAF}\\u{2F800}-\\u{2FA1F}]';
/** GPT-2's pattern with the reference's definition of white space. */
const BYTE_LEVEL =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const text = z.string().optional();
const stepSchema = z.looseObject({
  type: z.string(),
  content: text,
  delimiter: text,
  prepend: text,
  replacement: text,
});
type StepJson = z.infer<typeof stepSchema>;
const behaviorSchema = z
  .string()
  .transform((name) => name.toLowerCase().replaceAll(/[-_]/g, ''))
  .pipe(z.enum(['isolated', 'removed', 'contiguous', 'mergedwithprevious', 'mergedwithnext']));
/** An escape, a class or another operand, and the `+` of a possessive quantifier. */
const POSSESSIVE =
  /(\\[pP]\{[^}]*\}|\\.|\[(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[^\\[\](){}|+*?])(?:([+*?])\+)?/gsu;

/**
 * Writes `a++` as `a+(?!a)`: the package lets such quantifiers give back what they took.
 * @throws Error for groups that do not give back, which tiktoken's patterns lack
 */
function withoutPossessive(regex: string): string {
  const rest = regex.replace(POSSESSIVE, (match, atom: string, quantifier?: string) => {
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
type Behavior = z.infer<typeof behaviorSchema>;

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
    case 'Sequence':
      return correctAll(step, 'decoders', correctDecoder);
    case 'Replace':
      return literal(step);
    case 'Metaspace': // keeps the first space, which was never added
      return step.prepend_scheme === 'never' || step.add_prefix_space === false
        ? replace(escapeRegex(step.replacement ?? '▁'), ' ')
        : step;
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

/** Splits a text at a pattern's matches, as the reference's `SplitDelimiterBehavior`. */
function splitAt(
  text: string,
  pattern: RegExp,
  { behavior, invert }: { behavior: Behavior; invert: boolean },
): string[] {
  const pieces: { text: string; isMatch: boolean }[] = [];
  const add = (start: number, end: number, isMatch: boolean): void => {
    if (end > start) pieces.push({ text: text.slice(start, end), isMatch });
  };
  let start = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    add(start, index, invert);
    add(index, (start = index + found.length), !invert);
  }
  add(start, text.length, invert);
  if (behavior === 'removed') return pieces.flatMap((piece) => (piece.isMatch ? [] : [piece.text]));
  const joins = (i: number): boolean => {
    const previous = pieces[i - 1]?.isMatch;
    const piece = pieces[i].isMatch;
    if (i === 0 || behavior === 'isolated') return false;
    if (behavior === 'contiguous') return previous === piece;
    return behavior === 'mergedwithprevious' ? piece && !previous : previous && !piece;
  };
  return pieces
    .map((_, i) => i)
    .filter((i) => !joins(i))
    .map((from, n, starts) =>
      pieces
        .slice(from, starts[n + 1])
        .map((piece) => piece.text)
        .join(''),
    );
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Decodes a run of byte tokens; if it is invalid, each byte becomes U+FFFD. */
function decodeBytes(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return '\ufffd'.repeat(bytes.length);
  }
}

/** Replaces methods whose corrections cannot be expressed in JSON. */
function correctStep(step: Step | null): void {
  for (const inner of step?.normalizers ?? step?.tokenizers ?? step?.decoders ?? [])
    correctStep(inner);
  if (step instanceof ByteLevelPreTokenizer) step.pattern = BYTE_LEVEL;
  if (step instanceof PrecompiledNormalizer)
    step.normalize = createCharsMap(step.config.precompiled_charsmap ?? '');
  if (step instanceof ByteFallbackDecoder) step.text_decoder = { decode: decodeBytes };
  if (step instanceof SplitPreTokenizer) {
    const { pattern, config } = step;
    const { behavior, invert } = splitSchema.parse(config);
    step.pre_tokenize_text = (text) => splitAt(text, pattern, { behavior, invert });
  }
}
const splitSchema = z.object({ behavior: behaviorSchema, invert: z.boolean().default(false) });

/**
 * Makes added tokens strip what Unicode defines as white space, and no other tokens. The
 * package strips what JavaScript's `trim` does, and tokens of white space.
 */
function correctStripping(tokenizer: PackageTokenizer): void {
  const { added_tokens_map: tokens, splitter_unnormalized, splitter_normalized } = tokenizer;
  const strips = new Map(Array.from(tokens, ([content, token]) => [content, { ...token }]));
  for (const token of tokens.values()) token.lstrip = token.rstrip = false;
  for (const splitter of [splitter_unnormalized, splitter_normalized]) {
    const split = splitter.split.bind(splitter);
    splitter.split = (text) =>
      split(text).map((part, i, parts) => {
        if (strips.has(part)) return part;
        const end = strips.get(parts[i + 1])?.lstrip ? /\p{White_Space}+$/u : '';
        const start = strips.get(parts[i - 1])?.rstrip ? /^\p{White_Space}+/u : '';
        return part.replace(start, '').replace(end, '');
      });
  }
}

/**
 * Makes Metaspace with `prepend_scheme` "first" mark only the start of a text. The
 * package also marks what follows normalised added tokens.
 */
function correctFirst(tokenizer: PackageTokenizer): void {
  const { added_tokens_map: tokens, splitter_normalized: splitter } = tokenizer;
  const preTokenize = tokenizer.pre_tokenizer as unknown as PreTokenize | null;
  if (!preTokenize) return;
  const split = splitter.split.bind(splitter);
  let isStart = true;
  splitter.split = (text) => {
    const parts = split(text);
    isStart = !tokens.has(parts.find((part) => part !== '') ?? '');
    return parts;
  };
  const correct: PreTokenize = (text, options) => {
    const section = isStart ? options : { section_index: NaN };
    isStart = false;
    return preTokenize(text, section);
  };
  Object.assign(tokenizer, { pre_tokenizer: correct });
}
type PreTokenize = (text: string, options: { section_index: number }) => string[];

/**
 * Keeps only the best path to each position, the first if several are equal. The package
 * adds the next token's score before it compares, and rounding makes more paths equal.
 */
function correctPaths({ model }: PackageTokenizer): void {
  const populate = model.populate_nodes?.bind(model);
  if (!populate) return;
  model.populate_nodes = (lattice) => {
    populate(lattice);
    lattice.end_nodes = lattice.end_nodes.map((nodes) => {
      // Scores are known once the position is reached.
      let best: LatticeNode[] | undefined;
      const findBest = (): LatticeNode[] => {
        const node = greatest(nodes, ({ backtrace_score: score }) => score);
        return node ? [node] : [];
      };
      return { [Symbol.iterator]: () => (best ??= findBest())[Symbol.iterator]() };
    });
  };
}

/**
 * Makes BPE without an unknown token drop unknown characters before merging; the package
 * drops them afterwards, so that their neighbours stay apart.
 */
function correctUnknown({ model }: PackageTokenizer): void {
  const merge = model.bpe?.bind(model);
  const { unk_token: unknown, byte_fallback: hasBytes } = model.config;
  if (!merge || (unknown ?? null) !== null) return;
  const isKnown = (text: string): boolean => model.tokens_to_ids.has(text);
  const byteTokens = (character: string): string[] =>
    Array.from(
      new TextEncoder().encode(character),
      (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    );
  model.bpe = (piece) =>
    merge(
      Array.from(piece)
        .filter((c) => isKnown(c) || (hasBytes && byteTokens(c).every(isKnown)))
        .join(''),
    );
}

/**
 * Creates a tokenizer from a `tokenizer.json`. Decoding is exact, whatever its settings.
 * @throws Error for JSON that the package or these corrections cannot apply
 */
export function createReferenceTokenizer(json: object): PackageTokenizer {
  const steps = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
  const corrected: Record<string, unknown> = { added_tokens: [], ...steps, ...json };
  const correct = (name: string, change: (step: StepJson) => object): void => {
    if (corrected[name] !== null && corrected[name] !== undefined)
      corrected[name] = change(stepSchema.parse(corrected[name]));
  };
  // Without a normalizer, the package finds normalised tokens together with the others.
  corrected.normalizer ??= sequence('normalizers');
  correct('normalizer', correctNormalizer);
  correct('pre_tokenizer', correctPreTokenizer);
  correct('decoder', correctDecoder);
  corrected.model = correctModel(corrected.model as object);
  const tokenizer = new Tokenizer(corrected, { clean_up_tokenization_spaces: false });
  correctStep(tokenizer.normalizer);
  correctStep(tokenizer.pre_tokenizer);
  correctStep(tokenizer.decoder);
  correctStripping(tokenizer);
  correctFirst(tokenizer);
  correctPaths(tokenizer);
  correctUnknown(tokenizer);
  // Consecutive unknown tokens are fused only within a piece of text.
  const { model } = tokenizer;
  const encodePieces = model._call.bind(model);
  model._call = (pieces) => pieces.flatMap((piece) => encodePieces([piece]));
  return tokenizer;
}

/*
 * SentencePiece's precompiled character maps, such as `nmt_nfkc`, in base 64: a
 * double-array trie over UTF-8 (darts-clone), followed by its replacement texts.
 */

/** Longer graphemes are mapped character by character, as in the reference. */
const MAX_GRAPHEME_BYTES = 5;

/** Normalises as the reference's `spm_precompiled` does; an empty map changes nothing. */
function createCharsMap(base64: string): (text: string) => string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  if (bytes.length === 0) return (text) => text;
  const view = new DataView(bytes.buffer);
  const numUnits = view.getUint32(0, true) / 4;
  const units = Array.from({ length: numUnits }, (_, i) => view.getUint32(4 + 4 * i, true));
  const texts = bytes.subarray(4 + 4 * numUnits);
  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const offset = (unit: number): number => (unit >>> 10) << ((unit & 512) >>> 6);

  /** Finds the replacement of the shortest prefix in the trie. */
  const find = (key: Uint8Array): string | undefined => {
    let node = offset(units[0]);
    for (const byte of key) {
      node ^= byte;
      const unit = units[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== byte) return undefined;
      node ^= offset(unit);
      if (((unit >>> 8) & 1) === 0) continue;
      const start = units[node] & 0x7fffffff;
      return decoder.decode(texts.subarray(start, texts.indexOf(0, start)));
    }
    return undefined;
  };
  const cache = new Map<string, string>();
  const mapGrapheme = (grapheme: string): string => {
    const key = encoder.encode(grapheme);
    const whole = key.length <= MAX_GRAPHEME_BYTES ? find(key) : undefined;
    return whole ?? Array.from(grapheme, (c) => find(encoder.encode(c)) ?? c).join('');
  };
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return (text) =>
    Array.from(segmentText(segmenter, text), (segment) => {
      const cached = cache.get(segment);
      if (cached !== undefined) return cached;
      const mapped = mapGrapheme(segment);
      if (cache.size < 1e5) cache.set(segment, mapped);
      return mapped;
    }).join('');
}
