/** Rewards by name, each with its source. */
import { z } from 'zod';
import { tokenF1 } from '../text/answer-match.js';
import { otc } from './otc.js';
import {
  decomposition,
  format,
  outcome,
  searchCount,
  type RewardOptions,
} from './parallelsearch.js';
import type { Reward } from './reward.js';
import { stepSearch } from './stepsearch.js';

export const REWARD_PRESET_NAMES = [
  'paper',
  'authors-code',
  'search-r1',
  'search-r1-format',
  'otc-grpo',
  'otc-ppo',
  'stepsearch',
  'f1',
] as const;
export type RewardPresetName = (typeof REWARD_PRESET_NAMES)[number];

const weight = z.number().min(0).optional();

/** Rewards in a configuration: a preset, and weights that override the preset's. */
export const rewardsSchema = z.strictObject({
  preset: z.enum(REWARD_PRESET_NAMES),
  lambdaD: weight,
  lambdaS: weight,
  lambdaF: weight,
  alpha: z.number().positive().optional(),
});

const PAPER: RewardOptions = {
  lambdaD: 0.15,
  lambdaS: 0.35,
  lambdaF: 0.1,
  alpha: 3,
  searchCountShifted: false,
  decomposedBy: 'any',
  parallelizableTypes: ['parallelizable'],
};

const OUTCOME_ONLY: RewardOptions = { ...PAPER, lambdaD: 0, lambdaS: 0, lambdaF: 0 };

/**
 * ZeroSearch (Sun et al. 2025, arXiv 2505.04588): F1 of the answer alone, because exact
 * match leads to ever longer answers.
 */
const f1 = (): Reward[] => [
  { ...outcome(), weight: 0 },
  { name: 'answer_f1', score: ({ answer, goldenAnswers }) => tokenF1(answer, goldenAnswers) },
];

/** The options of each preset, and their source. */
export const REWARD_PRESETS: Readonly<
  Record<RewardPresetName, Readonly<{ source: string; options: RewardOptions }>>
> = {
  paper: {
    source:
      'ParallelSearch (arXiv 2508.09303), Eq. 3 to 7 with lambda_d = 0.15 and lambda_s = 0.35; the paper gives no values for ' +
      "lambda_f = 0.1 and alpha = 3, which are those of the authors' code.",
    options: PAPER,
  },
  'authors-code': {
    source:
      "ParallelSearch, the authors' public code: r_s = lambda_s - lambda_s * |...|, and decomposed means that the first " +
      'search turn holds two or more sub-queries; the rest as Eq. 3 to 7.',
    options: { ...PAPER, searchCountShifted: true, decomposedBy: 'first-turn' },
  },
  'search-r1': {
    source:
      'Search-R1 (arXiv 2503.09516), the outcome reward only: exact match of the final answer, no format reward.',
    options: OUTCOME_ONLY,
  },
  'search-r1-format': {
    source:
      "Search-R1's format reward (Jin et al. 2025, arXiv 2505.15117): the outcome reward and Eq. 6 with lambda_f = 0.2; a wrong " +
      "answer in a wrong format gets 0.1. The values are those of the authors' script (v0.3).",
    options: { ...OUTCOME_ONLY, lambdaF: 0.2, finalFormatScore: 0.1 },
  },
  'otc-grpo': {
    source:
      'OTC (arXiv 2504.14870), GRPO form: correct answers by their search turns, relative to the fewest of a correct one.',
    options: { ...OUTCOME_ONLY, rewards: () => otc('grpo') },
  },
  'otc-ppo': {
    source: 'OTC (arXiv 2504.14870), PPO form: correct answers by their search turns.',
    options: { ...OUTCOME_ONLY, rewards: () => otc('ppo') },
  },
  stepsearch: {
    source:
      'StepSearch (arXiv 2505.15107): F1 and key words for the whole, information gain minus redundancy for each search turn.',
    options: { ...OUTCOME_ONLY, rewards: stepSearch },
  },
  f1: {
    source: 'ZeroSearch (arXiv 2505.04588), the outcome reward only: F1 of the final answer.',
    options: { ...OUTCOME_ONLY, rewards: f1 },
  },
};

/**
 * A preset's options with overrides.
 * @throws RangeError for an unknown name or a weight that is negative or not finite
 */
export function rewardOptions(
  name: string = 'paper',
  overrides: Partial<RewardOptions> = {},
): RewardOptions {
  if (!Object.hasOwn(REWARD_PRESETS, name)) {
    throw new RangeError(
      `Expected a reward preset of ${REWARD_PRESET_NAMES.join(', ')}, but got ${name}.`,
    );
  }
  const preset = REWARD_PRESETS[name as RewardPresetName].options;
  if (preset.rewards && Object.keys(overrides).length > 0)
    throw new RangeError(
      `Expected no weights with the preset ${name}, but got ${Object.keys(overrides).join(', ')}. Use the preset paper.`,
    );
  const options = { ...preset, ...overrides };
  for (const weight of ['lambdaD', 'lambdaS', 'lambdaF', 'alpha'] as const) {
    if (!Number.isFinite(options[weight]) || options[weight] < 0)
      throw new RangeError(
        `Expected ${weight} to be a number >= 0, but got ${String(options[weight])}.`,
      );
  }
  return options;
}

/** Eq. 3 to 6 with these constants, or another paper's rewards. */
export const createRewards = (options: RewardOptions): Reward[] =>
  options.rewards?.() ?? [outcome(), decomposition(options), searchCount(options), format(options)];

/**
 * The rewards of a preset, a plain list: `[...presetRewards('paper'), myReward]`.
 * @throws RangeError for an unknown name or a weight that is negative or not finite
 */
export const presetRewards = (name?: string, overrides?: Partial<RewardOptions>): Reward[] =>
  createRewards(rewardOptions(name, overrides));
