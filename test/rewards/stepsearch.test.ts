import { describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import { scoreRollout, scoringInput, type ScoringInput } from '../../lib/rewards/reward.js';
import {
  informationGains,
  keyWordMatch,
  redundancies,
  stepSearch,
} from '../../lib/rewards/stepsearch.js';
import type { Segment } from '../../lib/rollout/trajectory.js';
import { SEQUENTIAL } from '../training/tiny.js';

describe('information gain', () => {
  it('counts a sub-question in the turn that first finds its evidence', () => {
    const gold = [['p3'], ['p1', 'p1-again'], ['p9']];
    expect(informationGains([['p0', 'p3'], ['p3', 'p1-again'], ['p1']], gold)).toEqual([
      1 / 3,
      1 / 3,
      0,
    ]);
    expect(informationGains([['p3', 'p1', 'p9']], gold)).toEqual([1]);
  });

  it('is 0 without gold passages', () => {
    expect(informationGains([['p0']], [])).toEqual([0]);
  });
});

it('redundancy is the share of passages already seen', () => {
  expect(redundancies([['a', 'b', 'c'], ['a', 'd', 'b'], [], ['e', 'e']])).toEqual([
    0,
    2 / 3,
    0,
    0.5,
  ]);
});

describe('key words', () => {
  it('are matched by the closest search (F1)', () => {
    expect(keyWordMatch(['Red River', 'Bo Reed born'], ['Red River', 'Bo Reed'])).toBeCloseTo(
      (1 + 0.8) / 2,
    );
    expect(keyWordMatch(['Bo Reed born', 'Bo Reed', 'Bo'], ['Red River', 'Bo Reed'])).toBeCloseTo(
      0.5,
    );
  });

  it('are unmatched without searches or key words', () => {
    expect(keyWordMatch([], ['Red River'])).toBe(0);
    expect(keyWordMatch(['Red River'], [])).toBe(0);
  });
});

/** A rollout with these passages per search; without any, the search failed. */
function searched(
  turns: readonly (readonly [query: string, ids?: string[]])[],
  answer: string,
  question: Question = SEQUENTIAL,
): ScoringInput {
  const segment = (kind: Segment['kind'], text: string): Segment => ({ kind, tokenIds: [], text });
  const segments = turns.flatMap(([query]) => [
    segment('policy', `<think> t </think><search> ${query} </search>`),
    segment('information', '<information>Doc 1(Title: t) t\n</information>'),
  ]);
  const searchTurns = turns.map(([query, ids]) => ({
    queries: [query],
    results: [
      ids
        ? { status: 'ok' as const, passages: ids.map((id) => ({ id, title: id, score: 1 })) }
        : { status: 'failed' as const, reason: 'closed' },
    ],
  }));
  return scoringInput(
    { segments: [...segments, segment('policy', answer)], searchTurns },
    question,
  );
}

describe('StepSearch', () => {
  const asked: [string, string[]][] = [
    ['Red River', ['p3', 'p0']],
    ['Bo Reed', ['p1', 'p3']],
  ];

  it('adds F1 and key words to the total, gain minus redundancy to each turn', () => {
    const right = searched(asked, '<think> t </think><answer> 1904 </answer>');
    const { components, turns: byTurn } = scoreRollout(stepSearch(), right);
    expect(components).toMatchObject({ outcome: 1, answer_f1: 1, key_words: 1, steps: 0 });
    expect(components.total).toBeCloseTo(1.618);
    expect(byTurn).toEqual([0.5, 0.5 - 0.5]);
    expect(components).toMatchObject({ information_gain: 1, redundancy: 0.5 });
  });

  it('gives turns nothing without a graph, and failed searches no passages', () => {
    const answer = '<think> t </think><answer> 1904 </answer>';
    const repeated: typeof asked = [
      ['Red River', ['p3']],
      ['Red River', ['p3']],
    ];
    const withoutGraph = searched(repeated, answer, { ...SEQUENTIAL, metadata: {} });
    expect(scoreRollout(stepSearch(), withoutGraph).turns).toEqual([0, 0]);
    const failed = searched([['Red River'], ['Bo Reed', ['p1', 'p3']]], answer);
    expect(scoreRollout(stepSearch(), failed).turns).toEqual([0, 1]);
  });

  it('gives -1 without an answer', () => {
    const { components, turns: byTurn } = scoreRollout(
      stepSearch(),
      searched(asked, '<think> t </think>'),
    );
    expect(components.total).toBe(-1);
    expect(byTurn).toEqual([0, 0]);
  });
});
