/** Signs that something went wrong in a trajectory beside a wrong answer. */
import type { QuestionShape } from '../../data/question.js';
import type { ShownTurn } from '../../html/passages.js';

/** Every sign and what it is called on the page. */
export const FAILURE_SIGNS = {
  badFormat: 'Bad format',
  noAnswer: 'No answer',
  budgetReached: 'Budget reached',
  failedRetrieval: 'Failed retrieval',
  decomposedSequential: 'Decomposed a sequential question',
  halfDecomposition: 'Half a decomposition',
} as const;

export type FailureSign = keyof typeof FAILURE_SIGNS;

/** What the signs are read from. */
export interface SignInput {
  formatOk: boolean;
  answer: string | null;
  /** As recorded; `budget` and `length` say that turns or tokens ran out. */
  finish: string | null;
  turns: readonly Pick<ShownTurn, 'results'>[];
  decomposed: boolean;
  shape: QuestionShape | null;
  /** Share of the independent sub-questions that were asked; null where the graph is unknown. */
  coverage: number | null;
}

const RULES: Record<FailureSign, (input: SignInput) => boolean> = {
  badFormat: ({ formatOk }) => !formatOk,
  noAnswer: ({ answer }) => answer === null,
  budgetReached: ({ finish }) => finish === 'budget' || finish === 'length',
  failedRetrieval: ({ turns }) =>
    turns.some(({ results }) => results.some(({ status }) => status === 'failed')),
  decomposedSequential: ({ decomposed, shape }) => decomposed && shape === 'sequential',
  // Several sub-queries at once, but some independent sub-question was never asked, neither then nor later.
  halfDecomposition: ({ decomposed, shape, coverage }) =>
    decomposed && (shape === 'parallelizable' || shape === 'hybrid') && coverage !== null && coverage < 1,
};

/** The signs that a trajectory shows, in the order of `FAILURE_SIGNS`. */
export function failureSigns(input: SignInput): FailureSign[] {
  return (Object.keys(RULES) as FailureSign[]).filter((sign) => RULES[sign](input));
}
