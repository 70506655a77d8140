/**
 * How likely a policy is to decide to ask for everything at once: exactly, without
 * sampling.
 */
import { independentSubQuestions, type Question } from '../data/question.js';
import { describePlan } from '../data/search-plan.js';
import { buildPrompt } from '../text/prompts.js';
import { printBlock } from '../text/tags.js';
import type { Tokenizer } from '../text/tokenizer.js';
import type { Sequence } from '../training/sequences.js';
import type { Trainer } from '../training/trainer.js';

/**
 * How likely a question is to be begun with one thought, in the words of the
 * demonstrations; other words have the rest.
 */
export interface FirstSearch {
  questionId: string;
  /**
   * Thinking that all are asked "all at once", or "one by one". How the queries are then
   * worded is left open.
   */
  beginning: 'all at once' | 'one by one' | 'in other words';
  metric: 'first_search';
  value: number;
}

const MODES = ['parallel', 'sequential'] as const;

/** The prompt and a first thought, whose tokens alone are masked in. */
function beginning(
  { question, metadata }: Question,
  mode: (typeof MODES)[number],
  { tokenizer, prompt }: { tokenizer: Tokenizer; prompt: string },
): Sequence {
  const graph = metadata.graph ?? [];
  const asked = tokenizer.encode(buildPrompt(prompt, question, { form: 'short' }));
  const written = tokenizer.encode(printBlock('think', describePlan(graph, mode)));
  return {
    tokenIds: [...asked, ...written],
    lossMask: [...asked.map(() => 0), ...written.map(() => 1)],
  };
}

/**
 * The probabilities under the trainer's policy as it is, three rows a question.
 * @throws Error when a question is not parallelizable: there is only one way to begin
 */
export async function firstSearches(
  { loop }: Pick<Trainer, 'loop'>,
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
  const { tokenizer } = loop.policy;
  const sequences = questions.flatMap((question) =>
    MODES.map((mode) => beginning(question, mode, { tokenizer, prompt })),
  );
  const logProbs = await loop.trained.logProbs(sequences);
  const probabilities = logProbs.map((values) => Math.exp(values.reduce((a, b) => a + b, 0)));
  return questions.flatMap(({ id }, i): FirstSearch[] => {
    const [parallel, sequential] = probabilities.slice(2 * i, 2 * i + 2);
    const row = { questionId: id, metric: 'first_search' } as const;
    return [
      { ...row, beginning: 'all at once', value: parallel },
      { ...row, beginning: 'one by one', value: sequential },
      // Rounding may take the sum a little beyond 1.
      { ...row, beginning: 'in other words', value: Math.max(0, 1 - parallel - sequential) },
    ];
  });
}
