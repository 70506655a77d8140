import type { QuestionType } from '../data/question.js';
import type { RewardComponents, Trajectory } from '../rollout/trajectory.js';
import { exactMatch, tokenF1 } from '../text/answer-match.js';
import { formatFault } from '../text/response.js';
import { isDecomposed } from './parallelsearch.js';
import type { ScoringRules } from './presets.js';
import { scoreRollout, scoringInputFromSegments } from './reward.js';

export interface TranscriptScore {
  id: string;
  /** Null if unknown; it then counts as neither parallelizable nor single-hop. */
  questionType: QuestionType | null;
  answer: string | null;
  exactMatch: 0 | 1;
  f1: number;
  formatOk: boolean;
  /** How the response violates the format, or null. */
  formatReason: string | null;
  turns: number;
  /** Number of generations: search turns, invalid actions and the answer. */
  modelCalls: number;
  decomposed: boolean;
  rewards: RewardComponents;
  /** Why it is unclear who wrote what, or null; unclear text counts as the policy's. */
  ambiguous: string | null;
}

/** Computes exact match, F1, format, turns and every reward component of a trajectory. */
export function scoreTranscript(
  trajectory: Trajectory,
  { rewards, decomposedBy }: ScoringRules,
): TranscriptScore {
  const { questionId, segments, goldenAnswers, questionType, ambiguous } = trajectory;
  const input = scoringInputFromSegments(segments, { goldenAnswers, questionType }, trajectory);
  const formatReason = input.formatOk ? null : formatFault(segments, trajectory.querySeparator);
  return {
    id: questionId,
    questionType: questionType ?? null,
    answer: input.answer,
    exactMatch: exactMatch(input.answer, goldenAnswers),
    f1: tokenF1(input.answer, goldenAnswers),
    formatOk: input.formatOk,
    formatReason,
    turns: input.searchTurns.length,
    modelCalls: segments.filter(({ kind }) => kind === 'policy').length,
    decomposed: isDecomposed(input.searchTurns, decomposedBy),
    rewards: scoreRollout(rewards, input).components,
    ambiguous: ambiguous ?? null,
  };
}
