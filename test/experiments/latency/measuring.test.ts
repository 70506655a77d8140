import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  independentQueries,
  measureLatency,
  measureService,
} from '../../../lib/experiments/latency/measuring.js';
import { predictTime } from '../../../lib/experiments/latency/measuring.js';
import { askingsOf, askingTitle } from '../../../lib/experiments/latency/measuring.js';
import { graphOf, questionOf } from '../../data/questions.js';
import { echoRetriever } from '../../retrieval/passages.js';

const settings = {
  seeds: [1, 2],
  numQueries: [1, 2, 5],
  topK: 1,
  warmUps: 1,
  limits: [1, 2, 'unlimited'] as const,
};
const queries = Array.from({ length: 20 }, (_, i) => `q${i}`);
const options = { settings, repeats: 2, queries };

afterEach(() => void vi.restoreAllMocks());

describe('measureLatency', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }),
  );
  afterEach(() => void vi.useRealTimers());

  it('measures exactly what the model predicts of a retriever that only waits', async () => {
    const waiting = echoRetriever(() => new Promise((resolve) => setTimeout(resolve, 50)));
    const measuring = measureLatency(waiting, options);
    await vi.runAllTimersAsync();
    const measurements = await measuring;
    expect(measurements).toHaveLength(3 * 5);
    for (const { samplesMs, ...asking } of measurements) {
      const { totalMs } = predictTime(asking, { callMs: 0, serviceMs: 0, delayMs: 50 });
      expect(samplesMs, JSON.stringify(asking)).toEqual(Array(4).fill(totalMs));
    }
    const [five] = measurements.filter((m) => m.numQueries === 5 && m.limit === 2);
    expect(five.samplesMs[0]).toBe(150);
  });

  it('measures all work where nobody waits, and one request where there is one', async () => {
    let clockMs = 0;
    const busy = echoRetriever((batch) => void (clockMs += 3 + batch.length));
    vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
    const measuring = measureLatency(busy, options);
    await vi.runAllTimersAsync();
    for (const { method, numQueries, samplesMs } of await measuring) {
      const expected = method === 'one-request' ? 3 + numQueries : 4 * numQueries;
      expect(new Set(samplesMs)).toEqual(new Set([expected]));
    }
  });
});

describe('measureLatency', () => {
  it('asks the same sub-queries in every way, drawn by the seed', async () => {
    const asked = async (seeds: number[]): Promise<string[]> => {
      const retriever = echoRetriever();
      await measureLatency(retriever, { ...options, settings: { ...settings, seeds, warmUps: 0 } });
      return retriever.calls.flat();
    };
    const [first, again, other] = [await asked([1]), await asked([1]), await asked([2])];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    // 2 repeats of 5 different sub-queries, of which 1, 2 and 5 are asked in 5 ways
    expect(first).toHaveLength(2 * 5 * (1 + 2 + 5));
    expect(new Set(first.slice(0, 40)).size).toBe(5);
  });

  it('reports progress up to the whole', async () => {
    const fractions: number[] = [];
    await measureLatency(echoRetriever(), {
      ...options,
      onProgress: (fraction) => fractions.push(fraction),
    });
    expect(fractions).toEqual([0.25, 0.5, 0.75, 1]);
  });

  it('takes no time for a failed search, and needs enough sub-queries', async () => {
    const failing = echoRetriever(() => {
      throw new Error('index gone');
    });
    await expect(measureLatency(failing, options)).rejects.toThrow(
      'Expected every search of echo to succeed, but one failed: index gone',
    );
    await expect(measureLatency(failing, { ...options, queries: ['a'] })).rejects.toThrow(
      'Expected at least 5 sub-queries to draw from, but got 1.',
    );
  });
});

describe('measureService', () => {
  it('times single searches, without the warm-up', async () => {
    let clockMs = 0;
    let cost = 7;
    const retriever = echoRetriever(() => void (clockMs += cost++));
    vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
    const samples = await measureService(retriever, options);
    expect(retriever.calls.every((batch) => batch.length === 1)).toBe(true);
    expect(samples).toEqual(Array.from({ length: 4 * 5 }, (_, i) => 7 + 5 + i));
  });
});

describe('independentQueries', () => {
  it('takes each sub-query of parallelizable test questions once', () => {
    const test = (edges: Record<string, string[]>) => questionOf(graphOf(edges), { split: 'test' });
    const questions = [test({ b: [], a: [] }), test({ a: [], c: [] }), test({ d: [], e: ['d'] })];
    questions.push({ ...test({ f: [], g: [] }), split: 'train' });
    expect(independentQueries(questions)).toEqual(['a', 'b', 'c']);
  });
});

describe('askingsOf', () => {
  it('names every set in turns, together under each limit, and as one request', () => {
    const askings = askingsOf({ ...settings, numQueries: [3] });
    expect(askings).toEqual([
      { method: 'in-turns', limit: null, numQueries: 3 },
      { method: 'one-turn', limit: 1, numQueries: 3 },
      { method: 'one-turn', limit: 2, numQueries: 3 },
      { method: 'one-turn', limit: 'unlimited', numQueries: 3 },
      { method: 'one-request', limit: null, numQueries: 3 },
    ]);
    expect(askings.map(askingTitle)).toEqual(
      ['in turns', 'one turn, 1 at a time', 'one turn, 2 at a time', 'one turn, no limit'].concat(
        'one turn, one request',
      ),
    );
  });
});
