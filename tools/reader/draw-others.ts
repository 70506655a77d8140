/**
 * Draws the test on the other benchmarks from the hash of the commit with its predictions
 * and both editions' weights, so that nobody can have chosen the questions.
 */
import { group } from 'd3-array';
import type { Question } from '../../lib/data/question.js';
import { OTHERS_TEST, testFile } from '../../lib/experiments/real-model/answering.js';
import { loadRealWorld } from '../../lib/experiments/real-model/settings.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { createRandom } from '../../lib/random.js';
import { frozenCommit } from '../small-world/draw-test.js';

const BENCHMARKS = ['nq', 'triviaqa', 'popqa', 'musique', 'multihoprag'];
const NUM_PER_BENCHMARK = 50;
/** Folders of weights and predictions, which must not change before the draw. */
const FROZEN = ['data/reader', 'data/real-model'];

/** Ids of a sample of each benchmark. @param fresh questions that no edition has asked */
export function drawOthers(commit: string, fresh: readonly Question[]): string[] {
  const random = createRandom(`other benchmarks ${commit}`);
  const byBenchmark = group(fresh, ({ metadata }) => metadata.benchmark!);
  return BENCHMARKS.flatMap((name) =>
    random
      .fork(name)
      .shuffle(byBenchmark.get(name) ?? [])
      .slice(0, NUM_PER_BENCHMARK)
      .map(({ id }) => id),
  );
}

/**
 * Writes the test; returns the number of questions.
 * @throws Error if weights or predictions have changed since the commit
 */
export async function writeOthers(name: string): Promise<number> {
  const commit = frozenCommit(name, FROZEN);
  const { fresh } = await loadRealWorld();
  const questions = drawOthers(commit, fresh);
  await writeFileSafely(
    testFile(OTHERS_TEST),
    `${JSON.stringify({ drawnFrom: commit, questions }, null, 2)}\n`,
  );
  return questions.length;
}
