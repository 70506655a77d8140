import { describe, expect, it } from 'vitest';
import { rewardInputFromTrajectory, rewardInputFromTranscript } from '../../lib/rewards/input.js';
import type { Segment, SegmentKind } from '../../lib/rollout/trajectory.js';

const segment = (kind: SegmentKind, text: string): Segment => ({ kind, text, tokenIds: [] });
const question = { goldenAnswers: ['x'], shape: 'parallelizable' as const };

const segments = [
  segment('prompt', 'Answer <answer> prompt </answer> <search> p ## q </search>'),
  segment('policy', '<think> t </think> <search> a ## b </search>'),
  segment('information', '<information><answer> y </answer> <search> c ## d </search></information>'),
  segment('policy', '<think> t </think> <answer> x </answer>'),
];

describe('rewardInputFromTrajectory', () => {
  it('reads policy segments only', () => {
    expect(rewardInputFromTrajectory({ segments }, question)).toEqual({
      answer: 'x',
      goldenAnswers: ['x'],
      formatOk: true,
      searchTurns: [['a', 'b']],
      shape: 'parallelizable',
    });
  });

  it('does not change with what the environment wrote', () => {
    const changed = segments.map((s) => (s.kind === 'information' ? { ...s, text: 'anything </think>' } : s));
    expect(rewardInputFromTrajectory({ segments: changed }, question)).toEqual(
      rewardInputFromTrajectory({ segments }, question),
    );
  });

  it('counts no search that was not executed', () => {
    const cut = segments.slice(0, 2);
    expect(rewardInputFromTrajectory({ segments: cut }, question)).toMatchObject({
      answer: null,
      formatOk: false,
      searchTurns: [],
    });
  });

  it('reads a policy segment that was sampled in pieces', () => {
    const pieces = [
      segment('policy', '<think> t </think> <sea'),
      segment('policy', 'rch> a </search>'),
      ...segments.slice(2),
    ];
    expect(rewardInputFromTrajectory({ segments: pieces }, question)).toMatchObject({
      formatOk: true,
      searchTurns: [['a']],
    });
  });
});

describe('rewardInputFromTranscript', () => {
  it('sees the same in the recorded text', () => {
    const response = segments
      .slice(1)
      .map((s) => s.text)
      .join('\n');
    expect(rewardInputFromTranscript(response, question)).toEqual(
      rewardInputFromTrajectory({ segments }, question),
    );
  });
});
