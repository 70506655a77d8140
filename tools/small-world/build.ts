/**
 * Writes the small world's passages, training and dev questions and card. The same code
 * gives the same files.
 */
import { join } from 'node:path';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { createRandom } from '../../lib/random.js';
import { DEV_COUNTS, drawQuestions, TRAIN_COUNTS } from './benchmarks.js';
import { formatCard } from './card.js';
import { makeWorld, type World } from './world.js';

const SEED = 'small world, second edition';
/** About 10,000, 4,000 and 10,000 passages. */
const SIZES = { train: 100, dev: 40, kept: 100 };

/** The small world, made from its seed. */
export const smallWorld = (): World => makeWorld(createRandom(SEED), SIZES);

/** Writes the small world into a folder. */
export async function writeSmallWorld(folder: string): Promise<void> {
  const world = smallWorld();
  const { things, passages } = world;
  const random = createRandom(SEED).fork('questions');
  const questions = [
    ...drawQuestions(things, { split: 'train', name: 'train', counts: TRAIN_COUNTS }, random),
    ...drawQuestions(things, { split: 'dev', name: 'dev', counts: DEV_COUNTS }, random),
  ];
  await writeFileSafely(join(folder, 'passages.jsonl'), formatPassages(passages));
  await writeFileSafely(join(folder, 'questions.jsonl'), formatQuestions(questions));
  await writeFileSafely(join(folder, 'README.md'), formatCard(world, questions));
}
