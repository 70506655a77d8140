import { existsSync } from 'node:fs';
import { range } from 'd3-array';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import {
  questionTimes,
  requestCosts,
  summariseLatency,
  timeParts,
  WAITED_FOR_ONCE,
} from '../../lib/experiments/latency/experiment.js';
import {
  allAskings,
  askingTitle,
  independentQueries,
  measureLatency,
  measureService,
  modelCalls,
  predictTime,
  requestsMs,
  type Asking,
} from '../../lib/experiments/latency/measuring.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import { graphOf, questionOf } from '../data/questions.js';
import { echoRetriever } from '../retrieval/passages.js';
import { syntheticLatency } from './synthetic-latency.js';

describe('the model of latency', () => {
  const costs = { workMs: 2, delayMs: 10 };

  it.each([
    // limit 1: 4 * (2 + 10)
    [4, 1, 48],
    // limit 2: work ends at 2, 4, 14, 16; the last wait at 26
    [4, 2, 26],
    [3, 2, 24],
    // limit 4: work ends at 2, 4, 6, 8
    [4, 4, 18],
    [4, Infinity, 18],
    [0, 1, 0],
  ])('gives %i requests with limit %i the hand-computed time', (n, limit, expected) => {
    expect(requestsMs(n, { limit, ...costs })).toBe(expected);
  });

  it('lies between all work with one wait and the total, and decreases with the limit', () => {
    const size = fc.integer({ min: 1, max: 12 });
    const cost = fc.integer({ min: 0, max: 50 });
    fc.assert(
      fc.property(size, size, cost, cost, (n, limit, workMs, delayMs) => {
        const at = (limit: number): number => requestsMs(n, { limit, workMs, delayMs });
        expect(at(1)).toBe(n * (workMs + delayMs));
        expect(at(n)).toBe(n * workMs + delayMs);
        expect(at(limit + 1)).toBeLessThanOrEqual(at(limit));
        expect(at(limit)).toBeGreaterThanOrEqual(at(n));
      }),
    );
  });

  it('splits the time of a set into requests, searches and waits', () => {
    const at = (method: Asking['method'], limit: Asking['limit']) =>
      predictTime({ method, limit, numQueries: 4 }, { callMs: 2, serviceMs: 1, delayMs: 50 });
    expect(at('in-turns', null)).toEqual({ callMs: 8, serviceMs: 4, waitingMs: 200, totalMs: 212 });
    expect(at('one-turn', 'unlimited')).toMatchObject({ waitingMs: 50, totalMs: 62 });
    // work ends at 3, 6, 56, 59; the last wait at 109
    expect(at('one-turn', 2)).toMatchObject({ waitingMs: 97, totalMs: 109 });
    expect(at('one-request', null)).toMatchObject({ callMs: 2, waitingMs: 50, totalMs: 56 });
  });

  it('counts one model call per turn and one for the answer', () => {
    expect(modelCalls({ method: 'in-turns', numQueries: 3 })).toBe(4);
    expect(modelCalls({ method: 'one-turn', numQueries: 3 })).toBe(2);
  });
});

describe('measuring latency', () => {
  const sizes = { seeds: [1, 2], numQueries: [1, 2, 5], topK: 1, warmUps: 1 };
  const settings = { ...sizes, limits: [1, 2, 'unlimited'] as const };
  const queries = range(20).map((i) => `q${i}`);
  const options = { settings, repeats: 2, queries };

  const toFake = ['setTimeout', 'clearTimeout', 'performance'] as const;
  beforeEach(() => void vi.useFakeTimers({ toFake: [...toFake] }));

  it('agrees with the model for a retriever that only waits', async () => {
    const waiting = echoRetriever(() => new Promise((resolve) => setTimeout(resolve, 50)));
    const measuring = measureLatency(waiting, options);
    await vi.runAllTimersAsync();
    const measurements = await measuring;
    expect(measurements).toHaveLength(3 * 5);
    for (const { samplesMs, ...asking } of measurements) {
      const { totalMs } = predictTime(asking, { callMs: 0, serviceMs: 0, delayMs: 50 });
      expect(samplesMs, JSON.stringify(asking)).toEqual(Array(4).fill(totalMs));
    }
  });

  it('counts all work without waits, and one request if there is only one', async () => {
    let clockMs = 0;
    const busy = echoRetriever((batch) => void (clockMs += 3 + batch.length));
    vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
    for (const { method, numQueries, samplesMs } of await measureLatency(busy, options)) {
      const expected = method === 'one-request' ? 3 + numQueries : 4 * numQueries;
      expect(new Set(samplesMs)).toEqual(new Set([expected]));
    }
  });

  it('sends the same sub-queries in every mode, sampled by the seed, and reports progress', async () => {
    const fractions: number[] = [];
    const onProgress = (fraction: number) => fractions.push(fraction);
    const sent = async (seeds: number[]): Promise<string[]> => {
      const retriever = echoRetriever();
      const drawn = { ...settings, seeds, warmUps: 0 };
      await measureLatency(retriever, { ...options, settings: drawn, onProgress });
      return retriever.calls.flat();
    };
    const first = await sent([1]);
    expect(fractions).toEqual([0.5, 1]);
    expect(await sent([1])).toEqual(first);
    expect(await sent([2])).not.toEqual(first);
    // 2 repeats of 5 sub-queries, of which 1, 2 and 5 are sent in 5 modes
    expect(first).toHaveLength(2 * 5 * (1 + 2 + 5));
    expect(new Set(first.slice(0, 40)).size).toBe(5);
  });

  it('rejects failed searches and too few sub-queries', async () => {
    const failing = echoRetriever(() => {
      throw new Error('index gone');
    });
    await expect(measureLatency(failing, options)).rejects.toThrow(/index gone/);
    const few = measureLatency(failing, { ...options, queries: ['a'] });
    await expect(few).rejects.toThrow(RangeError);
  });

  it('times single searches without the warm-up', async () => {
    let clockMs = 0;
    let cost = 7;
    const retriever = echoRetriever(() => void (clockMs += cost++));
    vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
    const samples = await measureService(retriever, options);
    expect(retriever.calls.every((batch) => batch.length === 1)).toBe(true);
    expect(samples).toEqual(range(4 * 5).map((i) => 7 + 5 + i));
  });

  it('samples unique sub-queries of parallelizable test questions', () => {
    const test = (edges: Record<string, string[]>) => questionOf(graphOf(edges), { split: 'test' });
    const questions = [test({ b: [], a: [] }), test({ a: [], c: [] }), test({ d: [], e: ['d'] })];
    questions.push({ ...test({ f: [], g: [] }), split: 'train' });
    expect(independentQueries(questions)).toEqual(['a', 'b', 'c']);
  });

  it('covers separate turns, one turn with each limit, and one request', () => {
    expect(allAskings({ ...settings, numQueries: [3] }).map(askingTitle)).toEqual([
      'in turns',
      'one turn, 1 at a time',
      'one turn, 2 at a time',
      'one turn, no limit',
      'one turn, one request',
    ]);
  });
});

const generation = { msPerCall: 100, source: 'a test' };

describe('request costs', () => {
  const slow = { callMs: 2, serviceMs: 1, delayMs: 50 };

  it('come from single sub-queries without delay, never from predicted measurements', () => {
    const latency = syntheticLatency();
    expect(requestCosts(latency, 'embedded')).toEqual({ callMs: 0.5, serviceMs: 1, delayMs: 0 });
    for (const measurement of latency.measurements)
      if (measurement.numQueries > 1 || measurement.retriever.startsWith('slow'))
        measurement.samplesMs = [1e6];
    expect(requestCosts(latency, 'slow-50')).toEqual(slow);
  });

  it('are never below 0', () => {
    expect(requestCosts({ ...syntheticLatency(), serviceSamplesMs: [10] }, 'http').callMs).toBe(0);
  });
});

describe('latency figures', () => {
  const tidy = summariseLatency(syntheticLatency());

  it('include median, quartiles and prediction of every setting', () => {
    expect(tidy.rows).toHaveLength(4 * 8 * 6);
    const set = { retriever: 'slow-50', method: 'one-turn', limit: 1, sub_queries: 3 };
    // limit 1: 3 * (2 + 1 + 50)
    const figures = { value: 159, low: 143.1, high: 190.8, predicted: 159, n: 5, seeds: 3 };
    expect(matching(tidy.rows, set)).toEqual([
      { ...set, delay_ms: 50, metric: 'wall_ms', ...figures },
    ]);
  });

  it('compare with the same sub-queries in separate turns, repeat by repeat', () => {
    expect(tidy.contrasts).toHaveLength(4 * 8 * 5);
    const set = { retriever: 'slow-50', limit: 'unlimited', sub_queries: 8 };
    // (8 * 3 + 50) / (8 * 53); the factors of a repeat cancel out
    const figures = { value: 0.175, low: 0.175, high: 0.175, predicted: 0.175 };
    expect(matching(tidy.contrasts, set)).toMatchObject([{ against: 'in-turns', ...figures }]);
    // (8 * 3 + 200) / (8 * 203)
    const [slowest] = matching(tidy.contrasts, WAITED_FOR_ONCE.figure);
    expect(slowest.value).toBe(0.138);
    expect(WAITED_FOR_ONCE.holds(slowest)).toBe(true);
  });

  it('show how the model divides the time', () => {
    const set = { retriever: 'slow-50', asked: 'one turn, no limit', sub_queries: 4 };
    expect(matching(timeParts(syntheticLatency()), set)).toEqual([
      { ...set, part: 'waiting', value: 50, measured: 62 },
      { ...set, part: 'requests', value: 8, measured: 62 },
      { ...set, part: 'searching', value: 4, measured: 62 },
    ]);
  });

  it('include whole questions only if the time of a model call is known', () => {
    const slow = { retriever: 'slow-50', sub_queries: 3, metric: 'question_ms' };
    const { questions, speedUps } = questionTimes(tidy.rows, generation);
    // 4 calls and 3 * 53 ms; 2 calls and 3 * 3 + 50 ms
    expect(matching(questions, slow).map((row) => row.question_ms)).toEqual([559, 259]);
    const set = { retriever: 'slow-50', sub_queries: 3 };
    expect(matching(speedUps, { ...set, generation_ms: 100 })[0].value).toBeCloseTo(559 / 259, 9);
    // As the model gets slower, towards the ratio of calls.
    const slowest = matching(speedUps, { retriever: 'embedded', sub_queries: 5 }).at(-1)!;
    expect(slowest.value).toBeCloseTo(6 / 2, 2);
    const without = matching(questionTimes(tidy.rows, null).questions, slow);
    expect(without.map((row) => row.question_ms)).toEqual([null, null]);
  });
});

const compiled = new URL('../../dist/experiments/latency/measuring.js', import.meta.url);

it.skipIf(!existsSync(compiled))('BM25 is served in a separate process (needs dist/)', async () => {
  type Measuring = typeof import('../../lib/experiments/latency/measuring.js');
  const { startLatencyServer } = (await import(compiled.href)) as Measuring;
  const server = startLatencyServer();
  try {
    const urls = new Set<string>();
    for (const delayMs of [0, 1]) urls.add(await server.send({ delayMs }));
    expect(urls.size).toBe(2);
    for (const url of urls) {
      const [passages] = await createRemoteRetriever({ url }).retrieve(['film'], { topK: 3 });
      expect(passages).toHaveLength(3);
    }
  } finally {
    server.stop();
  }
});
