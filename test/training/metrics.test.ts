/** Metrics that announce a collapse, computed by hand. */
import { describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import type { RolloutStats } from '../../lib/rollout/rollout.js';
import type { Segment, Trajectory, With } from '../../lib/rollout/trajectory.js';
import {
  rolloutMetrics,
  sampledLogProbs,
  trendMetrics,
  type Metrics,
} from '../../lib/training/metrics.js';
import { COMPARISON, SEQUENTIAL } from './tiny.js';

const STATS: RolloutStats = {
  retrievalsRequested: 0,
  retrievalsFailed: 0,
  retrievalsTimedOut: 0,
  rolloutSeconds: [],
};

/** A rollout whose search turns showed the passages with these ids. */
function rollout(
  shown: readonly (readonly string[])[],
  more: Partial<Trajectory> = {},
): With<'rewards' | 'advantage'> {
  return {
    questionId: '',
    question: '',
    goldenAnswers: [],
    segments: [],
    searchTurns: shown.map((ids) => ({
      queries: ['q'],
      results: [{ status: 'ok', passages: ids.map((id) => ({ id, title: '', score: 1 })) }],
    })),
    answer: 'x',
    modelCalls: shown.length + 1,
    finish: 'answer',
    advantage: 0,
    ...more,
    rewards: { outcome: 0, total: 0, ...more.rewards },
  };
}

const measured = (
  rollouts: With<'rewards' | 'advantage'>[],
  questions?: Question[],
  stats: Partial<RolloutStats> = {},
): Metrics =>
  rolloutMetrics(rollouts, {
    groupSize: 1,
    maxNewTokens: 10,
    maxSearchTurns: 2,
    questions,
    stats: { ...STATS, ...stats },
  });

describe('rolloutMetrics', () => {
  it('counts rollouts that gave up: answered with turns left and evidence never shown', () => {
    const evidence = SEQUENTIAL.metadata.graph!.map(({ evidence: [id] }) => id);
    const rollouts = [
      rollout([evidence]), // everything was shown
      rollout([[evidence[0]]]), // gave up
      rollout([]), // gave up
      rollout([[evidence[0]], []]), // no turn was left
      rollout([[]], { answer: null, modelCalls: 3, finish: 'budget' }), // did not answer
      rollout([], { finish: 'timeout' }), // is left out
    ];
    const questions = rollouts.map(() => SEQUENTIAL);
    const metrics = measured(rollouts, questions);
    expect(metrics.gave_up).toBe(2 / 5);
    expect(metrics.out_of_turns).toBe(1 / 5);
    const graph = SEQUENTIAL.metadata.graph!.map((node) => ({ ...node, evidence: [] }));
    const unknown = { ...SEQUENTIAL, metadata: { ...SEQUENTIAL.metadata, graph } };
    expect(
      measured(
        rollouts,
        questions.map((known, i) => (i < 2 ? known : unknown)),
      ).gave_up,
    ).toBe(1 / 2);
    expect(measured(rollouts)).not.toHaveProperty('gave_up');
  });

  it('includes search turns of sequential questions and the slowest rollouts', () => {
    const rollouts = [
      rollout([['a'], ['b']], { questionType: 'sequential' }),
      rollout([['a']], { questionType: 'sequential' }),
      rollout([], { questionType: 'parallelizable' }),
    ];
    // Order statistics at 0.95 and 0.99 of the way from the first to the last.
    const rolloutSeconds = Array.from({ length: 101 }, (_, i) => (i * 37) % 101);
    const metrics = measured(rollouts, undefined, { rolloutSeconds });
    expect(metrics['turns/sequential']).toBe(1.5);
    expect(metrics.p95_rollout_seconds).toBeCloseTo(95);
    expect(metrics.p99_rollout_seconds).toBeCloseTo(99);
    expect(measured(rollouts.slice(2))).not.toHaveProperty('turns/sequential');
    expect(measured(rollouts)).not.toHaveProperty('p95_rollout_seconds');
  });
});

describe('sampledLogProbs', () => {
  const segments = (...logProbs: number[]): Segment[] => [
    { kind: 'prompt', text: '', tokenIds: [1] },
    { kind: 'policy', text: '', tokenIds: logProbs.map(() => 1), logProbs },
  ];

  it('are means over tokens, by correctness', () => {
    const [right, wrong] = [
      { outcome: 1, total: 1 },
      { outcome: 0, total: 0 },
    ];
    const rollouts = [
      rollout([], { segments: segments(-1, -2, -3), rewards: right }),
      rollout([], { segments: segments(-6), rewards: right }),
      rollout([], { segments: segments(-5), rewards: wrong }),
      rollout([], {
        segments: segments(-9),
        rewards: { outcome: NaN, total: NaN },
        finish: 'timeout',
      }),
    ];
    expect(sampledLogProbs(rollouts)).toEqual({ 'logps/correct': -3, 'logps/incorrect': -5 });
    expect(sampledLogProbs(rollouts.slice(0, 2))).toEqual({ 'logps/correct': -3 });
  });

  it('are absent without an outcome reward', () => {
    const one = rollout([], { segments: segments(-1) });
    expect(sampledLogProbs([{ ...one, rewards: { total: 1 } }])).toEqual({});
  });
});

describe('trendMetrics', () => {
  /** Steps with one value each; undefined is a step without the metric. */
  const steps = (name: string, values: readonly (number | undefined)[]): Metrics[] =>
    values.map((value): Metrics => (value === undefined ? {} : { [name]: value }));
  const ten = (value: number): number[] => Array.from({ length: 10 }, () => value);

  it('compares the last ten steps with the best ten', () => {
    const values = [...ten(-2), ...ten(-0.5), ...ten(-1), undefined, -3];
    // The last ten are -1 nine times, and -3.
    expect(trendMetrics(steps('logps/correct', values))).toEqual({
      'logps/correct_drop': expect.closeTo(0.7, 9) as number,
    });
    const queries = [...ten(1), ...ten(4), ...ten(1)];
    expect(trendMetrics(steps('sub_queries', queries))).toEqual({ sub_queries_drop: 0.75 });
  });

  it('starts at the tenth step with 0, and skips metrics that are always zero', () => {
    expect(trendMetrics(steps('sub_queries', ten(2).slice(1)))).toEqual({});
    expect(trendMetrics(steps('sub_queries', ten(2)))).toEqual({ sub_queries_drop: 0 });
    expect(trendMetrics(steps('sub_queries', ten(0)))).toEqual({});
  });
});

it('gave_up counts evidence by passage: a comparison with one of three shown', () => {
  const [{ evidence }] = COMPARISON.metadata.graph!;
  expect(measured([rollout([evidence])], [COMPARISON]).gave_up).toBe(1);
});
