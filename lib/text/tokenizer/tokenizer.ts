/**
 * From a model's files to a tokenizer, in this order:
 * 1. `io/tokenizer-config.ts` reads the files, `policy/folders` limits the time.
 * 2. `tokenizer-files.ts` validates them, and lists the added tokens and those around a
 *    text.
 * 3. `corrections.ts` corrects `tokenizer.json`, `reference-tokenizer.ts` the package, so
 *    that both match the Rust crate.
 * 4. `plain-text-encoder.ts` keeps a text from becoming special tokens.
 * 5. `chat-template.ts` compiles the template, which `python-jinja.ts` and
 *    `python-values.ts` render as Python does.
 */
import { max } from 'd3-array';
import { describeError } from '../../io/json.js';
import { beginToken, chatTemplate, specialTokens } from './chat-template.js';
import { createPlainTextEncoder, type PlainTextEncoder } from './plain-text-encoder.js';
import { createReferenceTokenizer, type PackageTokenizer } from './reference-tokenizer.js';
import {
  addedTokens,
  parseTokenizerJson,
  requireAround,
  tokensAround,
  type TokensAround,
} from './tokenizer-files.js';

/** Converts text to token ids and back. */
export interface Tokenizer {
  /** Never yields a special token: `<eos>` in a text becomes ordinary tokens. */
  encode(text: string): number[];
  /**
   * Renders a user message in the chat template and encodes it; only the template's own
   * special tokens become special tokens.
   */
  encodeChat?: (message: string) => { text: string; tokenIds: number[] };
  /**
   * Special tokens decode to their names, as do other added tokens (in tokenizers 0.23,
   * to normalised names if `normalized`).
   */
  decode(tokenIds: readonly number[]): string;
  /** The id of a token given by its full text, if it exists. */
  tokenId(token: string): number | undefined;
  /** All ids are below this. */
  vocabSize: number;
}

/** A tokenizer read from a model folder. */
export interface FileTokenizer extends Tokenizer {
  /** `encode` does not add them. */
  around: TokensAround;
  /** Text of the token that servers put before a text, such as `<s>`, if any. */
  beginToken?: string;
  /**
   * Decodes for a server that parses special tokens: special tokens become their names,
   * and ordinary text that spells such a name gets a space inside.
   */
  decodeForOthers(tokenIds: readonly number[]): string;
}

/** @throws Error for token ids that a model's embedding lacks */
export function requireIdsBelow({ vocabSize }: Tokenizer, modelSize: number): void {
  if (vocabSize > modelSize)
    throw new Error(
      `Expected token ids below the model's vocab_size ${modelSize}, but the tokenizer has the id ${vocabSize - 1}. Take both files from one model.`,
    );
}

/** Encodes and decodes a sample, because the package does not validate the JSON. */
function createCheckedTokenizer(json: object): PackageTokenizer {
  try {
    const tokenizer = createReferenceTokenizer(json);
    const { ids } = tokenizer.encode('A a, 1\n', { add_special_tokens: false });
    // A vocabulary without Latin letters has none.
    if (ids.length > 0) tokenizer.decode(ids, { skip_special_tokens: false });
    return tokenizer;
  } catch (cause) {
    const reason = describeError(cause);
    throw new Error(`Expected the JSON of a tokenizer.json, but ${reason}`, { cause });
  }
}

/** Decodes for {@link FileTokenizer.decodeForOthers}. */
function decodeForOthers(
  ids: readonly number[],
  {
    decode,
    text,
    specialIds,
  }: Pick<Tokenizer, 'decode'> & {
    text: PlainTextEncoder;
    specialIds: ReadonlySet<number | undefined>;
  },
): string {
  /**
   * Decodes ordinary tokens after a special one so that they are encoded alike: decoders
   * drop the first space, which only some tokenizers add after a special token.
   */
  const decodeAfter = (special: number | undefined, run: readonly number[]): string => {
    const alone = decode(run);
    if (special === undefined) return alone;
    const name = decode([special]);
    const isAlike = text.parse(name + alone.slice(0, 64))[1] === run[0];
    return isAlike ? alone : decode([special, ...run]).slice(name.length);
  };
  const runs: number[][] = [];
  for (const [i, id] of ids.entries()) {
    if (i > 0 && specialIds.has(id) === specialIds.has(ids[i - 1])) runs.at(-1)!.push(id);
    else runs.push([id]);
  }
  return runs
    .map((run, i) =>
      specialIds.has(run[0]) ? decode(run) : text.breakNames(decodeAfter(runs[i - 1]?.at(-1), run)),
    )
    .join('');
}

/** Stands for a message in a rendered template: a character for private use. */
const MARK = '\uf8ff';

/** Renders a user message and encodes it, the template's special tokens as such. */
function encodeChat(
  message: string,
  template: (message: string) => string,
  text: PlainTextEncoder,
): { text: string; tokenIds: number[] } {
  const chat = template(message);
  const content = message.trim();
  const refuse = (fault: string): never => {
    throw new Error(
      `Expected the chat template to contain the message, but ${JSON.stringify(content.slice(0, 40))} is ${fault}. Use --prompt-form full.`,
    );
  };
  if (content === '' || !chat.includes(content)) refuse('missing');
  // Without special tokens in it, the message is encoded together with its surroundings,
  // as in transformers.
  if (text.isPlain(content)) return { text: chat, tokenIds: text.parse(chat) };
  const [first, ...others] = template(message.replace(content, MARK)).split(MARK);
  if ([first, ...others].join(content) !== chat) refuse('changed');
  const rest = others.flatMap((part) => [...text.encode(content), ...text.parse(part)]);
  return { text: chat, tokenIds: [...text.parse(first), ...rest] };
}

/**
 * Creates a tokenizer from the objects in `tokenizer.json` and `tokenizer_config.json`.
 * @throws Error naming what is missing or unsupported
 */
export function createTokenizer(
  tokenizerJson: object,
  tokenizerConfig: object = {},
): FileTokenizer {
  const parsed = parseTokenizerJson(tokenizerJson);
  const { vocab } = parsed.model;
  const added = addedTokens(parsed, tokenizerConfig);
  const around = tokensAround(parsed.post_processor);
  const ids = [
    ...around.before,
    ...around.after,
    ...(Array.isArray(vocab) ? vocab.keys() : Object.values(vocab)),
    ...added.map((token) => token.id),
  ];
  const tokenizer = createCheckedTokenizer({ ...tokenizerJson, added_tokens: added });
  const named = specialTokens(tokenizerConfig).map((content) => ({
    content,
    id: tokenizer.token_to_id(content),
  }));
  const special = [...added.filter((token) => token.special), ...named];
  const text = createPlainTextEncoder(tokenizer, special);
  const specialIds = new Set(special.map((token) => token.id));
  requireAround(around, tokenizer, tokenizerConfig);
  // SmolLM2's, `<|im_start|>`, is not.
  const begin = beginToken(tokenizerConfig);
  const isBegun =
    begin.isAdded ?? around.before.includes(tokenizer.token_to_id(begin.name ?? '') ?? -1);
  const known = new Set(ids);
  const decode = (tokenIds: readonly number[]): string => {
    // Ids of a padded embedding have no token; the package decodes them as the unknown
    // token.
    const named = tokenIds.filter((id) => known.has(id));
    return named.length === 0 ? '' : tokenizer.decode(named, { skip_special_tokens: false });
  };
  const template = chatTemplate(tokenizerConfig);
  return {
    encode: text.encode,
    around,
    ...(template && { encodeChat: (message) => encodeChat(message, template, text) }),
    decode,
    decodeForOthers: (ids) => decodeForOthers(ids, { decode, text, specialIds }),
    ...(isBegun && { beginToken: begin.name }),
    tokenId: (token) => tokenizer.token_to_id(token),
    vocabSize: 1 + (max(ids) ?? -1),
  };
}
