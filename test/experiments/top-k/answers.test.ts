import { beforeAll, describe, expect, it } from 'vitest';
import {
  answersUnder,
  measureRecall,
  retrievedIn,
  sampleOf,
  TOP_K,
  topKSettings,
} from '../../../lib/experiments/top-k.js';
import { BENCHMARK_TITLES, MANY } from '../../../lib/evaluation/selections.js';
import { loadWorld, type World } from '../../../lib/retrieval/world.js';
import type { SearchResult, Trajectory } from '../../../lib/rollout/trajectory.js';
import { useBackend } from '../../../lib/tensor/backend.js';

let world: World;
beforeAll(async () => {
  await useBackend('wasm');
  world = await loadWorld();
});

describe('the sample', () => {
  it('holds every benchmark, and every question once', () => {
    const sample = sampleOf(world);
    expect(new Set(sample.map(({ id }) => id)).size).toBe(sample.length);
    expect(new Set(sample.map(({ metadata }) => metadata.benchmark))).toEqual(
      new Set([...Object.keys(BENCHMARK_TITLES), MANY]),
    );
  });

  it('is answered under a setting, and what was retrieved is told with each answer', async () => {
    const single = { ...world, questions: sampleOf(world).slice(0, 3) };
    const fractions: number[] = [];
    const run = {
      method: 'parallelsearch',
      model: 'instruct',
      warmUp: 1,
      seed: 1,
      topK: 1,
    } as const;
    const context = { backend: 'wasm', world: single, kept: [], until: Infinity } as const;
    const answers = await answersUnder(
      { run, retriever: 'hnsw', k: 5, trainedK: 1 },
      {
        ...context,
        onFraction: (fraction) => fractions.push(fraction),
        keep: () => Promise.resolve(),
      },
    );
    expect(fractions.at(-1)).toBe(1);
    expect(answers.length).toBeGreaterThan(0);
    for (const { searches, subQueries, passagesFound, ...answer } of answers) {
      expect(answer).toMatchObject({
        retriever: 'hnsw',
        k: 5,
        trainedK: 1,
        method: 'parallelsearch',
      });
      expect(subQueries).toBe(searches.flat().length);
      expect(passagesFound).toBe(5 * subQueries);
    }
  });
});

describe('measureRecall', () => {
  it('gives a share for each retriever and k that never falls with k', async () => {
    const some = { ...world, questions: sampleOf(world).slice(0, 20) };
    const recall = await measureRecall({ world: some });
    expect(recall.map(({ retriever, k }) => ({ retriever, k }))).toEqual(
      topKSettings().map(({ retriever, k }) => ({ retriever, k })),
    );
    for (const retriever of TOP_K.retrievers) {
      const shares = recall
        .filter((row) => row.retriever === retriever)
        .map(({ hitRate }) => hitRate);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect(shares[0]).toBeGreaterThan(0.5);
    }
  });
});

describe('retrievedIn', () => {
  const found = (ids: string[], numLeftOut?: number): SearchResult => ({
    status: 'ok',
    passages: ids.map((id) => ({ id, title: id, score: 1 })),
    ...(numLeftOut ? { numLeftOut } : {}),
  });
  const trajectory = (
    results: SearchResult[][],
    finish: Trajectory['finish'] = 'answer',
  ): Trajectory => {
    const searchTurns = results.map((turn) => ({ queries: turn.map(() => 'q'), results: turn }));
    const asked = {
      questionId: 'x',
      question: 'x',
      goldenAnswers: ['x'],
      segments: [],
      answer: null,
    };
    return { ...asked, searchTurns, modelCalls: results.length, finish };
  };

  it('counts queries, and passages found and seen', () => {
    const turns = [
      [found(['p1', 'p3'], 8), found(['p4'], 9)],
      [{ status: 'failed', reason: 'late' } as const],
    ];
    expect(retrievedIn(trajectory(turns))).toEqual({
      subQueries: 3,
      passagesFound: 20,
      passagesShown: 3,
      isContextFull: false,
    });
  });

  it('tells when the context was full, and knows questions without a search', () => {
    expect(retrievedIn(trajectory([], 'length'))).toEqual({
      subQueries: 0,
      passagesFound: 0,
      passagesShown: 0,
      isContextFull: true,
    });
  });
});
