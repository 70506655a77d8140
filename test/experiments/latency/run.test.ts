import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readPassages } from '../../../lib/data/flashrag.js';
import type { Question, QuestionGraph } from '../../../lib/data/question.js';
import { latencyConfigSchema } from '../../../lib/experiments/latency/measures.js';
import { predictTime } from '../../../lib/experiments/latency/model.js';
import {
  askingsOf,
  estimateLatencySeconds,
  independentQueries,
  LATENCY_CONFIG,
  measureLatency,
  measureService,
} from '../../../lib/experiments/latency/run.js';
import type { ServerJob } from '../../../lib/experiments/latency/server.js';
import { MINI_WIKI } from '../../../lib/io/paths.js';
import { createRemoteRetriever } from '../../../lib/retrieval/remote.js';
import type { Worker } from '../../../lib/io/worker.js';
import { echoRetriever } from '../../retrieval/passages.js';

const config = latencyConfigSchema.parse({
  seeds: [1, 2],
  numQueries: [1, 2, 5],
  limits: [1, 2, 'unlimited'],
  topK: 1,
  warmUps: 1,
  retrievers: [{ name: 'echo', place: 'embedded', repeats: 2 }],
});
const queries = Array.from({ length: 20 }, (_, i) => `q${i}`);
const options = { config, repeats: 2, queries };

describe('measureLatency', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
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
    const measuring = measureLatency(busy, { ...options, now: () => clockMs });
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
      await measureLatency(retriever, { ...options, config: { ...config, seeds, warmUps: 0 } });
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
    await measureLatency(echoRetriever(), { ...options, onProgress: (fraction) => fractions.push(fraction) });
    expect(fractions).toEqual([0.25, 0.5, 0.75, 1]);
  });

  it('stops at once with the reason of the signal', async () => {
    const controller = new AbortController();
    const retriever = echoRetriever(() => controller.abort(new Error('enough')));
    await expect(measureLatency(retriever, { ...options, signal: controller.signal })).rejects.toThrow(
      'enough',
    );
    expect(retriever.calls).toHaveLength(1);
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
    const samples = await measureService(retriever, { ...options, now: () => clockMs });
    expect(retriever.calls.every((batch) => batch.length === 1)).toBe(true);
    expect(samples).toEqual(Array.from({ length: 4 * 5 }, (_, i) => 7 + 5 + i));
  });
});

describe('independentQueries', () => {
  const node = (id: string, dependsOn: string[] = []): QuestionGraph[number] => {
    return {
      id,
      question: id,
      entity: id,
      attribute: 'a',
      query: `query ${id}`,
      dependsOn,
      answers: [id],
      evidence: [],
    };
  };
  const question = (split: string, graph: QuestionGraph): Question => ({
    id: 'x',
    question: 'x',
    goldenAnswers: [],
    split,
    metadata: { graph },
  });

  it('takes each sub-query of parallelizable test questions once', () => {
    const questions = [
      question('test', [node('b'), node('a')]),
      question('test', [node('a'), node('c')]),
      question('test', [node('d'), node('e', ['d'])]),
      question('train', [node('f'), node('g')]),
    ];
    expect(independentQueries(questions)).toEqual(['query a', 'query b', 'query c']);
  });
});

describe('the configuration', () => {
  it('covers 1 to 8 sub-queries in turns, together under each limit, and as one request', () => {
    expect(LATENCY_CONFIG.numQueries).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(askingsOf({ ...config, numQueries: [3] })).toEqual([
      { method: 'in-turns', limit: null, numQueries: 3 },
      { method: 'one-turn', limit: 1, numQueries: 3 },
      { method: 'one-turn', limit: 2, numQueries: 3 },
      { method: 'one-turn', limit: 'unlimited', numQueries: 3 },
      { method: 'one-request', limit: null, numQueries: 3 },
    ]);
    expect(() => latencyConfigSchema.parse({ ...config, repeat: 1 })).toThrow('repeat');
  });

  it('estimates its time by the model', () => {
    const small = latencyConfigSchema.parse({
      ...{ seeds: [1, 2], numQueries: [2], limits: ['unlimited'], topK: 1, warmUps: 1 },
      retrievers: [{ name: 'slow', place: 'server', delayMs: 1000, repeats: 1 }],
    });
    // in turns 2 * 1001.5, in one turn 2 * 1.5 + 1000, in one request 1001.5; 2 repeats and a warm-up
    expect(estimateLatencySeconds(small)).toBeCloseTo((3 * (2003 + 1003 + 1001.5)) / 1000, 9);
  });
});

const compiled = new URL('../../dist/experiments/latency-server.js', import.meta.url);

describe.skipIf(!existsSync(compiled))('startLatencyServer (skipped without dist/: npm run build)', () => {
  it('serves the mini-wiki from a process of its own', async () => {
    const { startLatencyServer } = (await import(compiled.href)) as {
      startLatencyServer: () => Worker<ServerJob, string>;
    };
    const [passage] = await readPassages(join(MINI_WIKI, 'passages.jsonl'));
    const server = startLatencyServer();
    try {
      const urls = [
        await (await server.send({ delayMs: 0 })).reply,
        await (await server.send({ delayMs: 1 })).reply,
      ];
      expect(new Set(urls).size).toBe(2);
      for (const url of urls) {
        expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/retrieve$/);
        const [found] = await createRemoteRetriever({ url }).retrieve([passage.title], { topK: 3 });
        expect(found.map(({ passage: { title } }) => title)).toContain(passage.title);
      }
    } finally {
      server.stop();
    }
  });
});
