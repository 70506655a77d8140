import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  loadLatency,
  quantile,
  requestCosts,
  summariseLatency,
} from '../../../lib/experiments/latency/measures.js';
import { syntheticLatency, writeSyntheticLatency } from './synthetic.js';
import { writeSyntheticTiming } from '../synthetic.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'latency-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('quantile', () => {
  it('interpolates between the samples in order', () => {
    expect([0, 0.25, 0.5, 0.75, 1].map((share) => quantile([5, 1, 2, 4], share))).toEqual([
      1, 1.75, 3, 4.25, 5,
    ]);
    expect(quantile([7], 0.25)).toBe(7);
  });
});

describe('requestCosts', () => {
  it('come from single searches and single sub-queries without delay, the delay from the configuration', () => {
    const record = syntheticLatency();
    expect(requestCosts(record, 'embedded')).toEqual({ callMs: 0.5, serviceMs: 1, delayMs: 0 });
    expect(requestCosts(record, 'slow-50')).toEqual({ callMs: 2, serviceMs: 1, delayMs: 50 });
  });

  it('do not depend on what they predict', () => {
    const record = syntheticLatency();
    for (const measurement of record.measurements) {
      if (measurement.numQueries > 1 || measurement.retriever === 'slow-50') measurement.samplesMs = [1e6];
    }
    expect(requestCosts(record, 'slow-50')).toEqual({ callMs: 2, serviceMs: 1, delayMs: 50 });
  });

  it('are never below 0, and name what is missing', () => {
    const record = { ...syntheticLatency(), serviceSamplesMs: [10] };
    expect(requestCosts(record, 'http').callMs).toBe(0);
    const config = {
      ...record.config,
      retrievers: record.config.retrievers.filter((r) => r.name !== 'http'),
    };
    expect(() => requestCosts({ ...record, config }, 'slow-50')).toThrow('at the place server without delay');
    expect(() => requestCosts(record, 'fast')).toThrow(
      'Expected a retriever of embedded, http, slow-50, but got fast.',
    );
  });
});

describe('summariseLatency', () => {
  const { tidy } = summariseLatency(syntheticLatency(), null);

  it('gives the median, the quartiles and the prediction of every setting', () => {
    expect(tidy.rows).toHaveLength(3 * 8 * 6);
    const row = tidy.rows.find(
      (r) => r.retriever === 'slow-50' && r.method === 'one-turn' && r.sub_queries === 3,
    );
    // limit 1: 3 * (2 + 1 + 50)
    expect(row).toEqual({
      ...{
        retriever: 'slow-50',
        delay_ms: 50,
        method: 'one-turn',
        limit: 1,
        sub_queries: 3,
        metric: 'wall_ms',
      },
      ...{ value: 159, low: 143.1, high: 190.8, n: 5, seeds: 2, predicted: 159 },
    });
  });

  it('compares with the same sub-queries in turns, repeat by repeat', () => {
    expect(tidy.contrasts).toHaveLength(3 * 8 * 5);
    const contrast = tidy.contrasts.find(
      (c) => c.retriever === 'slow-50' && c.limit === 'unlimited' && c.sub_queries === 8,
    );
    // (8 * 3 + 50) / (8 * 53); the factors of a repeat cancel out
    expect(contrast).toEqual({
      ...{ retriever: 'slow-50', delay_ms: 50, method: 'one-turn', against: 'in-turns', limit: 'unlimited' },
      ...{ sub_queries: 8, metric: 'wall_ms', kind: 'ratio' },
      ...{ value: 0.175, low: 0.175, high: 0.175, predicted: 0.175 },
    });
  });

  it('says in its headline whether the slowest retriever is waited for once', () => {
    expect(tidy.provenance.headlines).toEqual([
      {
        claim: '8 sub-queries to a retriever that takes 50 ms need less than half the time in one turn',
        found: 'ratio 0.175 [0.175, 0.175]',
        holds: true,
      },
    ]);
    const record = syntheticLatency();
    for (const m of record.measurements) m.samplesMs = [10];
    expect(summariseLatency(record, null).tidy.provenance.headlines).toMatchObject([{ holds: false }]);
  });

  it('adds whole questions only where the time of a call of the model is stated', () => {
    expect(tidy.rows.some((r) => r.metric === 'question_ms')).toBe(false);
    const generation = { msPerCall: 100, source: 'a test' };
    const { rows } = summariseLatency(syntheticLatency(), generation).tidy;
    const questions = rows.filter(
      (r) => r.metric === 'question_ms' && r.retriever === 'http' && r.sub_queries === 2,
    );
    // in turns 3 calls and 2 * 3 ms, in one turn 2 calls and 2 * 3 ms, in one request 2 calls and 2 + 2 ms
    expect(questions.map((r) => r.value)).toEqual([306, 206, 206, 206, 206, 204]);
  });
});

describe('loadLatency', () => {
  it('reads what the experiment wrote, with the time of a call where the timing experiment says it', () => {
    writeSyntheticLatency(folder);
    const timing = path.join(folder, 'timing');
    expect(loadLatency(folder, timing).generation).toBeNull();
    writeSyntheticTiming(timing);
    const results = loadLatency(folder, timing);
    expect(results.generation?.msPerCall).toBeCloseTo(10);
    expect(results.summary).toContain('720 sets of sub-queries timed with 3 retrievers');
    expect(loadLatency(folder).generation).toBeNull();
  });

  it('names a file that is missing or does not fit', () => {
    expect(() => loadLatency(folder)).toThrow('Run "npx parallelsearch experiment latency" first.');
    writeFileSync(path.join(folder, 'results.json'), '{"config": {}}');
    expect(() => loadLatency(folder)).toThrow(/latency record, but:[^]*seeds/);
  });
});
