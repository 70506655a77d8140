/**
 * Fresh tests: questions drawn after predictions were made and weights frozen. Before the
 * draw, a sample of dev questions takes their place.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readQuestions } from '../../data/flashrag.js';
import { type Question, stratifiedSample } from '../../data/question.js';
import { contentHash, type Provenance } from '../../io/provenance.js';
import { readDraw, type World } from '../../retrieval/small-world.js';

/** Before the draw, one in this many dev questions is used. */
const ONE_OF = 10;

export interface FreshTest {
  /** Names the draw, and the sample before it. */
  name: string;
  /** Folder with its questions and its draw. */
  folder: string;
  /** Prefix of its provenance fields. Default: none. */
  label?: string;
}

const questionsFile = ({ folder }: FreshTest): string => join(folder, 'questions.jsonl');

export async function readFreshTest(
  test: FreshTest,
  { questions }: Pick<World, 'questions'>,
): Promise<Question[]> {
  if (isDrawn(test)) return readQuestions(questionsFile(test));
  const dev = questions.filter(({ split }) => split === 'dev');
  return stratifiedSample(dev, { oneOf: ONE_OF, seed: test.name });
}

/** Whether the questions have been drawn, which happens after the runs have finished. */
export const isDrawn = (test: FreshTest): boolean => existsSync(questionsFile(test));

/** For hashes: everything the questions depend on. */
export const freshTestHash = async (test: FreshTest): Promise<string | { devOneOf: number }> =>
  isDrawn(test) ? contentHash([questionsFile(test)]) : { devOneOf: ONE_OF };

/** For the provenance: the commit that drew the test, or that none has. */
export async function describeFreshTest({ folder, label }: FreshTest): Promise<Provenance> {
  const [questions, drawnFrom] = label
    ? [`${label}Questions`, `${label}TestDrawnFrom`]
    : ['questions', 'testDrawnFrom'];
  const draw = await readDraw(folder);
  return draw === null
    ? { [questions]: 'dev: the fresh test has not been drawn' }
    : { [questions]: 'fresh test', [drawnFrom]: draw.commit };
}
