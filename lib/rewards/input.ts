/** From a trajectory, or from a recorded response, to what the rewards look at. */
import type { QuestionShape } from '../data/question.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { checkTrajectoryFormat, splitTranscript, type TextSegment } from '../text/format.js';
import { executedSearches, finalAnswer } from '../text/turns.js';
import type { RewardInput } from './total.js';

/** What is known of a question beside its text; ground truth, for rewards and evaluation only. */
export interface RewardQuestion {
  goldenAnswers: readonly string[];
  /** Undefined or left out where unknown. */
  shape?: QuestionShape | undefined;
}

/**
 * What the rewards see of a trajectory. Answer and sub-queries are read from policy segments only; a search
 * turn counts when it was executed, that is, when an information segment follows (a search in the last
 * generation, which Algorithm 1 doesn't execute, is none).
 */
export function rewardInputFromSegments(
  segments: readonly TextSegment[],
  question: RewardQuestion,
): RewardInput {
  return {
    answer: finalAnswer(segments),
    goldenAnswers: question.goldenAnswers,
    formatOk: checkTrajectoryFormat(segments).ok,
    searchTurns: executedSearches(segments),
    shape: question.shape,
  };
}

/** The same for this project's trajectories. */
export function rewardInputFromTrajectory(
  trajectory: Pick<Trajectory, 'segments'>,
  question: RewardQuestion,
): RewardInput {
  return rewardInputFromSegments(trajectory.segments, question);
}

/** The same for a recorded response without its prompt, such as another project's. */
export function rewardInputFromTranscript(response: string, question: RewardQuestion): RewardInput {
  return rewardInputFromSegments(splitTranscript(response), question);
}
