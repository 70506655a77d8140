import type { ScoringInput } from '../../lib/rewards/reward.js';

/** A right answer to a comparison, searched in parallel. */
export const rolloutLike = (change: Partial<ScoringInput> = {}): ScoringInput => ({
  answer: 'right',
  goldenAnswers: ['right'],
  formatOk: true,
  searchTurns: [['a', 'b']],
  questionType: 'parallelizable',
  trajectory: { segments: [], searchTurns: [] },
  question: undefined,
  ...change,
});
