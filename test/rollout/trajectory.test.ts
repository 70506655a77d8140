import { expect, it } from 'vitest';
import { formatTrajectory, tokenUsage, type Segment } from '../../lib/rollout/trajectory.js';

it('prints a line of JSON with log-probs rounded to four decimals', () => {
  const segment = {
    kind: 'policy' as const,
    tokenIds: [5, 12_345],
    text: 'a\nb',
    logProbs: [-0.123456, -1e-6],
  };
  const trajectory = {
    segments: [segment, { kind: 'notice' as const, tokenIds: [1], text: '' }],
    advantage: 0.123456,
  };
  const line = formatTrajectory(trajectory);
  expect(line.endsWith('}\n')).toBe(true);
  expect(line.trimEnd()).not.toContain('\n');
  expect(JSON.parse(line)).toEqual({
    segments: [
      { ...segment, logProbs: [-0.1235, 0] },
      { kind: 'notice', tokenIds: [1], text: '' },
    ],
    advantage: 0.123456,
  });
});

it('counts the whole context for every call', () => {
  const segment = (kind: Segment['kind'], length: number): Segment => ({
    kind,
    text: '',
    tokenIds: Array<number>(length).fill(0),
  });
  const segments = [
    segment('prompt', 3),
    segment('policy', 2),
    segment('information', 4),
    segment('policy', 1),
  ];
  expect(tokenUsage({ segments })).toEqual({ read: 3 + (3 + 2 + 4), written: 2 + 1 });
});

it('says how many calls nobody counted', () => {
  const call: Segment = { kind: 'policy', text: 'a', tokenIds: [] };
  const counted = { ...call, usage: { read: 5, written: 1 } };
  expect(tokenUsage({ segments: [call, counted, call] })).toEqual({
    read: 5,
    written: 1,
    uncounted: 2,
  });
});
