import type { RewardPresetName } from '../rewards/presets.js';
import type { RolloutInput } from '../rollout/options.js';
import type { Prompt } from '../text/prompts.js';

/**
 * All that the project knows of one method; commands, configurations, tables and charts
 * take it from here.
 */
export interface Method {
  /** On the command line and in files. */
  readonly name: string;
  /** In tables and charts. */
  readonly title: string;
  /** Where it comes from. */
  readonly source: string;
  /**
   * What the rows of the tables in the ParallelSearch paper call it; null where they do
   * not have it.
   */
  readonly paperName: string | null;
  /**
   * In charts: distinguishable for colour-blind readers, on white and on black; shapes
   * repeat what colours say.
   */
  readonly color: string;
  readonly shape: string;
  /** A prompt of its own, which `rollout` names. */
  readonly prompt?: Prompt;
  /** How it answers. */
  readonly rollout: RolloutInput;
  /**
   * How its weights come about: trained by a trainer (`grpo`) with rewards, another
   * method's, or (null) those of the initial model.
   */
  readonly training: { trainer: string; rewards: RewardPresetName } | { weightsOf: string } | null;
  /**
   * Trained for the sake of others, such as the part of a search engine: it is in no
   * comparison.
   */
  readonly isPreparation?: boolean;
}
