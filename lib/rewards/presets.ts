/** Reward presets by name, each with its source. */
import { z } from 'zod';
import { tokenF1 } from '../text/answer-match.js';
import { otc } from './otc.js';
import {
  decomposition,
  format,
  outcome,
  searchCount,
  type RewardConstants,
} from './parallelsearch.js';
import type { Reward } from './reward.js';
import { stepSearch } from './stepsearch.js';

const PAPER: RewardConstants = {
  lambdaD: 0.15,
  lambdaS: 0.35,
  lambdaF: 0.1,
  alpha: 3,
  searchCountShifted: false,
  decomposedBy: 'any',
  parallelizableTypes: ['parallelizable'],
};

const OUTCOME_ONLY: RewardConstants = { ...PAPER, lambdaD: 0, lambdaS: 0, lambdaF: 0 };

/** ZeroSearch (arXiv 2505.04588): F1 alone; exact match led to longer answers. */
const f1 = (): Reward[] => [
  { ...outcome(), weight: 0 },
  { name: 'answer_f1', score: ({ answer, goldenAnswers }) => tokenF1(answer, goldenAnswers) },
];

/** Constants of Eq. 3 to 6, or the rewards of another paper. */
type RewardPreset = { readonly source: string } & (
  | { readonly constants: RewardConstants }
  | { readonly rewards: () => Reward[] }
);

const PRESETS = {
  paper: {
    source:
      'ParallelSearch (arXiv 2508.09303), Eq. 3 to 7 with lambda_d = 0.15 and lambda_s = 0.35; the paper gives no values for ' +
      "lambda_f = 0.1 and alpha = 3, which are those of the authors' code.",
    constants: PAPER,
  },
  'authors-code': {
    source:
      "ParallelSearch, the authors' public code: r_s = lambda_s - lambda_s * |...|, and decomposed means that the first " +
      'search turn holds two or more sub-queries; the rest as Eq. 3 to 7.',
    constants: { ...PAPER, searchCountShifted: true, decomposedBy: 'first-turn' },
  },
  'search-r1': {
    source:
      'Search-R1 (arXiv 2503.09516), the outcome reward only: exact match of the final answer, no format reward.',
    constants: OUTCOME_ONLY,
  },
  'search-r1-format': {
    source:
      "Search-R1's format reward (Jin et al. 2025, arXiv 2505.15117): the outcome reward and Eq. 6 with lambda_f = 0.2; a wrong " +
      "answer in a wrong format gets 0.1. The values are those of the authors' script (v0.3).",
    constants: { ...OUTCOME_ONLY, lambdaF: 0.2, finalFormatScore: 0.1 },
  },
  'otc-grpo': {
    source:
      'OTC (arXiv 2504.14870), GRPO form: correct answers by their search turns, relative to the fewest of a correct one.',
    rewards: () => otc('grpo'),
  },
  'otc-ppo': {
    source: 'OTC (arXiv 2504.14870), PPO form: correct answers by their search turns.',
    rewards: () => otc('ppo'),
  },
  stepsearch: {
    source:
      'StepSearch (arXiv 2505.15107): F1 and key words for the whole, information gain minus redundancy for each search turn.',
    rewards: stepSearch,
  },
  f1: {
    source: 'ZeroSearch (arXiv 2505.04588), the outcome reward only: F1 of the final answer.',
    rewards: f1,
  },
} satisfies Record<string, RewardPreset>;

export type RewardPresetName = keyof typeof PRESETS;
export const REWARD_PRESET_NAMES = Object.keys(PRESETS) as RewardPresetName[];
export const REWARD_PRESETS: Readonly<Record<RewardPresetName, RewardPreset>> = PRESETS;

const weight = z.number().min(0).optional();

/** Schema of the rewards in a configuration: a preset, and weights that override it. */
export const rewardsSchema = z.strictObject({
  preset: z.enum(REWARD_PRESET_NAMES),
  lambdaD: weight,
  lambdaS: weight,
  lambdaF: weight,
  alpha: z.number().positive().optional(),
});

/** The presets of Eq. 3 to 6; the others are rewards of other papers. */
export const CONSTANT_PRESET_NAMES: readonly RewardPresetName[] = REWARD_PRESET_NAMES.filter(
  (name) => 'constants' in REWARD_PRESETS[name],
);

function findPreset(name: string): RewardPreset {
  if (Object.hasOwn(REWARD_PRESETS, name)) return REWARD_PRESETS[name as RewardPresetName];
  throw new RangeError(
    `Expected a reward preset of ${REWARD_PRESET_NAMES.join(', ')}, but got ${name}.`,
  );
}

/**
 * The constants of a preset of Eq. 3 to 6, with overrides.
 * @throws RangeError for an unknown name, a preset without constants, or a weight that is
 * negative or not finite
 */
export function rewardConstants(
  name: string = 'paper',
  overrides: Partial<RewardConstants> = {},
): RewardConstants {
  const preset = findPreset(name);
  if (!('constants' in preset))
    throw new RangeError(
      `Expected one of the rewards ${CONSTANT_PRESET_NAMES.join(', ')}, which have weights, but got ${name}.`,
    );
  const constants = { ...preset.constants, ...overrides };
  for (const weight of ['lambdaD', 'lambdaS', 'lambdaF', 'alpha'] as const) {
    if (!Number.isFinite(constants[weight]) || constants[weight] < 0)
      throw new RangeError(
        `Expected ${weight} to be a number >= 0, but got ${String(constants[weight])}.`,
      );
  }
  return constants;
}

/** Creates the rewards of Eq. 3 to 6 from their constants. */
export const createRewards = (constants: RewardConstants): Reward[] => [
  outcome(),
  decomposition(constants),
  searchCount(constants),
  format(constants),
];

/**
 * The rewards of a preset as a plain list: `[...presetRewards('paper'), myReward]`.
 * @throws RangeError for an unknown name, a weight that is negative or not finite, or
 * weights for a preset that has none
 */
export function presetRewards(
  name: string = 'paper',
  overrides: Partial<RewardConstants> = {},
): Reward[] {
  const preset = findPreset(name);
  if ('constants' in preset) return createRewards(rewardConstants(name, overrides));
  const given = Object.keys(overrides);
  if (given.length > 0)
    throw new RangeError(
      `Expected no weights with the preset ${name}, but got ${given.join(', ')}. Use the preset paper.`,
    );
  return preset.rewards();
}

/** Whether any reward of the preset depends on the question type. */
export function readsQuestionTypes(name: string, overrides?: Partial<RewardConstants>): boolean {
  if (!('constants' in findPreset(name))) return false;
  const { lambdaD, lambdaS } = rewardConstants(name, overrides);
  return lambdaD > 0 || lambdaS > 0;
}

export interface ScoringRules {
  rewards: readonly Reward[];
  decomposedBy: RewardConstants['decomposedBy'];
}

/** @throws RangeError for an unknown preset */
export function scoringRules(name: string): ScoringRules {
  const preset = findPreset(name);
  const decomposedBy = 'constants' in preset ? preset.constants.decomposedBy : 'any';
  return { rewards: presetRewards(name), decomposedBy };
}
