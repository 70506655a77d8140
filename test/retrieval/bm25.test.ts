import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBm25Retriever, inverseDocumentFrequency } from '../../lib/retrieval/bm25.js';
import { FILMS, makePassages } from './passages.js';

/*
 * Worked by hand. Passages: p0 = "red fox", p1 = "red red dog runs", p2 = "cat runs fast". N = 3, lengths 2, 4, 3,
 * mean length 3, k1 = 1.2, b = 0.75.
 *   red:  df 2, idf = ln(1 + 1.5 / 2.5) = ln 1.6 = 0.470004
 *   fox:  df 1, idf = ln(1 + 2.5 / 1.5) = ln 2.666667 = 0.980829
 *   norm = 1.2 * (0.25 + 0.75 * length / 3): length 2 -> 0.9, length 4 -> 1.5, length 3 -> 1.2
 *   "red" in p0: 0.470004 * 1 / 1.9 = 0.247370;  in p1: 0.470004 * 2 / 3.5 = 0.268574
 *   "fox" in p0: 0.980829 * 1 / 1.9 = 0.516226
 */
const ANIMALS = makePassages(['red\nfox', 'red\nred dog runs', 'cat\nruns fast']);

describe('createBm25Retriever', () => {
  it('gives the scores worked by hand (tolerance 1e-6)', () => {
    const found = createBm25Retriever(ANIMALS).search('red fox', 3);
    expect(found.map(({ index }) => index)).toEqual([0, 1]);
    expect(found[0].score).toBeCloseTo(0.24737 + 0.516226, 5);
    expect(found[1].score).toBeCloseTo(0.268574, 6);
  });
  it('counts a word that stands twice in the query twice', () => {
    expect(createBm25Retriever(ANIMALS).search('red red', 1)[0].score).toBeCloseTo(2 * 0.268574, 5);
  });
  it('takes k1, b, titleWeight and stop words as options', () => {
    // k1 = 0: every match scores its idf alone.
    expect(createBm25Retriever(ANIMALS, { k1: 0 }).search('red', 1)[0]).toEqual({
      index: 0,
      score: Math.log(1.6),
    });
    // b = 0: no length normalisation, 2 / (2 + 1.2).
    expect(createBm25Retriever(ANIMALS, { b: 0 }).search('red', 1)[0].score).toBeCloseTo(
      (Math.log(1.6) * 2) / 3.2,
      12,
    );
    // The title counted 3 times: p0 is "red red red fox", p1 "red red red red dog runs", mean length (4 + 6 + 5) / 3 = 5.
    const weighted = createBm25Retriever(ANIMALS, { titleWeight: 3 }).search('fox', 1)[0].score;
    expect(weighted).toBeCloseTo(Math.log(1 + 2.5 / 1.5) / (1 + 1.2 * (0.25 + (0.75 * 4) / 5)), 12);
    const stopped = createBm25Retriever(FILMS, { stopWords: new Set(['is', 'a', 'of']) });
    expect(stopped.search('is a of', 5)).toEqual([]);
  });
  it('finds accented names by plain letters and titles as text', async () => {
    const [found] = await createBm25Retriever(FILMS).retrieve(['who made AMELIE?'], { topK: 2 });
    expect(found[0].passage).toBe(FILMS[4]);
  });
  it('returns nothing for queries without a known word and for an empty corpus', async () => {
    expect(await createBm25Retriever(FILMS).retrieve(['zzz', ''], { topK: 3 })).toEqual([[], []]);
    expect(createBm25Retriever([]).search('film', 3)).toEqual([]);
  });
  it('keeps the order of passages among equal scores', () => {
    const found = createBm25Retriever(makePassages(['a b', 'a b', 'a b'])).search('a', 2);
    expect(found.map(({ index }) => index)).toEqual([0, 1]);
  });
  it('rejects options out of range and an aborted search', async () => {
    expect(() => createBm25Retriever(FILMS).search('film', 0)).toThrow(
      'Expected topK to be an integer >= 1, but got 0.',
    );
    expect(() => createBm25Retriever(FILMS, { b: 2 })).toThrow(
      'Expected b to be a number from 0 to 1, but got 2.',
    );
    expect(() => createBm25Retriever(FILMS, { k1: NaN })).toThrow('Expected k1');
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(createBm25Retriever(FILMS).retrieve(['film'], { topK: 1, signal })).rejects.toThrow('stop');
  });
  it('has an idf that falls with the document frequency and stays positive', () => {
    const idfs = [1, 2, 5, 10].map((df) => inverseDocumentFrequency(10, df));
    expect(idfs.every((idf, i) => idf > 0 && (i === 0 || idf < idfs[i - 1]))).toBe(true);
  });
});

describe('BM25 properties', () => {
  const text = fc.array(fc.constantFrom('ant', 'bee', 'cat', 'dog', 'eel'), { maxLength: 8 });
  const sentence = text.map((words) => words.join(' '));
  const corpus = fc.array(sentence, { maxLength: 12 });

  it('gives non-increasing positive scores, each passage once, as a brute-force sum says', () => {
    fc.assert(
      fc.property(corpus, sentence, (contents, query) => {
        const found = createBm25Retriever(makePassages(contents)).search(query, 20);
        expect(found.every(({ score }, i) => score > 0 && (i === 0 || score <= found[i - 1].score))).toBe(
          true,
        );
        expect(new Set(found.map(({ index }) => index)).size).toBe(found.length);
        for (const { index, score } of found) {
          expect(score).toBeCloseTo(bruteForceScore(contents, query, index), 10);
        }
      }),
    );
  });
  it('gives the first k of a longer result', () => {
    fc.assert(
      fc.property(corpus, sentence, fc.integer({ min: 1, max: 12 }), (contents, query, k) => {
        const retriever = createBm25Retriever(makePassages(contents));
        expect(retriever.search(query, k)).toEqual(retriever.search(query, 20).slice(0, k));
      }),
    );
  });
  it('gives the same scores however the passages are ordered', () => {
    const shuffled = corpus.chain((contents) =>
      fc.tuple(
        fc.constant(contents),
        fc.shuffledSubarray(contents, { minLength: contents.length, maxLength: contents.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, sentence, ([contents, permuted], query) => {
        const scores = (texts: string[]) =>
          createBm25Retriever(makePassages(texts))
            .search(query, 20)
            .map(({ score }) => score);
        expect(scores(permuted)).toEqual(scores(contents));
      }),
    );
  });
});

function bruteForceScore(contents: readonly string[], query: string, index: number): number {
  const texts = contents.map((text) => text.split(' ').filter(Boolean));
  const mean = texts.reduce((sum, words) => sum + words.length, 0) / texts.length;
  const words = texts[index];
  return query.split(' ').reduce((sum, term) => {
    const tf = words.filter((word) => word === term).length;
    const df = texts.filter((other) => other.includes(term)).length;
    const idf = Math.log(1 + (texts.length - df + 0.5) / (df + 0.5));
    return tf === 0 ? sum : sum + (idf * tf) / (tf + 1.2 * (0.25 + (0.75 * words.length) / mean));
  }, 0);
}
