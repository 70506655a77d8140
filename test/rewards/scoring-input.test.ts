import { describe, expect, it } from 'vitest';
import { scoringInput, scoringInputFromTranscript } from '../../lib/rewards/reward.js';
import type { Segment, SegmentKind } from '../../lib/rollout/trajectory.js';
import { COMPARISON } from '../training/tiny.js';

const segment = (kind: SegmentKind, text: string): Segment => ({ kind, text, tokenIds: [] });
const segments = [
  segment('prompt', 'Answer <answer> prompt </answer> <search> p ## q </search>'),
  segment('policy', '<think> t </think> <search> a ## b </search>'),
  segment(
    'information',
    '<information><answer> y </answer> <search> c ## d </search></information>',
  ),
  segment('policy', '<think> t </think> <answer> x </answer>'),
];
const passages = [{ id: 'p0', title: 'A', score: 2 }];
const searchTurns = [{ queries: ['a', 'b'], results: [{ status: 'ok' as const, passages }] }];
const seen = (some: Segment[]) => scoringInput({ segments: some, searchTurns }, COMPARISON);

describe('scoringInput', () => {
  it('reads policy segments only and keeps trajectory and question', () => {
    expect(seen(segments)).toEqual({
      answer: 'x',
      goldenAnswers: ['Bo Reed'],
      formatOk: true,
      searchTurns: [['a', 'b']],
      questionType: 'parallelizable',
      trajectory: { segments, searchTurns },
      question: COMPARISON,
    });
  });

  it('has no question type for a question without a graph', () => {
    const question = { ...COMPARISON, metadata: {} };
    expect(scoringInput({ segments, searchTurns }, question).questionType).toBeUndefined();
  });
});

describe('scoringInputFromTranscript', () => {
  it('equals scoringInput except for passages', () => {
    const response = segments.slice(1).map((s) => s.text);
    const { trajectory, question, ...rest } = scoringInputFromTranscript(response.join('\n'), {
      goldenAnswers: ['Bo Reed'],
      questionType: 'parallelizable',
    });
    expect(seen(segments)).toMatchObject(rest);
    expect(trajectory.searchTurns).toEqual([{ queries: ['a', 'b'], results: [] }]);
    expect(question).toBeUndefined();
  });
});
