import { beforeAll, describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import { BENCHMARK_TITLES, MANY } from '../../lib/evaluation/selections.js';
import { matching } from '../../lib/evaluation/figures.js';
import { answerUnder, countRetrieved, measureRecall } from '../../lib/experiments/top-k.js';
import { TOP_K, topK, topKSample } from '../../lib/experiments/top-k.js';
import { toRows, type Row } from '../../lib/report/frame.js';
import { loadWorld, type World } from '../../lib/retrieval/small-world.js';
import type { SearchResult, Trajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { temporaryFolder } from '../folder.js';
import { cases } from '../full.js';
import { writeSyntheticTopK } from './synthetic-top-k.js';
import { withResamples } from './resamples.js';

describe('answers by top-k', () => {
  let world: World;
  let sample: Question[];
  /** The evidence of the sample and some other passages: encoding all takes too long. */
  let few: World;
  beforeAll(async () => {
    await useBackend('wasm');
    world = await loadWorld();
    sample = topKSample(world);
    const questions = sample.slice(0, cases(6, 20));
    const nodes = questions.flatMap(({ metadata }) => metadata.graph!);
    const evidence = new Set(nodes.flatMap((node) => node.evidence));
    const passages = world.passages.filter(({ id }, i) => i < 300 || evidence.has(id));
    few = { ...world, passages, questions };
  });

  it('cover questions of every benchmark, with what was retrieved', async () => {
    expect(new Set(sample.map(({ id }) => id)).size).toBe(sample.length);
    const benchmarks = new Set(sample.map(({ metadata }) => metadata.benchmark));
    expect(benchmarks).toEqual(new Set([...Object.keys(BENCHMARK_TITLES), MANY]));
    const fields = { method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 } as const;
    const setting = { retriever: 'hnsw', k: 5, trainedK: 1 };
    const answers = await answerUnder(
      { run: { ...fields, topK: 1 }, ...setting },
      {
        backend: 'wasm',
        world: { ...few, questions: sample.slice(0, 3) },
        kept: [],
        until: Infinity,
        onFraction: () => {},
        keep: () => Promise.resolve(),
      },
    );
    expect(answers.length).toBeGreaterThan(0);
    for (const { searches, subQueries, passagesFound, ...answer } of answers) {
      expect(answer).toMatchObject({ ...fields, ...setting });
      expect(subQueries).toBe(searches.flat().length);
      expect(passagesFound).toBe(5 * subQueries);
    }
  });

  it('have a recall per retriever that never decreases with k', async () => {
    const recall = await measureRecall({ world: few });
    for (const retriever of TOP_K.retrievers) {
      const shares = matching(recall, { retriever }).map(({ hitRate }) => hitRate);
      expect(shares).toHaveLength(TOP_K.ks.length);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect(shares[0]).toBeGreaterThan(0.5);
    }
  });

  it('count queries, passages found and shown, and full contexts', () => {
    const found = (numPassages: number, numLeftOut: number): SearchResult => ({
      status: 'ok',
      passages: Array.from({ length: numPassages }, () => ({ id: 'p', title: 'p', score: 1 })),
      numLeftOut,
    });
    const failed: SearchResult = { status: 'failed', reason: 'late' };
    const turn = (results: SearchResult[]) => ({ queries: results.map(() => 'q'), results });
    const searchTurns = [turn([found(2, 8), found(1, 9)]), turn([failed])];
    const trajectory = { searchTurns, finish: 'length' } as Trajectory;
    const counts = { subQueries: 3, passagesFound: 20, passagesShown: 3 };
    expect(countRetrieved(trajectory)).toEqual({ ...counts, isContextFull: true });
  });
});

it('top-k has a job for each run and setting, with a hash per setting', async () => {
  const jobs = await topK.computation!.jobs();
  expect(new Set(jobs.map(({ key }) => key)).size).toBe(1 + 3 * 2 * (3 * 4 + 4));
  const runJobs = jobs.filter(({ key }) => key.startsWith('top-k/instruct-2-search-r1-seed1-'));
  expect(new Set(runJobs.map(({ hash }) => hash)).size).toBe(3 * 4);
});

describe('top-k figures', () => {
  let rows: Row[];
  let contrasts: Row[];
  beforeAll(async () => {
    const folder = temporaryFolder();
    await writeSyntheticTopK(folder);
    const results = await withResamples(5, () => topK.result!(folder));
    [rows, contrasts] = [toRows(results.rows), toRows(results.contrasts)];
    expect(toRows(results.frames!.recall)).toHaveLength(3 * 4);
  });

  it('name method, retriever and passages, in evaluation and in training', () => {
    for (const { method, retriever, k, trained_k } of [...rows, ...contrasts]) {
      expect(['parallelsearch', 'search-r1']).toContain(method);
      expect([1, 3, 5, 10]).toContain(k);
      expect(retriever === 'bm25' ? [3, 1] : [3]).toContain(trained_k);
    }
  });

  it('compare with one passage, with BM25, with the other training and with the other method', () => {
    const ours = { method: 'parallelsearch', benchmark: 'all', subset: 'all', metric: 'em' };
    const ten = { ...ours, k: 10, trained_k: 3 };
    const more = { ...ten, against: 'parallelsearch', against_k: 1 };
    const [gain, ...others] = matching(contrasts, { ...more, retriever: 'bm25' });
    expect(others).toEqual([]);
    expect(gain.value).toBeGreaterThan(0);
    expect(matching(contrasts, { ...more, retriever: 'exact' })).toMatchObject([{ value: 0 }]);
    const besideBm25 = { ...ten, retriever: 'hnsw', against_retriever: 'bm25' };
    expect(matching(contrasts, besideBm25)).toHaveLength(1);
    expect(matching(contrasts, { ...ten, against: 'search-r1' })).toHaveLength(3);
    expect(matching(contrasts, { ...ten, against_trained_k: 1 })).toHaveLength(1);
  });

  it('count shown and omitted passages', () => {
    const atTen = matching(rows, { benchmark: 'all', subset: 'all', k: 10 });
    for (const [metric, value] of Object.entries({ passages_shown: 3, passages_left_out: 0.7 })) {
      const figures = matching(atTen, { metric });
      expect(figures).toHaveLength((3 + 1) * 2);
      for (const figure of figures) expect(figure).toMatchObject({ value, low: value });
    }
  });
});
