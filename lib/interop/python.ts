/**
 * What trainers in Python need of this library: the package in `data/templates/python`,
 * and a test set that shows its rewards are equal.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { createRandom } from '../random.js';
import type { RewardOptions } from '../rewards/parallelsearch.js';
import { rewardsFrom } from '../rewards/presets.js';
import {
  scoreRollout,
  scoringInputFromSegments,
  scoringInputFromTranscript,
} from '../rewards/reward.js';
import { drawRolloutCase } from './rollout-cases.js';
import { drawRewardCases, type RewardCase } from './test-cases.js';

const SEED = 'Python';
/** Drawn rollouts in a test set. */
const NUM_ROLLOUTS = 300;

/**
 * The keywords of `compute_score` in Python. @throws RangeError for rewards that it does
 * not have
 */
export function rewardKeywords({
  rewards,
  ...options
}: RewardOptions): Record<string, number | boolean | string> {
  if (rewards)
    throw new RangeError(
      'Expected the rewards paper, authors-code or search-r1, which Python has, but got others.',
    );
  return {
    lambda_d: options.lambdaD,
    lambda_s: options.lambdaS,
    lambda_f: options.lambdaF,
    alpha: options.alpha,
    search_count_shifted: options.searchCountShifted,
    decomposed_by: options.decomposedBy,
  };
}

/**
 * A line of the test set: what Python is given, and what it has to give, number by
 * number.
 */
function printCase({ response, ...question }: RewardCase, options: RewardOptions): object {
  const rollout =
    typeof response === 'string'
      ? scoringInputFromTranscript(response, question)
      : scoringInputFromSegments(response, question);
  const { total: score, ...parts } = scoreRollout(rewardsFrom(options), rollout).components;
  return {
    ...(typeof response === 'string'
      ? { solution_str: response }
      : { segments: response.map(({ kind, text }) => [kind, text]) }),
    ground_truth: { target: question.goldenAnswers, shape: question.questionType ?? null },
    expected: { score, ...parts },
  };
}

/**
 * Lines of JSON: the weights, then recorded cases and `numDrawn` drawn ones with their
 * rewards. JSON's numbers are the shortest that give the same double again.
 */
export function printRewardTest(
  options: RewardOptions,
  { numDrawn, recorded = [] }: { numDrawn: number; recorded?: readonly RewardCase[] },
): string {
  const cases = [...recorded, ...drawRewardCases(createRandom(SEED), numDrawn)];
  const lines = [
    { reward_kwargs: rewardKeywords(options) },
    ...cases.map((one) => printCase(one, options)),
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/**
 * Lines of JSON: drawn rollouts, as Python is given them and as they have to come out.
 */
async function printRolloutTest(numDrawn: number): Promise<string> {
  const random = createRandom(SEED);
  const lines: string[] = [];
  for (let i = 0; i < numDrawn; i++)
    lines.push(JSON.stringify(await drawRolloutCase(random.fork(i))));
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Writes the Python package and its tests into a folder. @param rewardTest of
 * {@link printRewardTest}
 */
export async function writePython(folder: string, rewardTest: string): Promise<void> {
  const template = packagePath('data', 'templates', 'python');
  const filter = (file: string): boolean => !file.includes('__pycache__');
  await cp(path.join(template, 'parallelsearch'), path.join(folder, 'parallelsearch'), {
    recursive: true,
    filter,
  });
  const inTests = (name: string): string => path.join(folder, 'tests', name);
  for (const name of ['test_rewards.py', 'test_rollout.py'])
    await cp(path.join(template, name), inTests(name));
  await writeFileSafely(inTests('rewards.jsonl'), rewardTest);
  await writeFileSafely(inTests('rollouts.jsonl'), await printRolloutTest(NUM_ROLLOUTS));
}
