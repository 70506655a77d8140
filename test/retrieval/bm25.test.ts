import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mean, sum } from 'd3-array';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { packagePath } from '../../lib/io/paths.js';
import { ANALYZERS } from '../../lib/retrieval/analyzers.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { isFull } from '../full.js';
import { FILMS, makePassages } from './passages.js';

describe('createBm25Retriever', () => {
  it('gives scores calculated by hand within 1e-6, counting repeated query words', () => {
    // N = 3, lengths 2, 4, 3, mean length 3, k1 = 1.2, b = 0.75: k1 * (0.25 + 0.75 *
    // length / 3) is 0.9, 1.5 and 1.2.
    const passages = makePassages(['red\nfox', 'red\nred dog runs', 'cat\nruns fast']);
    const retriever = createBm25Retriever(passages);
    const [red, fox] = [Math.log(1 + 1.5 / 2.5), Math.log(1 + 2.5 / 1.5)];
    expect(retriever.search('red fox red', 3)).toEqual([
      { index: 0, score: expect.closeTo((2 * red + fox) / 1.9, 6) as number },
      { index: 1, score: expect.closeTo((2 * red * 2) / 3.5, 6) as number },
    ]);
  });

  it('finds accented names by plain letters, and nothing for unknown words', async () => {
    const retriever = createBm25Retriever(FILMS);
    const queries = ['who made AMELIE?', 'zzz', ''];
    const [[first], ...others] = await retriever.retrieve(queries, { topK: 2 });
    expect(first.passage).toBe(FILMS[4]);
    expect(others).toEqual([[], []]);
    const stopped = createBm25Retriever(FILMS, { analyze: ANALYZERS.get('english').analyze });
    expect(stopped.search('is a of', 5)).toEqual([]);
  });

  it.each([
    [
      'texts without spaces',
      ['青石镇\n青石镇位于云河省北部，人口约三万。', '白帆港\n白帆港是云河省最大的渔港。'],
      { 青石镇的人口: 0, 云河省最大的渔港: 1, 灯: undefined },
    ],
    [
      'words that only differ in a vowel sign or voicing',
      ['दान उत्सव\nगाँव में', 'दिन उत्सव\nशहर में', 'ハス 池\n花', 'バス 停\n車'],
      { दान: 0, दिन: 1, ハス: 2, バス: 3, द: undefined },
    ],
  ])('searches %s', (_, contents, expected) => {
    const retriever = createBm25Retriever(makePassages(contents));
    for (const [query, index] of Object.entries(expected))
      expect(retriever.search(query, 1)[0]?.index, query).toBe(index);
  });

  it('counts words once in a passage without a title, for any title weight', () => {
    const passages = makePassages([
      'Silt\nRosk mapped the silt, and Rosk named it.',
      'The harbour master thanked Rosk.',
      'Loam\nLoam is a soil.',
    ]);
    const search = (titleWeight: number) =>
      createBm25Retriever(passages, { titleWeight }).search('Rosk', 3);
    expect(passages[1]).toMatchObject({ title: '', text: passages[1].contents });
    expect(search(0)).toHaveLength(2);
    for (const weight of [1, 5]) expect(search(weight).map(({ index }) => index)).toEqual([0, 1]);
  });

  it('rejects options out of range and an aborted search', async () => {
    expect(() => createBm25Retriever(FILMS).search('film', 0)).toThrow('topK');
    expect(() => createBm25Retriever(FILMS, { b: 2 })).toThrow(/b .*got 2/);
    expect(() => createBm25Retriever(FILMS, { k1: NaN })).toThrow('k1');
    const signal = AbortSignal.abort(new Error('stop'));
    const search = createBm25Retriever(FILMS).retrieve(['film'], { topK: 1, signal });
    await expect(search).rejects.toThrow('stop');
  });
});

describe('BM25 compared with its formula', () => {
  const words = fc.array(fc.constantFrom('ant', 'bee', 'cat', 'dog', 'eel'), { maxLength: 8 });
  const corpus = fc.array(fc.record({ title: words, text: words }), { maxLength: 12 });
  const options = fc.record({
    k1: fc.constantFrom(0, 1.2, 2),
    b: fc.constantFrom(0, 0.75, 1),
    titleWeight: fc.constantFrom(0, 0.5, 1, 3),
  });

  // The full stop keeps a passage without words from being a single line.
  const passagesOf = (texts: { title: string[]; text: string[] }[]) =>
    makePassages(texts.map(({ title, text }) => `${title.join(' ')}\n${text.join(' ')}.`));

  it('never exceeds the full score, which counts unknown words', () => {
    fc.assert(
      fc.property(corpus, options, words, (passages, more, query) => {
        const retriever = createBm25Retriever(passagesOf(passages), more);
        const text = query.join(' ');
        const full = retriever.fullScore(text);
        expect(retriever.search(text, 1)[0]?.score ?? 0).toBeLessThanOrEqual(full + 1e-9);
        expect(retriever.fullScore(`${text} zebra`)).toBeGreaterThan(full);
      }),
    );
  });

  it('returns the best k passages with their scores, ties in order', () => {
    const ks = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(corpus, words, options, ks, (passages, query, settings, k) => {
        const retriever = createBm25Retriever(passagesOf(passages), settings);
        const results = retriever.search(query.join(' '), 20);
        const expected = scoresByFormula(passages, query, settings);
        const scored = expected.flatMap((score, index) => (score > 0 ? [index] : []));
        expect(results.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual(scored);
        for (const [i, { index, score }] of results.entries()) {
          expect(score).toBeCloseTo(expected[index], 10);
          const before = results[i - 1] ?? { score: Infinity, index: -1 };
          expect(before.score).toBeGreaterThanOrEqual(score);
          if (before.score === score) expect(before.index).toBeLessThan(index);
        }
        expect(retriever.search(query.join(' '), k)).toEqual(results.slice(0, k));
      }),
    );
  });
});

function scoresByFormula(
  passages: readonly { title: string[]; text: string[] }[],
  query: readonly string[],
  { k1, b, titleWeight }: { k1: number; b: number; titleWeight: number },
): number[] {
  const count = (all: readonly string[], term: string): number =>
    all.filter((word) => word === term).length;
  const lengths = passages.map(({ title, text }) => titleWeight * title.length + text.length);
  const saturation = lengths.map((length) => k1 * (1 - b + (b * length) / mean(lengths)!));
  const terms = query.map((term) => {
    const tfs = passages.map((p) => titleWeight * count(p.title, term) + count(p.text, term));
    const df = tfs.filter((tf) => tf > 0).length;
    const idf = Math.log(1 + (tfs.length - df + 0.5) / (df + 0.5));
    return tfs.map((tf, i) => (tf > 0 ? (idf * tf) / (tf + saturation[i]) : 0));
  });
  return passages.map((_, i) => sum(terms, (scores) => scores[i]));
}

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';
type Rankings = Record<string, Record<string, { places: number[][]; scores: number[][] }>>;

describe.skipIf(!existsSync(benchmarks))(
  `BM25 compared with bm25s on real passages (needs ${benchmarks} or PARALLELSEARCH_BENCHMARKS)`,
  () => {
    // Made by scripts/fixtures/bm25s.py.
    const file = packagePath('test', 'fixtures', 'bm25s.json');
    const all = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Rankings);
    const expected = isFull ? all : all.filter(([name]) => name === 'popqa');

    it.each(expected)(
      '%s: the same ten passages, the same scores (tolerance 1e-4)',
      async (name, rankings) => {
        const { passages, questions } = await loadDataSet(join(benchmarks, name));
        for (const [analyzer, { places, scores }] of Object.entries(rankings)) {
          const retriever = createBm25Retriever(passages, ANALYZERS.get(analyzer));
          for (const [q, wanted] of places.entries()) {
            const results = retriever.search(questions[q].question, wanted.length);
            const last = scores[q].at(-1)!;
            for (const [i, { index, score }] of results.entries()) {
              expect(Math.abs(score - scores[q][i]), questions[q].id).toBeLessThan(1e-4);
              // Ties may come in another order.
              if (score > last + 1e-4) expect(wanted).toContain(index);
            }
          }
        }
      },
    );
  },
);
