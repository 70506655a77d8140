import { splitTitle, splitWords } from './words.js';

/** What the embedded encoder reads from a text, and how wide its hash table is. */
export interface FeatureOptions {
  /** Rows of the hash table for whole words. */
  wordBuckets: number;
  /** Rows of the hash table for character n-grams. */
  gramBuckets: number;
  /** Lengths of the character n-grams, word boundaries included as characters. */
  gramLengths: readonly number[];
  /** How often a feature of a passage's title counts. */
  titleWeight: number;
}

/** Sparse features: distinct bucket numbers with their values. */
export interface Features {
  buckets: Uint32Array;
  values: Float32Array;
}

export type TextKind = 'query' | 'passage';

/**
 * Hashed features of a text; the value of a bucket that is hit with weight w in total is
 * ln(1 + w).
 */
export function hashFeatures(text: string, kind: TextKind, options: FeatureOptions): Features {
  const weights = new Map<number, number>();
  if (kind === 'query') {
    countFeatures(text, 1, options, weights);
  } else {
    const passage = splitTitle(text);
    countFeatures(passage.title, options.titleWeight, options, weights);
    countFeatures(passage.text, 1, options, weights);
  }
  return {
    buckets: Uint32Array.from(weights.keys()),
    values: Float32Array.from(weights.values(), (weight) => Math.log1p(weight)),
  };
}

function countFeatures(
  text: string,
  weight: number,
  { wordBuckets, gramBuckets, gramLengths }: FeatureOptions,
  weights: Map<number, number>,
): void {
  const count = (bucket: number) => weights.set(bucket, (weights.get(bucket) ?? 0) + weight);
  for (const word of splitWords(text)) {
    count(hashText(word, 0, word.length) % wordBuckets);
    if (gramBuckets === 0) continue;
    const bounded = `<${word}>`;
    for (const length of gramLengths) {
      for (let start = 0; start + length <= bounded.length; start++) {
        count(wordBuckets + (hashText(bounded, start, start + length) % gramBuckets));
      }
    }
  }
}

/** FNV-1a over UTF-16 code units with a final avalanche, 32 bits. */
function hashText(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
