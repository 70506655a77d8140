import { expect, it } from 'vitest';
import { formatTrajectory, tokenUsage, type Segment } from '../../lib/rollout/trajectory.js';

it('prints a line of JSON with log-probs rounded to four decimals', () => {
  const written: Segment = { kind: 'policy', tokenIds: [5, 12_345], text: 'a\nb' };
  const notice: Segment = { kind: 'notice', tokenIds: [1], text: '' };
  const trajectory = (...logProbs: number[]) => ({
    segments: [{ ...written, logProbs }, notice],
    advantage: 0.123456,
  });
  const line = formatTrajectory(trajectory(-0.123456, -1e-6));
  expect(line.endsWith('}\n')).toBe(true);
  expect(line.trimEnd()).not.toContain('\n');
  expect(JSON.parse(line)).toEqual(trajectory(-0.1235, 0));
});

it('counts the whole context for every call', () => {
  const lengths = [3, 2, 4, 1];
  const segments = (['prompt', 'policy', 'information', 'policy'] as const).map(
    (kind, i): Segment => ({ kind, text: '', tokenIds: Array<number>(lengths[i]).fill(0) }),
  );
  expect(tokenUsage({ segments })).toEqual({ read: 3 + (3 + 2 + 4), written: 2 + 1 });
});

it('says how many calls nobody counted', () => {
  const call: Segment = { kind: 'policy', text: 'a', tokenIds: [] };
  const counted = { ...call, usage: { read: 5, written: 1 } };
  const usage = { read: 5, written: 1, uncounted: 2 };
  expect(tokenUsage({ segments: [call, counted, call] })).toEqual(usage);
});
