/**
 * Training of a byte-level BPE tokenizer (GPT-2's scheme), equal to the `tokenizers` library's trainer: the most frequent
 * pair is merged, ties going to the smallest pair of ids. The result is a Hugging Face `tokenizer.json`.
 */

const WORD_PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

export interface BpeOptions {
  /** Tokens in all: added tokens, 256 bytes, merges. */
  vocabSize: number;
  /** Pairs seen less often are not merged. */
  minFrequency: number;
  /** Whole tokens that are never split or merged; ids 0.. in this order. */
  addedTokens: readonly { content: string; special: boolean }[];
}

/** GPT-2's printable stand-in for each byte. */
function byteAlphabet(): string[] {
  const isPrintable = (b: number): boolean => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(isPrintable(b) ? b : next++));
}

interface Word {
  symbols: number[];
  count: number;
}

/** Distinct words of the text as byte symbols with their counts. */
function countWords(lines: Iterable<string>, added: readonly string[], byteIds: readonly number[]): Word[] {
  const counts = new Map<string, number>();
  const encoder = new TextEncoder();
  const splitter = added.length
    ? new RegExp(added.map((t) => t.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'))
    : null;
  for (const line of lines) {
    for (const piece of splitter ? line.split(splitter) : [line]) {
      for (const [word] of piece.matchAll(WORD_PATTERN)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return [...counts].map(([word, count]) => ({
    symbols: Array.from(encoder.encode(word), (byte) => byteIds[byte]),
    count,
  }));
}

/** Pair counts with, for each pair, the words that may hold it. */
class PairIndex {
  private readonly counts = new Map<number, number>();
  private readonly words = new Map<number, Set<Word>>();

  constructor(
    words: readonly Word[],
    private readonly base: number,
  ) {
    for (const word of words) this.add(word, 1);
  }

  add(word: Word, sign: 1 | -1): void {
    for (let i = 0; i + 1 < word.symbols.length; i++) {
      const pair = word.symbols[i] * this.base + word.symbols[i + 1];
      this.counts.set(pair, (this.counts.get(pair) ?? 0) + sign * word.count);
      if (sign === 1) {
        const holders = this.words.get(pair);
        if (holders) holders.add(word);
        else this.words.set(pair, new Set([word]));
      }
    }
  }

  best(): { left: number; right: number; count: number; words: Set<Word> } | null {
    let pair = -1;
    let count = 0;
    for (const [key, value] of this.counts) {
      if (value > count || (value === count && key < pair)) [pair, count] = [key, value];
    }
    if (pair < 0) return null;
    return {
      left: Math.floor(pair / this.base),
      right: pair % this.base,
      count,
      words: this.words.get(pair)!,
    };
  }
}

function mergeSymbols(symbols: readonly number[], left: number, right: number, merged: number): number[] {
  const out: number[] = [];
  for (let i = 0; i < symbols.length; i++) {
    const isPair = symbols[i] === left && symbols[i + 1] === right;
    out.push(isPair ? merged : symbols[i]);
    if (isPair) i++;
  }
  return out;
}

/**
 * Trains on lines of text and returns the JSON object of a `tokenizer.json`.
 * @throws RangeError when the vocabulary cannot hold the added tokens and 256 bytes
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
  const idOf = new Map(tokens.map((token, id) => [token, id]));
  const words = countWords(
    lines,
    added,
    alphabet.map((c) => idOf.get(c)!),
  );
  const index = new PairIndex(words, options.vocabSize);
  const merges: [string, string][] = [];
  while (tokens.length < options.vocabSize) {
    const pair = index.best();
    if (!pair || pair.count < options.minFrequency) break;
    const merged = tokens.push(tokens[pair.left] + tokens[pair.right]) - 1;
    merges.push([tokens[pair.left], tokens[pair.right]]);
    for (const word of [...pair.words]) {
      index.add(word, -1);
      word.symbols = mergeSymbols(word.symbols, pair.left, pair.right, merged);
      index.add(word, 1);
    }
    pair.words.clear();
  }
  return tokenizerJson(tokens, merges, options);
}

function tokenizerJson(tokens: readonly string[], merges: [string, string][], options: BpeOptions): object {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
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
