/**
 * Reads `tokenizer.json` and `tokenizer_config.json`, which must agree, and rejects what
 * the package would ignore.
 */
import { z } from 'zod';
import { parseAs } from '../../io/json.js';
import { ownValue } from '../../own-value.js';
import { parseTokenizerConfig, specialTokens } from './chat-template.js';
import type { PackageTokenizer } from './reference-tokenizer.js';

/** The package allocates lists up to the largest id, so ids need a bound. */
export const MAX_VOCAB_SIZE = 2 ** 22;

const id = z
  .int()
  .min(0)
  .max(MAX_VOCAB_SIZE - 1);
const unset = z.union([z.literal(false), z.literal(0), z.literal('')]).nullish();
const tokenSchema = z.looseObject({
  id,
  content: z.string().min(1),
  special: z.boolean().default(false),
  single_word: z.literal(false).nullish(),
});
const stepSchema = z.looseObject({ type: z.string() });
const stepsSchema = stepSchema.extend({
  normalizers: z.array(stepSchema).optional(),
  pretokenizers: z.array(stepSchema).optional(),
});
const listedToken = z.tuple([z.string(), id]).optional();
const processorSchema = z.looseObject({
  get processors() {
    return z.array(processorSchema).optional();
  },
  cls: listedToken,
  sep: listedToken,
  /** Special tokens and a text. */
  single: z.array(z.object({ SpecialToken: z.object({ id: z.string() }).optional() })).optional(),
  special_tokens: z.record(z.string(), z.object({ ids: z.array(id) })).optional(),
});
type Processor = z.infer<typeof processorSchema>;
/**
 * Ids are dictionary values or, in a unigram model, list indices. Rejects settings that
 * change the ids but are ignored by the package.
 */
const tokenizerSchema = z
  .object({
    model: z
      .object({
        type: z.enum(['BPE', 'Unigram', 'WordLevel', 'WordPiece']).optional(),
        vocab: z.union([z.record(z.string(), id), z.array(z.unknown()).max(MAX_VOCAB_SIZE)]),
        dropout: unset,
        byte_fallback: z.boolean().nullish(),
        continuing_subword_prefix: z.string().nullish(),
        end_of_word_suffix: z.string().nullish(),
        unk_token: z.string().nullish(),
      })
      .refine(({ type, byte_fallback }) => type !== 'Unigram' || !byte_fallback, {
        path: ['byte_fallback'],
        error: 'unigram models with byte_fallback are not supported',
      })
      .refine(({ type, continuing_subword_prefix: prefix }) => type !== 'BPE' || !prefix, {
        path: ['continuing_subword_prefix'],
        error: 'BPE with a prefix of continuing pieces is not supported',
      })
      .refine(
        ({ type, end_of_word_suffix: suffix, unk_token }) => type !== 'BPE' || !suffix || unk_token,
        {
          path: ['end_of_word_suffix'],
          error: 'BPE with a suffix of last pieces but no unknown token is not supported',
        },
      ),
    added_tokens: z.array(tokenSchema).default([]),
    normalizer: stepsSchema.nullish(),
    pre_tokenizer: stepsSchema.nullish(),
    post_processor: processorSchema.nullish(),
  })
  .refine(
    ({ model, added_tokens: added }) =>
      !model.byte_fallback ||
      !added.some(({ special, content }) => special && /^<0x[0-9A-F]{2}>$/.test(content)),
    { path: ['added_tokens'], error: 'special tokens that stand for bytes are not supported' },
  );
type TokenizerJson = z.infer<typeof tokenizerSchema>;

/** @throws Error naming what is missing or unsupported */
export const parseTokenizerJson = (json: object): TokenizerJson =>
  parseAs(tokenizerSchema, json, 'the JSON of a tokenizer.json');

type Vocab = TokenizerJson['model']['vocab'];

/** Pieces and their ids; a unigram model lists pieces with their scores. */
const vocabEntries = (vocab: Vocab): [string, number][] =>
  Array.isArray(vocab)
    ? vocab.map((entry, id) => [String([entry].flat()[0]), id])
    : Object.entries(vocab);

function requireUniqueIds(vocab: Vocab, added: TokenizerJson['added_tokens']): void {
  const entries = added.map(({ content, id }): [string, number] => [content, id]);
  const ids = new Map(entries);
  const contents = new Map(entries.map(([content, id]) => [id, content]));
  for (const [content, id] of [...entries, ...vocabEntries(vocab)]) {
    const [otherContent, otherId] = [contents.get(id) ?? content, ids.get(content) ?? id];
    if (otherContent === content && otherId === id) continue;
    const fault =
      otherId === id
        ? `${id} is both ${JSON.stringify(otherContent)} and ${JSON.stringify(content)}`
        : `${JSON.stringify(content)} has both ${otherId} and ${id}`;
    throw new Error(
      `Expected each token of tokenizer.json and tokenizer_config.json to have one id, but ${fault}. Load the tokenizer with transformers and save it again.`,
    );
  }
}

/** Settings that transformers reads from tokenizer_config.json, not tokenizer.json. */
const overridesSchema = z.looseObject({
  tokenizer_class: z.string().nullish(),
  added_tokens_decoder: z.record(z.string(), tokenSchema.omit({ id: true })).nullish(),
  split_special_tokens: z.literal(false).nullish(),
});
type Step = z.infer<typeof stepSchema>;
/** Settings of a step of tokenizer.json, by their names in tokenizer_config.json. */
const OVERRIDES: Readonly<Record<string, (step: Step) => Record<string, unknown>>> = {
  BertNormalizer: ({ lowercase, strip_accents, handle_chinese_chars }) => ({
    do_lower_case: lowercase,
    strip_accents,
    tokenize_chinese_chars: handle_chinese_chars,
  }),
  ByteLevel: ({ add_prefix_space }) => ({ add_prefix_space }),
  Metaspace: ({ add_prefix_space = true, prepend_scheme }) => ({
    add_prefix_space: prepend_scheme === undefined ? add_prefix_space : prepend_scheme !== 'never',
  }),
  Prepend: () => ({ add_prefix_space: true }),
};
/** Classes with BERT's defaults in transformers. */
const BERT_CLASS = /^(\w*Bert|Electra|MPNet)Tokenizer/;
const BERT_DEFAULTS: Record<string, unknown> = {
  do_lower_case: true,
  tokenize_chinese_chars: true,
};
/** Classes that use tokenizer.json unchanged. */
const PLAIN_CLASS = /^(PreTrainedTokenizer|TokenizersBackend)/;

/**
 * The added tokens of tokenizer.json, with their flags in tokenizer_config.json, which
 * win in transformers, and the special tokens listed only in the latter.
 * @throws Error for another setting that differs between the two files
 */
export function addedTokens(
  { normalizer, pre_tokenizer: preTokenizer, added_tokens, model: { vocab } }: TokenizerJson,
  config: object,
): TokenizerJson['added_tokens'] {
  const data = parseAs(overridesSchema, config, 'a tokenizer_config.json');
  const steps = [normalizer, preTokenizer].flatMap((step) => [
    ...(step ? [step] : []),
    ...(step?.normalizers ?? step?.pretokenizers ?? []),
  ]);
  const className = data.tokenizer_class ?? '';
  const defaults = BERT_CLASS.test(className) ? BERT_DEFAULTS : {};
  for (const step of PLAIN_CLASS.test(className) ? [] : steps)
    for (const [name, stepValue = null] of Object.entries(
      ownValue(OVERRIDES, step.type)?.(step) ?? {},
    )) {
      const value = data[name] ?? defaults[name] ?? null;
      if (value !== null && value !== stepValue)
        throw new Error(
          `Expected tokenizer.json and tokenizer_config.json to agree, but ${name} is ${JSON.stringify(stepValue)} in the former (${step.type}) and ${JSON.stringify(value)}${name in data ? '' : ' by default'} in the latter. Load the tokenizer with transformers and save it again.`,
        );
    }
  const ids = new Map(vocabEntries(vocab).reverse());
  const more = new Map<string, TokenizerJson['added_tokens'][number]>();
  for (const content of specialTokens(config)) {
    const id = ids.get(content);
    if (id !== undefined) more.set(content, { id, content, special: true, normalized: false });
  }
  const configured = Object.entries(data.added_tokens_decoder ?? {}).map(([id, token]) =>
    tokenSchema.parse({ ...token, id: Number(id) }),
  );
  requireUniqueIds(vocab, [...added_tokens, ...configured]);
  const overrides = new Map(configured.map((token) => [token.content, token]));
  for (const token of configured) more.set(token.content, token);
  for (const { content } of added_tokens) more.delete(content);
  const listed = added_tokens.map((token) => {
    const override = overrides.get(token.content);
    return { ...token, ...override, special: token.special || override?.special === true };
  });
  return [...listed, ...more.values()];
}

/** Special tokens around a text, such as [CLS] and [SEP]. */
export interface TokensAround {
  before: number[];
  after: number[];
}

/**
 * Checks the tokens around a text: of these classes, transformers ignores the
 * post-processor in tokenizer.json.
 * @throws Error for another token in tokenizer_config.json
 */
export function requireAround(
  { before, after }: TokensAround,
  tokenizer: PackageTokenizer,
  json: object,
): void {
  const config = parseTokenizerConfig(json);
  const className = config.tokenizer_class ?? '';
  const isXlm = /^XLMRobertaTokenizer/.test(className);
  if (!isXlm && !BERT_CLASS.test(className) && !/^RobertaTokenizer/.test(className)) return;
  const names = isXlm
    ? (['bos_token', 'eos_token'] as const)
    : (['cls_token', 'sep_token'] as const);
  for (const [i, name] of names.entries()) {
    const token = config[name];
    const [id, ...others] = i === 0 ? before : after;
    if (token && (others.length > 0 || id !== tokenizer.token_to_id(token)))
      throw new Error(
        `Expected tokenizer.json and tokenizer_config.json to agree, but ${name} is ${JSON.stringify(token)} in the latter and another one in the post_processor of the former. Load the tokenizer with transformers and save it again.`,
      );
  }
}

/** The special tokens around a text, with the ids that the post-processor lists. */
export function tokensAround(processor: Processor | null | undefined): TokensAround {
  const { processors = [], cls, sep, single = [], special_tokens: tokens } = processor ?? {};
  const textAt = single.findIndex(({ SpecialToken }) => !SpecialToken);
  const templateIds = (parts: typeof single): number[] =>
    parts.flatMap(({ SpecialToken: token }) => {
      const listed = token && ownValue(tokens, token.id);
      if (token && !listed)
        throw new Error(
          `Expected special_tokens in the post_processor of tokenizer.json to list ${token.id}, but it is missing. Copy the file again.`,
        );
      return listed?.ids ?? [];
    });
  let before = cls ? [cls[1]] : templateIds(single.slice(0, textAt));
  let after = sep ? [sep[1]] : templateIds(single.slice(textAt + 1));
  for (const outer of processors.map(tokensAround)) {
    before = [...outer.before, ...before];
    after = [...after, ...outer.after];
  }
  return { before, after };
}
