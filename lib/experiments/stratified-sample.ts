/** Samples of evaluated questions. */
import { group } from 'd3-array';
import { type Question, evaluatedQuestions, graphQuestionType } from '../data/question.js';
import { createRandom } from '../random.js';

export interface SampleOptions {
  /** Draws every n-th question of each stratum, rounded up. */
  oneOf: number;
  /** The same seed draws the same questions. */
  seed: string;
}

/** Samples evaluated questions by benchmark, question type and size of the graph. */
export function stratifiedSample(
  questions: readonly Question[],
  { oneOf, seed }: SampleOptions,
): Question[] {
  const strata = group(
    evaluatedQuestions(questions),
    ({ metadata: { benchmark, graph = [] } }) =>
      `${benchmark}/${graphQuestionType(graph)}/${graph.length}`,
  );
  return [...strata].flatMap(([stratum, members]) =>
    createRandom(`${seed}/${stratum}`)
      .shuffle(members)
      .slice(0, Math.ceil(members.length / oneOf)),
  );
}
