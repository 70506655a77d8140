/**
 * Draws the test questions, about things that no other question is about. The seed is the
 * hash of the commit that froze the weights, so nobody can have seen the questions
 * before. When weights change, they are drawn again.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { formatQuestions, loadQuestions, readQuestions } from '../../lib/data/flashrag.js';
import type { Question } from '../../lib/data/question.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { CONDITIONS, packagePath } from '../../lib/io/paths.js';
import { createRandom } from '../../lib/random.js';
import { DRAW_FILE, type TestDraw } from '../../lib/retrieval/small-world.js';
import {
  CONDITIONS_COUNTS,
  drawQuestions,
  HYBRIDS_COUNTS,
  PASSAGES_COUNTS,
  TEST_COUNTS,
} from './benchmarks.js';
import { smallWorld, formatCard } from './build.js';

/** Folders that must not change after the commit. */
const FROZEN = ['data/checkpoints', 'tools/small-world'];
/** The predictions for the fresh test of conditions. */
const PREDICTIONS = 'data/conditions/predictions.json';

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: packagePath(), encoding: 'utf8' }).trim();

/** The test questions of a commit: the same for everyone who has its hash. */
export const drawTest = (commit: string): Question[] =>
  drawQuestions(
    smallWorld().things,
    { split: 'kept', name: 'test', counts: TEST_COUNTS },
    createRandom(`test ${commit}`),
  );

/**
 * The full hash of a commit whose frozen files equal the working tree's.
 * @throws Error naming what has changed since
 */
export function frozenCommit(name: string, frozen: readonly string[] = FROZEN): string {
  const commit = git('rev-parse', `${name}^{commit}`);
  const changed = git('diff', '--name-only', commit, '--', ...frozen);
  if (changed)
    throw new Error(
      `Expected nothing to have changed since ${commit.slice(0, 7)}, but these files have: ${changed.split('\n').slice(0, 3).join(', ')}. Commit them, and draw from that commit.`,
    );
  return commit;
}

/** Draws the test questions of a commit into a folder; returns their number. */
export async function writeTest(name: string, folder: string): Promise<number> {
  const draw: TestDraw = { commit: frozenCommit(name), counts: TEST_COUNTS };
  const file = join(folder, 'questions.jsonl');
  const others = (await readQuestions(file)).filter(({ split }) => split !== 'test');
  const test = drawTest(draw.commit);
  const questions = [...others, ...test];
  await writeFileSafely(file, formatQuestions(questions));
  await writeFileSafely(join(folder, 'README.md'), formatCard(smallWorld(), questions));
  await writeFileSafely(join(folder, DRAW_FILE), `${JSON.stringify(draw, null, 2)}\n`);
  return test.length;
}

/**
 * The fresh tests, in the order of their draws: of limits, of runs from hasty models, two
 * with many hybrids, of runs with other rewards, of passages with near misses (after few
 * RL steps, then after more), of two RL seeds, of less information per turn, and of
 * passages without near misses.
 */
const FRESH_TESTS = {
  conditions: { folder: CONDITIONS, counts: CONDITIONS_COUNTS },
  habit: { folder: join(CONDITIONS, 'habit'), counts: CONDITIONS_COUNTS },
  hybrids: { folder: join(CONDITIONS, 'hybrids'), counts: HYBRIDS_COUNTS },
  paired: { folder: join(CONDITIONS, 'paired'), counts: HYBRIDS_COUNTS },
  'which-reward': { folder: join(CONDITIONS, 'rewards'), counts: CONDITIONS_COUNTS },
  passages: { folder: join(CONDITIONS, 'passages'), counts: PASSAGES_COUNTS },
  'passages-200': { folder: join(CONDITIONS, 'passages-200'), counts: PASSAGES_COUNTS },
  'habit-seeds': { folder: join(CONDITIONS, 'habit-seeds'), counts: CONDITIONS_COUNTS },
  cut: { folder: join(CONDITIONS, 'cut'), counts: CONDITIONS_COUNTS },
  'drawn-passages': { folder: join(CONDITIONS, 'drawn-passages'), counts: PASSAGES_COUNTS },
};
export type FreshTestName = keyof typeof FRESH_TESTS;
export const FRESH_TEST_NAMES = Object.keys(FRESH_TESTS) as FreshTestName[];

/** A fresh test: about the same things as the main test, without earlier questions. */
export function drawConditions(
  commit: string,
  earlier: readonly Question[],
  test: FreshTestName = 'conditions',
): Question[] {
  const except = earlier.map(({ question }) => question);
  const options = { split: 'kept', name: test, counts: FRESH_TESTS[test].counts, except } as const;
  return drawQuestions(smallWorld().things, options, createRandom(`${test} ${commit}`));
}

/** Questions of the main test, and of the fresh tests before the given one. */
export async function earlierQuestions(test: FreshTestName): Promise<Question[]> {
  const main = (await loadQuestions()).filter(({ split }) => split === 'test');
  const before = FRESH_TEST_NAMES.slice(0, FRESH_TEST_NAMES.indexOf(test));
  const fresh = before.map((name) =>
    readQuestions(join(FRESH_TESTS[name].folder, 'questions.jsonl')),
  );
  return [...main, ...(await Promise.all(fresh)).flat()];
}

/**
 * Draws a fresh test from the commit that made the predictions and froze the weights;
 * returns its size.
 * @throws Error if the predictions or the weights have changed since
 */
export async function writeConditions(name: string, test: FreshTestName): Promise<number> {
  const commit = frozenCommit(name, [...FROZEN, PREDICTIONS]);
  const { folder, counts } = FRESH_TESTS[test];
  const draw: TestDraw = { commit, counts };
  const questions = drawConditions(commit, await earlierQuestions(test), test);
  await writeFileSafely(join(folder, 'questions.jsonl'), formatQuestions(questions));
  await writeFileSafely(join(folder, DRAW_FILE), `${JSON.stringify(draw, null, 2)}\n`);
  return questions.length;
}
