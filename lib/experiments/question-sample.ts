/** A fixed part of the test questions that holds every kind of them. */
import { group } from 'd3-array';
import { questionShape, type Question } from '../data/question.js';
import { createRandom } from '../random.js';

export interface SampleOptions {
  /** One of so many questions of each benchmark and kind, rounded up. */
  oneOf: number;
  /** The same seed draws the same questions. */
  seed: string;
}

/** One of `oneOf` test questions of each benchmark, shape and size of the graph. */
export function stratifiedSample(questions: readonly Question[], { oneOf, seed }: SampleOptions): Question[] {
  const strata = group(
    questions.filter(({ split }) => split === 'test'),
    ({ metadata: { benchmark, graph = [] } }) => `${benchmark}/${questionShape(graph)}/${graph.length}`,
  );
  return [...strata].flatMap(([stratum, members]) =>
    createRandom(`${seed}/${stratum}`)
      .shuffle(members)
      .slice(0, Math.ceil(members.length / oneOf)),
  );
}
