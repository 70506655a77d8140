/** From a trajectory, or from a recorded response, to what the rewards look at. */
import { questionShape, type Question, type QuestionShape } from '../data/question.js';
import { shapeOfType } from '../rollout/recorded.js';
import type { SearchTurn, Trajectory } from '../rollout/trajectory.js';
import {
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
  type TextSegment,
} from '../text/response.js';

/** A finished rollout as rewards see it: all of it, and the truth about its question. */
export interface Rollout {
  /** What the policy answered, or null. */
  answer: string | null;
  goldenAnswers: readonly string[];
  formatOk: boolean;
  /** The sub-queries of each executed search turn. */
  searchTurns: readonly (readonly string[])[];
  /** Undefined where unknown. */
  shape: QuestionShape | undefined;
  /**
   * All that was written, and the search turns with the passages that each brought, where
   * they were recorded.
   */
  trajectory: { segments: readonly TextSegment[]; searchTurns: readonly SearchTurn[] };
  /** With its text and its dependency graph; undefined where unknown. */
  question: Question | undefined;
}

/**
 * What is known of a question beside its text, its shape only sometimes; ground truth,
 * for rewards and evaluation only.
 */
type RewardQuestion = Pick<Rollout, 'goldenAnswers'> & Partial<Pick<Rollout, 'shape'>>;

/**
 * What the rewards see of segments. Answer and sub-queries are read from policy
 * segments only; a search turn counts when it was executed, that is, when an information
 * segment follows (a search in the last generation, which Algorithm 1 doesn't execute, is
 * none).
 */
export function rolloutFromSegments(
  segments: readonly TextSegment[],
  { goldenAnswers, shape }: RewardQuestion,
  searchTurns?: readonly SearchTurn[] | null,
): Rollout {
  const searches = executedSearches(segments);
  return {
    answer: finalAnswer(segments),
    goldenAnswers,
    formatOk: formatFault(segments) === null,
    searchTurns: searches,
    shape,
    trajectory: {
      segments,
      searchTurns: searchTurns ?? searches.map((queries) => ({ queries, results: [] })),
    },
    question: undefined,
  };
}

/**
 * The shape of a question: computed from its graph, else what its benchmark's `type`
 * stands for, as the authors' code decides what is parallelizable; undefined where
 * neither tells it.
 */
export function shapeOf({
  metadata: { graph, type },
}: Pick<Question, 'metadata'>): QuestionShape | undefined {
  return graph?.length ? questionShape(graph) : shapeOfType(type ?? '');
}

/** What the rewards see of a trajectory of this project. */
export function rolloutFromTrajectory(
  { segments, searchTurns }: Pick<Trajectory, 'segments' | 'searchTurns'>,
  question: Question,
): Rollout {
  const known = { goldenAnswers: question.goldenAnswers, shape: shapeOf(question) };
  return { ...rolloutFromSegments(segments, known, searchTurns), question };
}

/**
 * What the rewards see of a recorded response without its prompt, such as another
 * project's.
 */
export function rolloutFromTranscript(response: string, question: RewardQuestion): Rollout {
  return rolloutFromSegments(splitTranscript(response), question);
}
