/** Builds BM25's inverted index: counts words, and turns the counts into postings. */
import { sum } from 'd3-array';
import { splitContents } from '../data/passage.js';
import { splitWords } from '../text/words.js';

export interface Bm25Options {
  /** Saturation of the term frequency. Default: 1.2, as in Lucene. */
  k1?: number;
  /** Strength of the length normalisation, 0 to 1. Default: 0.75, as in Lucene. */
  b?: number;
  /** How many times a word in the title counts, >= 0. Default: 1. */
  titleWeight?: number;
  /** Splits passages and queries into words. Default: {@link splitWords}. */
  analyze?: (text: string) => string[];
}

/** A word's postings: the passages with the word, in ascending order. */
export interface Postings {
  passages: Uint32Array;
  /** Its frequency in each passage, as an index into {@link Weights.frequencies}. */
  codes: Uint16Array;
}

/** The postings of all words, ordered by word number. */
export interface Shard extends Postings {
  /** The number of passages with each word. */
  counts: Uint32Array;
}

/** What turns postings into scores. */
export interface Weights {
  /** The distinct term frequencies. */
  frequencies: Float64Array;
  /** For each passage, `k1 * (1 - b + b * length / meanLength)`. */
  norms: Float64Array;
}

/** Numbers words from 0 with an open hash table; three times as fast as a large Map. */
export class Vocabulary {
  readonly texts: string[] = [];
  /** Word numbers plus one, at {@link hashWord}; 0 is empty. At most half is in use. */
  slots = new Uint32Array(1024);
  private hashes = new Uint32Array(1024);

  find(text: string): number | undefined {
    const number = this.slots[this.findSlot(text, hashWord(text))];
    return number === 0 ? undefined : number - 1;
  }

  add(text: string): number {
    const hash = hashWord(text);
    const slot = this.findSlot(text, hash);
    if (this.slots[slot] > 0) return this.slots[slot] - 1;
    // Copies the word: a slice of a passage would keep the whole passage in memory.
    this.slots[slot] = this.texts.push(` ${text}`.slice(1));
    this.hashes[slot] = hash;
    if (2 * this.texts.length > this.slots.length) this.grow();
    return this.texts.length - 1;
  }

  private findSlot(text: string, hash: number): number {
    const { slots, hashes, texts } = this;
    const mask = slots.length - 1;
    let slot = hash & mask;
    while (slots[slot] > 0 && !(hashes[slot] === hash && texts[slots[slot] - 1] === text))
      slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const { slots, hashes } = this;
    this.slots = new Uint32Array(2 * slots.length);
    this.hashes = new Uint32Array(2 * slots.length);
    const mask = this.slots.length - 1;
    for (const [old, number] of slots.entries()) {
      if (number === 0) continue;
      let slot = hashes[old] & mask;
      while (this.slots[slot] > 0) slot = (slot + 1) & mask;
      this.slots[slot] = number;
      this.hashes[slot] = hashes[old];
    }
  }
}

/** 32-bit FNV-1a hash of the UTF-16 code units. */
export function hashWord(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** How often words occur in some passages. */
export interface WordCounts {
  /** Numbers of each passage's distinct words, one passage after another. */
  words: Uint32Array;
  /** How often each of them occurs in its passage. */
  frequencies: Float64Array;
  /** Where the words of each passage end. */
  ends: Uint32Array;
  /** Lengths of the passages, in words. */
  lengths: Float64Array;
}

/** Counts the words of passages for a {@link Bm25Indexer}. */
export class WordCounter {
  private readonly titleWeight: number;
  private readonly analyze: (text: string) => string[];
  /** Frequency of each word of the vocabulary in the passage being counted. */
  private readonly frequencies: number[] = [];
  // The words of the passages that are being counted.
  private words = new Uint32Array(1024);
  private counts = new Float64Array(1024);
  private numCounted = 0;

  /**
   * @param vocabulary where it adds the words
   * @throws RangeError for a negative weight
   */
  constructor(
    private readonly vocabulary: Vocabulary,
    { titleWeight = 1, analyze = splitWords }: Bm25Options,
  ) {
    if (!(titleWeight >= 0))
      throw new RangeError(`Expected titleWeight to be a number >= 0, but got ${titleWeight}.`);
    this.titleWeight = titleWeight;
    this.analyze = analyze;
  }

  count(contents: readonly string[]): WordCounts {
    const ends = new Uint32Array(contents.length);
    const lengths = new Float64Array(contents.length);
    this.numCounted = 0;
    for (const [i, passage] of contents.entries()) {
      const { title, text } = splitContents(passage);
      const start = this.numCounted;
      lengths[i] = this.countText(title, this.titleWeight) + this.countText(text, 1);
      for (let at = start; at < this.numCounted; at++) {
        this.counts[at] = this.frequencies[this.words[at]];
        this.frequencies[this.words[at]] = 0;
      }
      ends[i] = this.numCounted;
    }
    const words = this.words.slice(0, this.numCounted);
    return { words, frequencies: this.counts.slice(0, this.numCounted), ends, lengths };
  }

  /** Returns the weighted length of the text. */
  private countText(text: string, weight: number): number {
    if (weight === 0) return 0;
    const { vocabulary, frequencies } = this;
    const found = this.analyze(text);
    for (const word of found) {
      const number = vocabulary.add(word);
      if (number === frequencies.length) frequencies.push(0);
      if (frequencies[number] === 0) this.addWord(number);
      frequencies[number] += weight;
    }
    return weight * found.length;
  }

  private addWord(number: number): void {
    if (this.numCounted === this.words.length) {
      this.words = doubled(this.words);
      this.counts = doubled(this.counts);
    }
    this.words[this.numCounted++] = number;
  }
}

/** Turns counted words into postings, in shards that can be written. */
export class Bm25Indexer {
  readonly vocabulary = new Vocabulary();
  /** Number of postings since the last shard. */
  numPostings = 0;
  private readonly settings: { k1: number; b: number };
  private readonly codeOf = new Map<number, number>();
  /** Lengths of the passages, in words. */
  private readonly lengths: number[] = [];
  // Postings in passage order, and where those of each passage end.
  private wordNumbers = new Uint32Array(1024);
  private codes = new Uint16Array(1024);
  private ends: number[] = [];

  constructor({ k1 = 1.2, b = 0.75 }: Bm25Options) {
    if (!(k1 >= 0)) throw new RangeError(`Expected k1 to be a number >= 0, but got ${k1}.`);
    if (!(b >= 0 && b <= 1))
      throw new RangeError(`Expected b to be a number from 0 to 1, but got ${b}.`);
    this.settings = { k1, b };
  }

  /** Adds the next passages, whose words are numbered by {@link vocabulary}. */
  add({ words, frequencies, ends, lengths }: WordCounts): void {
    for (let passage = 0, at = 0; passage < ends.length; passage++) {
      for (; at < ends[passage]; at++) this.addPosting(words[at], frequencies[at]);
      this.ends.push(this.numPostings);
      this.lengths.push(lengths[passage]);
    }
  }

  private addPosting(word: number, frequency: number): void {
    const at = this.numPostings++;
    if (at === this.codes.length) {
      this.wordNumbers = doubled(this.wordNumbers);
      this.codes = doubled(this.codes);
    }
    let code = this.codeOf.get(frequency);
    if (code === undefined) {
      code = this.codeOf.size;
      if (code > 0xffff)
        throw new RangeError(
          'Expected at most 65,536 different term frequencies. Cut the passages.',
        );
      this.codeOf.set(frequency, code);
    }
    this.wordNumbers[at] = word;
    this.codes[at] = code;
  }

  /** Returns the postings since the last shard, sorted by word. */
  takeShard(): Shard {
    const { numPostings, ends, wordNumbers } = this;
    const counts = new Uint32Array(this.vocabulary.texts.length);
    for (let at = 0; at < numPostings; at++) counts[wordNumbers[at]]++;
    const next = startPositions(counts);
    const [passages, codes] = [new Uint32Array(numPostings), new Uint16Array(numPostings)];
    const firstPassage = this.lengths.length - ends.length;
    for (let i = 0, at = 0; i < ends.length; i++)
      for (; at < ends[i]; at++) {
        const to = next[wordNumbers[at]]++;
        passages[to] = firstPassage + i;
        codes[to] = this.codes[at];
      }
    this.ends = [];
    this.numPostings = 0;
    return { counts, passages, codes };
  }

  /** The weights of all passages so far. */
  weights() {
    const { k1, b } = this.settings;
    const meanLength = sum(this.lengths) / Math.max(1, this.lengths.length);
    return {
      frequencies: Float64Array.from(this.codeOf.keys()),
      norms: Float64Array.from(this.lengths, (length) => k1 * (1 - b + (b * length) / meanLength)),
    };
  }
}

function doubled<T extends Float64Array | Uint32Array | Uint16Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(2 * array.length);
  larger.set(array);
  return larger;
}

/** Where each word's postings start, and where the last one's end. */
export function startPositions(counts: Uint32Array): Float64Array {
  const starts = new Float64Array(counts.length + 1);
  for (let word = 0; word < counts.length; word++) starts[word + 1] = starts[word] + counts[word];
  return starts;
}

/** The largest amount a word adds to any passage's score, in units of its idf. */
export function largestGain({ passages, codes }: Postings, weights: Weights): number {
  const { frequencies, norms } = weights;
  let largest = 0;
  for (let at = 0; at < passages.length; at++) {
    const frequency = frequencies[codes[at]];
    largest = Math.max(largest, frequency / (frequency + norms[passages[at]]));
  }
  return largest;
}
