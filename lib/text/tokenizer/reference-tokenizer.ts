/** The tokenizer of `@huggingface/tokenizers`, corrected to match the Rust crate's. */
import * as huggingFace from '@huggingface/tokenizers';
import { greatest } from 'd3-array';
import { z } from 'zod';
import { segmentText } from '../segments.js';
import { correctTokenizerJson } from './corrections.js';

/** The part of the package used here; its own types do not resolve under NodeNext. */
export interface PackageTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: readonly number[], options: { skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
  normalizer: Step & Normalize;
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
  added_tokens: readonly AddedToken[];
  /** By content and by normalised content. */
  added_tokens_map: Map<string, AddedToken>;
  splitter_unnormalized: Splitter;
  splitter_normalized: Splitter;
}
/** Ids by piece, or the pieces of a unigram model with their scores. */
type Vocab = Record<string, number> | [string, number][];
interface AddedToken {
  id: number;
  content: string;
  normalized: boolean;
  lstrip: boolean;
  rstrip: boolean;
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
  config: {
    precompiled_charsmap?: string | null;
    replacement?: string;
    prepend_scheme?: string;
    add_prefix_space?: boolean;
  };
  normalizers?: (Step | null)[];
  tokenizers?: (Step | null)[];
  decoders?: (Step | null)[];
  pattern: RegExp;
  text_decoder: Pick<TextDecoder, 'decode'>;
  byte_decoder: Readonly<Record<string, number>>;
  decode_chain(tokens: readonly string[]): string[];
  normalize(text: string): string;
  pre_tokenize_text(text: string): string[];
}
type Constructor<T> = new (...args: object[]) => T;
type StepName =
  | 'SplitPreTokenizer'
  | 'ByteLevelPreTokenizer'
  | 'PrecompiledNormalizer'
  | 'ByteFallbackDecoder'
  | 'ByteLevelDecoder'
  | 'MetaspaceDecoder';
const {
  Tokenizer,
  SplitPreTokenizer,
  ByteLevelPreTokenizer,
  PrecompiledNormalizer,
  ByteFallbackDecoder,
  ByteLevelDecoder,
  MetaspaceDecoder,
} = huggingFace as unknown as Record<StepName, Constructor<Step>> & {
  Tokenizer: Constructor<PackageTokenizer>;
};

/** GPT-2's pattern with the reference's definition of white space. */
const BYTE_LEVEL =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const behaviorSchema = z
  .string()
  .transform((name) => name.toLowerCase().replaceAll(/[-_]/g, ''))
  .pipe(z.enum(['isolated', 'removed', 'contiguous', 'mergedwithprevious', 'mergedwithnext']));
type Behavior = z.infer<typeof behaviorSchema>;

/** V8 finds empty matches of lookbehinds between two surrogates. */
const isInsideCharacter = (text: string, index: number): boolean =>
  text.codePointAt(index - 1)! > 0xffff;

/** Splits a text at a pattern's matches, as the reference's `SplitDelimiterBehavior`. */
function splitAt(
  text: string,
  pattern: RegExp,
  { behavior, invert }: { behavior: Behavior; invert: boolean },
): string[] {
  const pieces: { text: string; isMatch: boolean }[] = [];
  const addBetween = (start: number, end: number): void => {
    if (end > start) pieces.push({ text: text.slice(start, end), isMatch: invert });
  };
  let start = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    if (found === '' && (index === start || isInsideCharacter(text, index))) continue;
    addBetween(start, index);
    start = index + found.length;
    // An empty match separates, too.
    pieces.push({ text: found, isMatch: !invert });
  }
  addBetween(start, text.length);
  if (behavior === 'removed')
    return pieces.flatMap(({ text, isMatch }) => (isMatch || text === '' ? [] : [text]));
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
    )
    .filter((piece) => piece !== '');
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

/** A token that does not stand for bytes, such as an added one, is decoded as it is. */
function decodeByteLevel(tokens: readonly string[], bytes: Step['byte_decoder']): string {
  const encoded = tokens.flatMap((token) => {
    const known = Array.from(token, (character) => bytes[character]);
    return known.includes(undefined!) ? [...new TextEncoder().encode(token)] : known;
  });
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(encoded));
}

/** Replaces methods whose corrections cannot be expressed in JSON. */
function correctStep(step: Step | null): void {
  for (const inner of step?.normalizers ?? step?.tokenizers ?? step?.decoders ?? [])
    correctStep(inner);
  if (step instanceof ByteLevelPreTokenizer) step.pattern = BYTE_LEVEL;
  if (step instanceof PrecompiledNormalizer)
    step.normalize = createCharsMap(step.config.precompiled_charsmap ?? '');
  if (step instanceof ByteFallbackDecoder) step.text_decoder = { decode: decodeBytes };
  if (step instanceof ByteLevelDecoder)
    step.decode_chain = (tokens) => [decodeByteLevel(tokens, step.byte_decoder)];
  if (step instanceof MetaspaceDecoder) {
    const { replacement = '▁', prepend_scheme: scheme, add_prefix_space: isAdded } = step.config;
    const first = scheme === 'never' || isAdded === false ? ' ' : '';
    step.decode_chain = (tokens) =>
      tokens.map((token, i) => token.replaceAll(replacement, i === 0 ? first : ' '));
  }
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
 * Makes the model find none of the added tokens, and texts only their normalised form,
 * which `Prepend` makes longer. The package also finds their content.
 */
function correctAdded(tokenizer: PackageTokenizer, vocab: Vocab): void {
  const { added_tokens: added, added_tokens_map: tokens, model, normalizer } = tokenizer;
  const ids = new Map(added.map(({ content, id }) => [content, id]));
  tokenizer.token_to_id = (token) => ids.get(token) ?? model.tokens_to_ids.get(token);
  const pieces = new Set(Array.isArray(vocab) ? vocab.map(([piece]) => piece) : Object.keys(vocab));
  const owners = new Map<string, string>();
  for (const { content, normalized } of added) {
    const form = normalized ? normalizer(content) : content;
    for (const text of [content, form]) {
      const owner = owners.get(text) ?? content;
      if (owner !== content)
        throw new Error(`the added tokens ${owner} and ${content} are normalised alike`);
      owners.set(text, content);
    }
    if (form !== content) tokens.delete(content);
    if (!pieces.has(content)) model.tokens_to_ids.delete(content);
  }
}

/**
 * Makes Metaspace with `prepend_scheme` "first" mark only the start of a text, and only
 * if normalisation keeps its first character. The package also marks what follows
 * normalised added tokens.
 */
function correctFirst(tokenizer: PackageTokenizer): void {
  const { added_tokens_map: tokens, splitter_normalized: splitter, normalizer } = tokenizer;
  const preTokenize = tokenizer.pre_tokenizer as unknown as PreTokenize | null;
  if (!preTokenize) return;
  const split = splitter.split.bind(splitter);
  let isStart = true;
  let isKept = true;
  const normalize: Normalize = (text) => {
    isKept = normalizer(`${String.fromCodePoint(text.codePointAt(0)!)}0`) !== normalizer('0');
    return normalizer(text);
  };
  splitter.split = (text) => {
    const parts = split(text);
    isStart = isKept && !tokens.has(parts.find((part) => part !== '') ?? '');
    return parts;
  };
  const correct: PreTokenize = (text, options) => {
    const section = isStart ? options : undefined;
    isStart = false;
    return preTokenize(text, section);
  };
  Object.assign(tokenizer, { normalizer: normalize, pre_tokenizer: correct });
}
type Normalize = (text: string) => string;
type PreTokenize = (text: string, options?: object) => string[];

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
  const corrected = correctTokenizerJson(json);
  const tokenizer = new Tokenizer(corrected, { clean_up_tokenization_spaces: false });
  correctStep(tokenizer.normalizer);
  correctStep(tokenizer.pre_tokenizer);
  correctStep(tokenizer.decoder);
  correctStripping(tokenizer);
  correctAdded(tokenizer, (corrected.model as { vocab: Vocab }).vocab);
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
