import { describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import {
  costsOf,
  partsOf,
  questionsOf,
  requestCosts,
  speedUpsOf,
  summariseLatency,
  WAITED_FOR_ONCE,
} from '../../../lib/experiments/latency/experiment.js';
import { predictionsFrom } from '../../../lib/experiments/report.js';
import { syntheticLatency } from './synthetic.js';

const generation = { msPerCall: 100, source: 'a test' };

describe('requestCosts', () => {
  it('come from single searches and single sub-queries without delay, the delay from the configuration', () => {
    const record = syntheticLatency();
    expect(requestCosts(record, 'embedded')).toEqual({ callMs: 0.5, serviceMs: 1, delayMs: 0 });
    expect(requestCosts(record, 'slow-50')).toEqual({ callMs: 2, serviceMs: 1, delayMs: 50 });
  });

  it('do not depend on what they predict', () => {
    const record = syntheticLatency();
    for (const measurement of record.measurements) {
      if (measurement.numQueries > 1 || measurement.retriever.startsWith('slow'))
        measurement.samplesMs = [1e6];
    }
    expect(requestCosts(record, 'slow-50')).toEqual({ callMs: 2, serviceMs: 1, delayMs: 50 });
  });

  it('are never below 0', () => {
    expect(requestCosts({ ...syntheticLatency(), serviceSamplesMs: [10] }, 'http').callMs).toBe(0);
  });
});

describe('summariseLatency', () => {
  const tidy = summariseLatency(syntheticLatency(), null);

  it('gives the median, the quartiles and the prediction of every setting', () => {
    expect(tidy.rows).toHaveLength(4 * 8 * 6);
    const set = { retriever: 'slow-50', method: 'one-turn', limit: 1, sub_queries: 3 };
    // limit 1: 3 * (2 + 1 + 50)
    expect(matching(tidy.rows, set)[0]).toEqual({
      ...set,
      delay_ms: 50,
      metric: 'wall_ms',
      value: 159,
      low: 143.1,
      high: 190.8,
      n: 5,
      seeds: 3,
      predicted: 159,
    });
  });

  it('compares with the same sub-queries in turns, repeat by repeat', () => {
    expect(tidy.contrasts).toHaveLength(4 * 8 * 5);
    const set = { retriever: 'slow-50', method: 'one-turn', limit: 'unlimited', sub_queries: 8 };
    // (8 * 3 + 50) / (8 * 53); the factors of a repeat cancel out
    expect(matching(tidy.contrasts, set)[0]).toEqual({
      ...set,
      delay_ms: 50,
      against: 'in-turns',
      metric: 'wall_ms',
      kind: 'ratio',
      value: 0.175,
      low: 0.175,
      high: 0.175,
      predicted: 0.175,
    });
  });

  it('says whether the slowest retriever is waited for once, as was predicted', () => {
    // (8 * 3 + 200) / (8 * 203)
    expect(predictionsFrom(tidy, [WAITED_FOR_ONCE])).toEqual([
      {
        prediction:
          '8 sub-queries to a retriever that takes 200 ms need less than half the time in one turn',
        found: '0.138 [0.138, 0.138]',
        holds: true,
      },
    ]);
    const record = syntheticLatency();
    for (const m of record.measurements) m.samplesMs = [10];
    expect(predictionsFrom(summariseLatency(record, null), [WAITED_FOR_ONCE])).toMatchObject([
      { holds: false },
    ]);
  });

  it('adds whole questions only where the time of a call of the model is stated', () => {
    expect(tidy.rows.some((r) => r.metric === 'question_ms')).toBe(false);
    const { rows } = summariseLatency(syntheticLatency(), generation);
    const questions = matching(rows, { metric: 'question_ms', retriever: 'http', sub_queries: 2 });
    // in turns 3 calls and 2 * 3 ms, in one turn 2 calls and 2 * 3 ms, in one request 2
    // calls and 2 + 2 ms
    expect(questions.map((r) => r.value)).toEqual([306, 206, 206, 206, 206, 204]);
  });
});

describe('frames of the latency report', () => {
  const { rows } = summariseLatency(syntheticLatency(), generation);

  it('have the three costs of a request, and where the model says that the time goes', () => {
    expect(costsOf(syntheticLatency()).slice(0, 3)).toEqual([
      { retriever: 'embedded', request_ms: 0.5, search_ms: 1, delay_ms: 0 },
      { retriever: 'http', request_ms: 2, search_ms: 1, delay_ms: 0 },
      { retriever: 'slow-50', request_ms: 2, search_ms: 1, delay_ms: 50 },
    ]);
    const set = { retriever: 'slow-50', asked: 'one turn, no limit', sub_queries: 4 };
    expect(matching(partsOf(syntheticLatency()), set)).toEqual([
      { ...set, part: 'waiting', value: 50, measured: 62 },
      { ...set, part: 'requests', value: 8, measured: 62 },
      { ...set, part: 'searching', value: 4, measured: 62 },
    ]);
  });

  it('have whole questions where the time of a call is stated, and dashes without', () => {
    const slow = { retriever: 'slow-50', sub_queries: 3, metric: 'question_ms' };
    // 4 calls and 3 * 53 ms; 2 calls and 3 * 3 + 50 ms
    const expected = [
      { ...slow, asked: 'in turns', model_calls: 4, search_ms: 159, question_ms: 559 },
      { ...slow, asked: 'one turn, no limit', model_calls: 2, search_ms: 59, question_ms: 259 },
    ];
    expect(questionsOf(rows, generation)).toEqual(expect.arrayContaining(expected));
    const unknown = expected.map((row) => ({ ...row, question_ms: null }));
    expect(questionsOf(rows, null)).toEqual(expect.arrayContaining(unknown));
  });

  it('say how much faster one turn is: towards the ratio of calls as the model gets slower', () => {
    type SpeedUp = Record<'sub_queries' | 'generation_ms' | 'value', number> & {
      retriever: string;
    };
    const at = (retriever: string, numQueries: number): [number, number][] =>
      matching(speedUpsOf(rows, generation) as SpeedUp[], {
        retriever,
        sub_queries: numQueries,
      }).map(({ generation_ms, value }) => [generation_ms, value]);
    const slow = at('slow-50', 3);
    expect(slow.find(([ms]) => ms === 100)![1]).toBeCloseTo(559 / 259, 9);
    expect(slow.map(([ms]) => ms)).toEqual(slow.map(([ms]) => ms).sort((a, b) => a - b));
    expect(at('embedded', 5).at(-1)![0]).toBe(10_000);
    expect(at('embedded', 5).at(-1)![1]).toBeCloseTo(6 / 2, 2);
  });
});
