/** Signs that something went wrong in a trajectory beside a wrong answer. */
import type { ShownTurn } from '../../html/passages.js';
import type { TranscriptScore } from '../../rewards/score.js';

/** What the signs are read from. */
export interface SignInput extends Pick<
  TranscriptScore,
  'formatOk' | 'answer' | 'decomposed' | 'shape'
> {
  /** As recorded; `budget` and `length` say that turns or tokens ran out. */
  finish: string | null;
  turns: readonly Pick<ShownTurn, 'results'>[];
  /**
   * Share of the independent sub-questions that were asked; null where the graph is
   * unknown.
   */
  coverage: number | null;
  /** Why a plain transcript does not tell who wrote what. */
  ambiguous?: string | null;
}

/** Every sign: what it is called on the page, and when a trajectory shows it. */
export const FAILURE_SIGNS = {
  ambiguous: {
    title: 'Ambiguous, so that its scores are a guess',
    isShown: ({ ambiguous }) => Boolean(ambiguous),
  },
  badFormat: { title: 'Bad format', isShown: ({ formatOk }) => !formatOk },
  noAnswer: { title: 'No answer', isShown: ({ answer }) => answer === null },
  budgetReached: {
    title: 'Budget reached',
    isShown: ({ finish }) => finish === 'budget' || finish === 'length',
  },
  failedRetrieval: {
    title: 'Failed retrieval',
    isShown: ({ turns }) =>
      turns.some(({ results }) => results.some(({ status }) => status === 'failed')),
  },
  decomposedSequential: {
    title: 'Decomposed a sequential question',
    isShown: ({ decomposed, shape }) => decomposed && shape === 'sequential',
  },
  // Several sub-queries at once, but some independent sub-question was never asked,
  // neither then nor later.
  halfDecomposition: {
    title: 'Half a decomposition',
    isShown: ({ decomposed, shape, coverage }) =>
      decomposed && (shape === 'parallelizable' || shape === 'hybrid') && (coverage ?? 1) < 1,
  },
} satisfies Record<string, { title: string; isShown: (input: SignInput) => boolean }>;

export type FailureSign = keyof typeof FAILURE_SIGNS;

/** The signs that a trajectory shows, in the order of `FAILURE_SIGNS`. */
export function failureSigns(input: SignInput): FailureSign[] {
  return (Object.keys(FAILURE_SIGNS) as FailureSign[]).filter((sign) =>
    FAILURE_SIGNS[sign].isShown(input),
  );
}
