import { z } from 'zod';
import { graphQuestionType, type Question } from '../data/question.js';
import type { Random } from '../random.js';

const share = z.number().min(0).max(1);

/**
 * Shares of question types in training, normalised to a sum of 1. Presets have no
 * hybrids, since HotpotQA has none. Types are known from dependency graphs: unless every
 * question has one, questions are drawn uniformly, as in the authors' code.
 */
export const questionMixSchema = z.strictObject({
  singleHop: share,
  sequential: share,
  /** Comparisons of 2, 3, 4 and 5 entities. */
  comparisons: z.tuple([share, share, share, share]),
  /** Default: none. */
  hybrid: share.optional(),
});

/** Draws questions by `mix`, or uniformly unless every question has a graph. */
export function createQuestionSampler(
  questions: readonly Question[],
  mix: z.infer<typeof questionMixSchema>,
): (random: Random, count: number) => Question[] {
  if (questions.length === 0) throw new Error('Expected training questions, but got none.');
  if (!questions.every(({ metadata }) => metadata.graph?.length))
    return (random, count) => Array.from({ length: count }, () => random.choice(questions));
  const where = (test: (type: string, size: number) => boolean): Question[] =>
    questions.filter(({ metadata: { graph = [] } }) =>
      test(graphQuestionType(graph), graph.length),
    );
  const groups = [
    { weight: mix.singleHop, pool: where((type) => type === 'single_hop') },
    { weight: mix.sequential, pool: where((type) => type === 'sequential') },
    { weight: mix.hybrid ?? 0, pool: where((type) => type === 'hybrid') },
    ...mix.comparisons.map((weight, i) => ({
      weight,
      pool: where((type, size) => type === 'parallelizable' && size === i + 2),
    })),
  ].filter(({ weight, pool }) => weight > 0 && pool.length > 0);
  if (groups.length === 0)
    throw new Error(
      'Expected training questions of the types in `mix`, but got none. Change `mix`.',
    );
  const total = groups.reduce((sum, { weight }) => sum + weight, 0);
  return (random, count) =>
    Array.from({ length: count }, () => {
      let left = random.uniform() * total;
      return random.choice((groups.find(({ weight }) => (left -= weight) < 0) ?? groups[0]).pool);
    });
}
