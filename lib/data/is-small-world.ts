/** Whether a data set is the small world, which the small world's models know. */
import { resolve } from 'node:path';
import { openFile, readLines } from '../io/files.js';
import { SMALL_WORLD } from '../io/paths.js';
import {
  dataSetFiles,
  loadPassages,
  loadQuestions,
  parsePassages,
  parseQuestions,
} from './flashrag.js';

/** Of a data set's passages, enough to recognise the small world. */
const NUM_SAMPLED = 100;

async function firstLines(file: string): Promise<string> {
  const stream = await openFile(file);
  const lines: string[] = [];
  for await (const { text } of readLines(stream)) if (lines.push(text) >= NUM_SAMPLED) break;
  stream.destroy();
  return lines.join('\n');
}

/**
 * Whether most of a folder's first passages, or questions if it has no passages, are the
 * small world's. Without a folder it is the small world.
 * @throws Error for a folder with neither
 */
export async function isSmallWorld(folder?: string): Promise<boolean> {
  if (folder === undefined || resolve(folder) === resolve(SMALL_WORLD)) return true;
  const { passages, questions } = dataSetFiles(folder);
  // Names what is missing.
  if (passages === undefined && questions.length === 0) await loadPassages(folder);
  const [sample, known] =
    passages === undefined
      ? [
          parseQuestions(await firstLines(questions[0]), questions[0], () => {}),
          (await loadQuestions()).map(({ question }) => question),
        ]
      : [
          parsePassages(await firstLines(passages), passages, () => {}),
          (await loadPassages()).map(({ contents }) => contents),
        ];
  const texts = new Set(known);
  const numKnown = sample.filter((item) =>
    texts.has('contents' in item ? item.contents : item.question),
  ).length;
  return numKnown > sample.length / 2;
}
