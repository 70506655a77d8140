/**
 * The tokenizer of the small policy, trained on the text of a practice world. Numbers and
 * phrases are single tokens, because numbers of two tokens are hard to compare. Names
 * have one to three tokens: a policy learns to copy sooner if a token predicts the next
 * one of its name.
 */
import { range } from 'd3-array';
import type { Random } from '../../lib/random.js';
import { KINDS, SPECS } from '../small-world/kinds.js';
import { createQuestionMaker } from '../small-world/questions.js';
import { makeWorld, NUMBERS, YEARS } from '../small-world/world.js';

/** Tags, which are single tokens for the small policy. */
export const TAG_TOKENS = ['think', 'search', 'information', 'answer'].flatMap((tag) => [
  `<${tag}>`,
  `</${tag}>`,
]);

const NUM_QUESTIONS = 2000;
const WORLD_SIZE = 150;
/** Enough copies to make each number one token. */
const NUMBER_COPIES = 1000;

/** Text of prompts, thoughts and printed passages that is not in the world. */
const PHRASES = [
  ' Need',
  ' of each, all at once.',
  ' of each, one by one.',
  ', then',
  ' =',
  ' ;',
  ' unknown',
  ' Least',
  ' Most',
  ' No search.',
  ' first:',
  'Practice.',
  'Answer directly.',
  ' ##',
  'Answer with search.',
  'Answer with search, split parts with ##.',
  ' Question:',
  'Doc',
  '(Title:',
  ' The',
  ...range(1, 15).map((rank) => ` ${rank}`),
];

/** Passages, questions in training wordings, names, phrases and numbers. */
function tokenizerLines(random: Random): string[] {
  const { things, passages } = makeWorld(random, { train: WORLD_SIZE });
  const make = createQuestionMaker(things);
  const questions = range(NUM_QUESTIONS).flatMap(() => [
    make.chain(1 + random.integer(4), 'train', random).question,
    make.ordered(2, 1, 'train', random).question,
  ]);
  return [
    ...passages.map(({ contents }) => contents),
    ...questions,
    ...things.map(({ name }) => ` ${name}`),
    ...range(NUMBER_COPIES).flatMap(() => [
      ...[...YEARS, ...NUMBERS].map((number) => ` ${number}`),
      ...KINDS.flatMap((kind) => Object.keys(SPECS[kind].attributes)).map(
        (attribute) => ` ${attribute}:`,
      ),
      ...PHRASES,
    ]),
  ];
}

/** Trains the tokenizer; returns the JSON of `tokenizer.json`. */
export const trainTokenizer = (random: Random, vocabSize: number): object =>
  trainBpe(tokenizerLines(random), {
    vocabSize,
    minFrequency: 2,
    addedTokens: [
      ...['<pad>', '<eos>'].map((content) => ({ content, special: true })),
      // Not special, because other trainers skip special tokens in decoding, and the tags
      // must stay.
      ...TAG_TOKENS.map((content) => ({ content, special: false })),
    ],
  });

const WORD_PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

interface BpeOptions {
  /** Total number of tokens: added tokens, 256 bytes, merges. */
  vocabSize: number;
  /** Pairs seen less often are not merged. */
  minFrequency: number;
  /** Tokens that are never split or merged; their ids are 0, 1, ... in this order. */
  addedTokens: readonly { content: string; special: boolean }[];
}

/** GPT-2's printable stand-in for each byte. */
function byteAlphabet(): string[] {
  const isPrintable = (b: number): boolean =>
    (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(isPrintable(b) ? b : next++));
}

interface Word {
  symbols: number[];
  count: number;
}

/** Distinct words of the text as byte symbols, with their counts. */
function countWords(
  lines: Iterable<string>,
  added: readonly string[],
  byteIds: readonly number[],
): Word[] {
  const counts = new Map<string, number>();
  const encoder = new TextEncoder();
  const splitter = added.length
    ? new RegExp(added.map((t) => t.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'))
    : null;
  for (const line of lines) {
    for (const piece of splitter ? line.split(splitter) : [line]) {
      for (const [word] of piece.matchAll(WORD_PATTERN))
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return [...counts].map(([word, count]) => ({
    symbols: Array.from(encoder.encode(word), (byte) => byteIds[byte]),
    count,
  }));
}

/** Adds a word's pairs to the counts (sign 1) or subtracts them; pairs are numbers. */
function countPairs(
  counts: Map<number, number>,
  { symbols, count }: Word,
  base: number,
  sign: 1 | -1,
): void {
  for (let i = 0; i + 1 < symbols.length; i++) {
    const pair = symbols[i] * base + symbols[i + 1];
    counts.set(pair, (counts.get(pair) ?? 0) + sign * count);
  }
}

/** The most frequent pair; the smallest one of several. */
function bestPair(counts: ReadonlyMap<number, number>): [pair: number, count: number] {
  let [pair, count] = [-1, 0];
  for (const [key, value] of counts)
    if (value > count || (value === count && key < pair)) [pair, count] = [key, value];
  return [pair, count];
}

/** Replaces each occurrence of a pair; returns the same list if there is none. */
function mergeSymbols(symbols: number[], left: number, right: number, merged: number): number[] {
  const isPair = (i: number): boolean => symbols[i] === left && symbols[i + 1] === right;
  if (!symbols.some((_, i) => isPair(i))) return symbols;
  const out: number[] = [];
  for (let i = 0; i < symbols.length; i += isPair(i) ? 2 : 1)
    out.push(isPair(i) ? merged : symbols[i]);
  return out;
}

/**
 * Trains on lines of text and returns the JSON object of a `tokenizer.json`.
 * @throws RangeError if the vocabulary cannot hold the added tokens and 256 bytes
 */
export function trainBpe(lines: Iterable<string>, options: BpeOptions): object {
  const added = options.addedTokens.map((t) => t.content);
  if (options.vocabSize < added.length + 256) {
    throw new RangeError(
      `Expected vocabSize to be at least ${added.length + 256}, but got ${options.vocabSize}.`,
    );
  }
  const alphabet = byteAlphabet();
  const tokens = [...added, ...alphabet.toSorted((a, b) => (a < b ? -1 : 1))];
  const idByToken = new Map(tokens.map((token, id) => [token, id]));
  const words = countWords(
    lines,
    added,
    alphabet.map((c) => idByToken.get(c)!),
  );
  const base = options.vocabSize;
  const counts = new Map<number, number>();
  for (const word of words) countPairs(counts, word, base, 1);
  const merges: [string, string][] = [];
  while (tokens.length < options.vocabSize) {
    const [pair, count] = bestPair(counts);
    if (pair < 0 || count < options.minFrequency) break;
    const [left, right] = [Math.floor(pair / base), pair % base];
    merges.push([tokens[left], tokens[right]]);
    const merged = tokens.push(tokens[left] + tokens[right]) - 1;
    for (const word of words) {
      const symbols = mergeSymbols(word.symbols, left, right, merged);
      if (symbols === word.symbols) continue;
      countPairs(counts, word, base, -1);
      word.symbols = symbols;
      countPairs(counts, word, base, 1);
    }
  }
  return tokenizerJson(tokens, merges, options);
}

function tokenizerJson(
  tokens: readonly string[],
  merges: [string, string][],
  options: BpeOptions,
): object {
  const byteLevel = {
    type: 'ByteLevel',
    add_prefix_space: false,
    trim_offsets: true,
    use_regex: true,
  };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: options.addedTokens.map(({ content, special }, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special,
    })),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}
