/** The training runs of the experiments: names, folders, configurations and weights. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKPOINTS } from '../../io/paths.js';
import { listFolders, type PolicyFolders } from '../../policy/folders/policy-folders.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import type { InformationCut, RolloutConfig } from '../../rollout/options.js';
import {
  parseTrainConfig,
  trainerSettings,
  withSettings,
  type TrainConfig,
} from '../../training/config.js';
import { mergeOverrides } from '../../training/overrides.js';
import { trainingPreset, type Lambdas } from '../../training/presets.js';
import { resolveRollout, trainedBy, zeroSearchSimulator } from '../../training/methods.js';
import { initialModelName, type InitialModelName } from '../../training/models.js';

/** A trained policy: a method, an initial model and a seed. */
export interface PolicyRun {
  method: string;
  model: InitialModelName;
  /** Seed of the initial model. */
  initSeed: number;
  /** Seed of RL. */
  seed: number;
  /** Reward weights in training. Default: the paper's. */
  lambdas?: Lambdas;
  /** Passages per query. Default: the method's. */
  topK?: number;
  /** RL steps. Default: the preset's. */
  steps?: number;
  /** Share of hybrid questions in training. Default: the preset's, none. */
  hybridShare?: number;
  /** Passages per query, drawn from these for each step. */
  topKs?: readonly number[];
  /** Whether near misses are added to the passages (`addNearMisses`). */
  nearMisses?: boolean;
  /** Halves the limit on information, which is then cut in this way. */
  halvedBy?: InformationCut;
}

/** Half of the information that a turn shows at most in the small world, in tokens. */
const HALVED_INFORMATION = 160;

/** Tokens reserved for each later search turn if many passages fill the context. */
export const RESERVE_PER_TURN = 100;

/** The name of a run's initial model, such as `instruct-2`. */
export const modelNameForRun = ({ model, initSeed }: PolicyRun): string =>
  initialModelName(model, initSeed);

/** A run's name in files, such as `instruct-2-parallelsearch-seed1`. */
export function runName(run: PolicyRun): string {
  const { method, seed, lambdas, topK, steps, hybridShare, topKs, nearMisses, halvedBy } = run;
  const variants = [
    lambdas && `d${lambdas.lambdaD}-s${lambdas.lambdaS}`,
    topK && `k${topK}`,
    topKs && `k${topKs.join('-')}`,
    nearMisses && 'near-misses',
    halvedBy && `cut-${halvedBy}`,
    steps && `${steps}steps`,
    hybridShare && `hybrid${hybridShare}`,
  ];
  // File names must not contain colons.
  const name = `${modelNameForRun(run)}-${method.replace(':', '-')}`;
  return [name, ...variants.filter(Boolean), `seed${seed}`].join('-');
}

export const rolloutForRun = (run: PolicyRun): RolloutConfig =>
  resolveRollout(run.method, 'small-world', { changes: rolloutOverrides(run) });

/** Rollout settings that differ from the preset's. */
const rolloutOverrides = ({ topK, topKs, halvedBy }: PolicyRun): Partial<RolloutConfig> => ({
  ...(topK && { topK }),
  ...(topKs && { reservePerTurn: RESERVE_PER_TURN }),
  ...(halvedBy && { maxInformationTokens: HALVED_INFORMATION, informationCut: halvedBy }),
});

export const trainConfigForRun = (run: PolicyRun): TrainConfig => {
  const { method, seed, lambdas, topKs, steps, hybridShare } = run;
  const preset = trainingPreset(method, modelNameForRun(run), seed, { lambdas });
  // Trained earlier, from the same model with the same seed.
  const simulator = runName({ ...run, method: zeroSearchSimulator.name });
  const config = parseTrainConfig(
    mergeOverrides(preset, {
      rollout: rolloutOverrides(run),
      [preset.trainer]: { steps, topKs },
      ...(preset.trainer === 'zerosearch' && { zerosearch: { simulator } }),
    }),
  );
  if (hybridShare === undefined) return config;
  // The other types share the rest in the preset's proportions.
  const hybrid = hybridShare / (1 - hybridShare);
  return withSettings(config, { mix: { ...trainerSettings(config).mix, hybrid } });
};

export const adapterFolder = (run: PolicyRun, root = CHECKPOINTS): string =>
  join(root, runName(run));

/** Whether a run's weights exist: its own, another method's or the initial model's. */
export const isTrained = (run: PolicyRun, root = CHECKPOINTS): boolean =>
  listFolders(weightFolders(run, root)).every((folder) => existsSync(folder));

/** The folders of a run's weights: the model's and, if any, the adapter's. */
export function weightFolders(run: PolicyRun, root = CHECKPOINTS): PolicyFolders {
  const method = trainedBy(run.method);
  const model = join(root, modelNameForRun(run));
  return method === null ? { model } : { model, adapter: adapterFolder({ ...run, method }, root) };
}

/** Loads the policy of a run. @throws Error naming the missing folder and the remedy */
export async function loadPolicy(run: PolicyRun, root = CHECKPOINTS): Promise<LocalPolicy> {
  // Imported late: names are also needed where TensorFlow.js is not loaded.
  const { loadLocalPolicy } = await import('../../policy/folders/model-folder.js');
  const { model, adapter } = weightFolders(run, root);
  const name = `${run.method} (${modelNameForRun(run)}, seed ${run.seed})`;
  return loadLocalPolicy(model, { adapter, name });
}
