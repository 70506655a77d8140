/** Named lists of rewards, each with the sentence it follows. */
import { z } from 'zod';
import { decomposition } from './decomposition.js';
import { f1 } from './f1.js';
import { format } from './format.js';
import type { RewardOptions } from './options.js';
import { otc } from './otc.js';
import { outcome } from './outcome.js';
import type { Reward } from './reward.js';
import { searchCount } from './search-count.js';
import { stepSearch } from './stepsearch.js';

export const REWARD_PRESET_NAMES = [
  ...(['paper', 'authors-code', 'search-r1'] as const),
  // Other papers', in place of Eq. 3 to 7.
  ...(['otc-grpo', 'otc-ppo', 'stepsearch', 'f1'] as const),
] as const;
export type RewardPresetName = (typeof REWARD_PRESET_NAMES)[number];

const weight = z.number().min(0).optional();

/**
 * Rewards as a configuration names them: a preset, and weights in place of the preset's.
 */
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
  parallelizableShapes: ['parallelizable'],
};

const OUTCOME_ONLY: RewardOptions = { ...PAPER, lambdaD: 0, lambdaS: 0, lambdaF: 0 };

/** The constants of each preset, and what they follow. */
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
  'otc-grpo': {
    source:
      'OTC (arXiv 2504.14870), GRPO form: right answers by their search turns, relative to the fewest of a right one.',
    options: { ...OUTCOME_ONLY, rewards: () => otc('grpo') },
  },
  'otc-ppo': {
    source: 'OTC (arXiv 2504.14870), PPO form: right answers by their search turns.',
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
 * A copy of a preset's options, with `overrides` put over it; throws for an unknown name
 * or a weight that does not fit.
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
      `Expected no weights beside the rewards ${name}, but got ${Object.keys(overrides).join(', ')}. They belong to the preset paper.`,
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

/**
 * Eq. 3 to 6 with their constants, whose sum is Eq. 7, or the rewards of another paper.
 */
export const rewardsFrom = (options: RewardOptions): Reward[] =>
  options.rewards?.() ?? [outcome(), decomposition(options), searchCount(options), format(options)];

/**
 * The rewards of a preset. One's own join them in a list: `[...rewardsOf('paper'), own]`.
 * @param overrides put over the preset's options
 * @throws RangeError for an unknown name or a weight that is negative or no number
 */
export const rewardsOf = (name?: string, overrides?: Partial<RewardOptions>): Reward[] =>
  rewardsFrom(rewardOptions(name, overrides));
