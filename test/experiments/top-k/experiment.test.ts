/** The report on passages per query, on made-up answers: its numbers. */
import { sum } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { loadTopK, topK } from '../../../lib/experiments/top-k.js';
import { rowsOf, type Row } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { writeSyntheticTopK } from './synthetic.js';

it('is 96 evaluations and the recall, in less than half an hour on two cores', async () => {
  const jobs = await topK.computation!.jobs();
  expect(new Set(jobs.map(({ key }) => key)).size).toBe(1 + 3 * 2 * (3 * 4 + 4));
  const ofRun = jobs.filter(({ key }) => key.startsWith('top-k/instruct-2-search-r1-seed1-'));
  expect(new Set(ofRun.map(({ hash }) => hash)).size).toBe(3 * 4);
  expect(jobs.map(({ key }) => key)).toEqual(
    expect.arrayContaining([
      'top-k/instruct-2-search-r1-seed1-exact-k5',
      'top-k/instruct-3-search-r1-k1-seed1-bm25-k5',
    ]),
  );
  expect(sum(jobs, ({ seconds }) => seconds) / 2).toBeLessThan(30 * 60);
});

describe('passages per query', () => {
  let rows: Row[];
  let contrasts: Row[];
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticTopK(folder);
    const results = await loadTopK(folder, { resamples: 60 });
    [rows, contrasts] = [rowsOf(results.rows), rowsOf(results.contrasts)];
    expect(rowsOf(results.recall)).toHaveLength(3 * 4);
    expect(results.tidy.provenance.recall).toContainEqual({
      retriever: 'bm25',
      k: 10,
      hitRate: 0.96,
      n: 20,
    });
  });

  it('are in every row and contrast, with the retriever and those of training', () => {
    for (const { method, retriever, k, trained_k } of [...rows, ...contrasts]) {
      expect(['parallelsearch', 'search-r1']).toContain(method);
      expect(['bm25', 'exact', 'hnsw']).toContain(retriever);
      expect([1, 3, 5, 10]).toContain(k);
      expect(retriever === 'bm25' ? [3, 1] : [3]).toContain(trained_k);
    }
  });

  it('are compared with one passage, there and in training, with BM25 and with the other method, each once', () => {
    const em = {
      method: 'parallelsearch',
      benchmark: 'all',
      subset: 'all',
      metric: 'em',
      k: 10,
      trained_k: 3,
    };
    const more = { ...em, against: 'parallelsearch', against_k: 1 };
    const [gain, ...others] = matching(contrasts, { ...more, retriever: 'bm25' });
    expect(others).toEqual([]);
    expect(gain.value).toBeGreaterThan(0);
    expect(matching(contrasts, { ...more, retriever: 'exact' })).toMatchObject([{ value: 0 }]);
    expect(
      matching(contrasts, { ...em, retriever: 'hnsw', against_retriever: 'bm25' }),
    ).toHaveLength(1);
    expect(matching(contrasts, { ...em, against: 'search-r1' })).toHaveLength(3);
    expect(matching(contrasts, { ...em, against_trained_k: 1 })).toHaveLength(1);
  });

  it('are counted: found, seen, left out', () => {
    const atTen = matching(rows, { benchmark: 'all', subset: 'all', k: 10 });
    for (const [metric, value] of Object.entries({ passages_shown: 3, passages_left_out: 0.7 })) {
      const figures = matching(atTen, { metric });
      expect(figures).toHaveLength((3 + 1) * 2);
      for (const figure of figures)
        expect(figure).toMatchObject({ value, low: value, high: value });
    }
  });
});
