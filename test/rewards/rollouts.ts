import type { Rollout } from '../../lib/rewards/rollout.js';

/** A right answer to a comparison, searched for at once; with changes. */
export const rolloutLike = (change: Partial<Rollout> = {}): Rollout => ({
  answer: 'right',
  goldenAnswers: ['right'],
  formatOk: true,
  searchTurns: [['a', 'b']],
  shape: 'parallelizable',
  trajectory: { segments: [], searchTurns: [] },
  question: undefined,
  ...change,
});
