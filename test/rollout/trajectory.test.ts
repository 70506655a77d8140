import { expect, it } from 'vitest';
import { tokenUsage, type Segment } from '../../lib/rollout/trajectory.js';

it('counts the whole context as read at every call', () => {
  const segment = (kind: Segment['kind'], length: number): Segment => ({
    ...{ kind, text: '', tokenIds: Array<number>(length).fill(0) },
  });
  const segments = [
    ...[segment('prompt', 3), segment('policy', 2), segment('information', 4), segment('policy', 1)],
  ];
  expect(tokenUsage({ segments })).toEqual({ read: 3 + (3 + 2 + 4), written: 2 + 1 });
});
