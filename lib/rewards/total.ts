import type { QuestionShape } from '../data/question.js';
import { decompositionReward } from './decomposition.js';
import { formatReward } from './format.js';
import { checkRewardOptions, type RewardOptions } from './options.js';
import { outcomeReward } from './outcome.js';
import { searchCountReward } from './search-count.js';

/** All that Eq. 3 to 7 look at. */
export interface RewardInput {
  /** What the policy answered, or null. */
  answer: string | null;
  goldenAnswers: readonly string[];
  formatOk: boolean;
  /** The sub-queries of each executed search turn. */
  searchTurns: readonly (readonly string[])[];
  /** Undefined where unknown. */
  shape: QuestionShape | undefined;
}

/** The reward and its parts, each in reward units. */
export interface RewardComponents {
  outcome: number;
  decomposition: number;
  searchCount: number;
  format: number;
  /** A part of one's own, where there is one. */
  own?: number;
  total: number;
}

/** Total reward r = r_o + r_d + r_s + r_f (Eq. 7), given at the last token; returns every component. */
export function totalReward(input: RewardInput, options: RewardOptions): RewardComponents {
  checkRewardOptions(options);
  const { searchTurns, shape } = input;
  const outcome = outcomeReward(input.answer, input.goldenAnswers);
  const decomposition = decompositionReward({ searchTurns, shape }, options);
  const searchCount = searchCountReward({ numTurns: searchTurns.length, shape }, options);
  const format = formatReward({ correct: outcome === 1, formatOk: input.formatOk }, options);
  return {
    outcome,
    decomposition,
    searchCount,
    format,
    total: outcome + decomposition + searchCount + format,
  };
}
