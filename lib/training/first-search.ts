/** The exact probability that a policy starts by deciding to search in parallel. */
import { independentSubQuestions, type Question } from '../data/question.js';
import { describePlan } from '../data/search-plan.js';
import { buildPrompt } from '../text/prompts.js';
import { formatBlock } from '../text/tags.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';
import type { Sequence } from './sequences.js';
import type { Trainer } from './trainer.js';

/** The probability of one first thought, in the words of the demonstrations. */
export interface FirstSearch {
  questionId: string;
  /** The decision only; the wording of the queries that follow is left open. */
  beginning: 'all at once' | 'one by one' | 'in other words';
  metric: 'first_search';
  value: number;
}

const MODES = ['parallel', 'sequential'] as const;

/** The prompt and a first thought, whose tokens have loss mask 1. */
function beginning(
  { question, metadata }: Question,
  mode: (typeof MODES)[number],
  { tokenizer, prompt }: { tokenizer: Tokenizer; prompt: string },
): Sequence {
  const graph = metadata.graph ?? [];
  const asked = tokenizer.encode(buildPrompt(prompt, question, { form: 'short' }));
  const written = tokenizer.encode(formatBlock('think', describePlan(graph, mode)));
  const lossMask = [...asked.map(() => 0), ...written.map(() => 1)];
  return { tokenIds: [...asked, ...written], lossMask };
}

/**
 * Probabilities under the trainer's current policy, three rows per question.
 * @throws Error for a question without independent sub-questions
 */
export async function firstSearches(
  { session }: Pick<Trainer, 'session'>,
  questions: readonly Question[],
  prompt: string = 'parallel',
): Promise<FirstSearch[]> {
  const single = questions.find(
    ({ metadata }) => independentSubQuestions(metadata.graph ?? []).length < 2,
  );
  if (single)
    throw new Error(
      `Expected questions with independent sub-questions, but got ${single.id} with fewer.`,
    );
  const { tokenizer } = session.policy;
  const sequences = questions.flatMap((question) =>
    MODES.map((mode) => beginning(question, mode, { tokenizer, prompt })),
  );
  const logProbs = await session.trained.logProbs(sequences);
  const probabilities = logProbs.map((values) => Math.exp(values.reduce((a, b) => a + b, 0)));
  return questions.flatMap(({ id }, i): FirstSearch[] => {
    const [parallel, sequential] = probabilities.slice(2 * i, 2 * i + 2);
    const row = { questionId: id, metric: 'first_search' } as const;
    return [
      { ...row, beginning: 'all at once', value: parallel },
      { ...row, beginning: 'one by one', value: sequential },
      // Rounding can push the sum beyond 1.
      { ...row, beginning: 'in other words', value: Math.max(0, 1 - parallel - sequential) },
    ];
  });
}
