/**
 * The weights in `data/checkpoints`: names of initial models and runs, their folders, and
 * how they are loaded.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readJson } from '../io/files.js';
import { CHECKPOINTS } from '../io/paths.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import {
  moreWeights,
  readPeftConfig,
  readTokenizerConfig,
  requireFolders,
} from '../policy/model-files.js';
import type { RolloutConfig } from '../rollout/options.js';
import { chatTemplate } from '../text/chat.js';
import {
  mergeOverrides,
  parseTrainConfig,
  TRAIN_CONFIG_FILE,
  trainingPreset,
  type ConfigOverrides,
  type Lambdas,
  type TrainConfig,
} from './config.js';
import { rolloutConfigOf, trainedBy, zeroSearchSimulator } from './methods.js';

/** Who answers where nobody else is named. */
export const DEFAULT_METHOD = 'parallelsearch';
export const DEFAULT_MODEL = 'instruct-1';

/** Initial models of the small world; each is trained on from the one before. */
export const INITIAL_MODELS = ['base', 'instruct'] as const;
export type InitialModelName = (typeof INITIAL_MODELS)[number];

/** Name of an initial model's folder, such as `instruct-2`. */
export const initialModelName = (name: InitialModelName, seed: number): string => `${name}-${seed}`;

/** Who answers: a method from an initial model, with a seed. */
export interface PolicyRun {
  method: string;
  model: InitialModelName;
  /** Seed of the initial model's warm-up. */
  initSeed: number;
  /** Seed of reinforcement. */
  seed: number;
  /** Those it was trained with, where they are not the paper's. */
  lambdas?: Lambdas;
  /** Passages a query, where they are not the method's. */
  topK?: number;
}

/** The name of a run's initial model, such as `instruct-2`. */
export const modelNameForRun = ({ model, initSeed }: PolicyRun): string =>
  initialModelName(model, initSeed);

/** A name for files, such as `instruct-2-parallelsearch-seed1`. */
export function runName(run: PolicyRun): string {
  const { method, seed, lambdas, topK } = run;
  const variants = [lambdas && `d${lambdas.lambdaD}-s${lambdas.lambdaS}`, topK && `k${topK}`];
  // No colon in the name of a file.
  const parts = [
    modelNameForRun(run),
    method.replace(':', '-'),
    ...variants.filter(Boolean),
    `seed${seed}`,
  ];
  return parts.join('-');
}

/** How a run's policy answers. */
export const rolloutForRun = ({ method, topK }: PolicyRun): RolloutConfig => ({
  ...rolloutConfigOf(method),
  ...(topK && { topK }),
});

/** The configuration that a run is trained with. */
export const trainConfigForRun = (run: PolicyRun): TrainConfig => {
  const { method, seed, lambdas, topK } = run;
  const preset = trainingPreset(method, modelNameForRun(run), seed, { lambdas });
  // Trained before, from the same model with the same seed.
  const simulator = runName({ ...run, method: zeroSearchSimulator.name });
  return parseTrainConfig(
    mergeOverrides(preset, {
      rollout: { topK },
      ...(preset.trainer === 'zerosearch' && { zerosearch: { simulator } }),
    }),
  );
};

/**
 * The configuration of a training: the preset of its method and model with overrides, of
 * which later ones win. A language model with a chat template is prompted in it.
 * @throws Error for an unknown method, model or setting
 */
export async function resolveTrainConfig(
  ...overrides: readonly ConfigOverrides[]
): Promise<{ config: TrainConfig; preset: TrainConfig }> {
  const merged = mergeOverrides(...overrides);
  const { method = DEFAULT_METHOD, model = DEFAULT_MODEL, seed = 1 } = merged;
  const name = String(model);
  const isChat = chatTemplate(await readTokenizerConfig(modelPath(name))) !== null;
  const preset = trainingPreset(String(method), name, Number(seed), {
    scale: parseModelName(name) ? 'embedded' : 'language-model',
    ...(isChat && { promptForm: 'chat' }),
  });
  return { preset, config: parseTrainConfig(mergeOverrides(preset, merged)) };
}

/** Where the adapter of a trained run lies. */
export const adapterFolder = (run: PolicyRun, root = CHECKPOINTS): string =>
  join(root, runName(run));

/** Whether a run has its weights: its own, another method's, or the initial model's. */
export const isTrained = (run: PolicyRun, root = CHECKPOINTS): boolean =>
  weightFolders(run, root).every((folder) => existsSync(folder));

/**
 * The folders that a run's weights are read from: the model, and the adapter where
 * training made one.
 */
export function weightFolders(run: PolicyRun, root = CHECKPOINTS): string[] {
  const method = trainedBy(run.method);
  const base = join(root, modelNameForRun(run));
  return method === null ? [base] : [base, adapterFolder({ ...run, method }, root)];
}

/**
 * The policy of a run.
 * @throws Error naming the folder that is missing, with the remedy
 */
export async function loadPolicy(run: PolicyRun, root = CHECKPOINTS): Promise<LocalPolicy> {
  // Names of weights are needed where TensorFlow.js is not.
  const { loadLocalPolicy } = await import('../policy/model-folder.js');
  const [model, adapter] = weightFolders(run, root);
  return loadLocalPolicy(model, {
    adapter,
    name: `${run.method} (${modelNameForRun(run)}, seed ${run.seed})`,
  });
}

const MODEL_NAME = new RegExp(`^(${INITIAL_MODELS.join('|')})-(\\d+)$`);

/** The initial model of a name such as `instruct-2`, or null for a name that is none. */
export function parseModelName(name: string): Pick<PolicyRun, 'model' | 'initSeed'> | null {
  const [, model, initSeed] = MODEL_NAME.exec(name) ?? [];
  return model ? { model: model as InitialModelName, initSeed: Number(initSeed) } : null;
}

/** Names of the initial models that there are, such as `base-1`. */
export const modelNames = (root = CHECKPOINTS): string[] =>
  existsSync(root)
    ? readdirSync(root)
        .filter((name) => MODEL_NAME.test(name))
        .sort()
    : [];

/**
 * The folder of a model that is called by its name or by its folder.
 * @throws Error for what is neither, with the names that there are
 */
export function modelPath(name: string, root = CHECKPOINTS): string {
  if (MODEL_NAME.test(name) && existsSync(join(root, name))) return join(root, name);
  if (existsSync(join(name, 'config.json'))) return name;
  throw new Error(
    `Expected a model of ${modelNames(root).join(', ')}, or a folder in Hugging Face format, but got ${name}.${MODEL_NAME.test(name) ? ` ${moreWeights()}` : ''}`,
  );
}

/**
 * What an adapter was trained with; null where there is none, or its folder does not
 * tell.
 */
export async function readTrainConfig(adapter?: string): Promise<TrainConfig | null> {
  if (adapter === undefined) return null;
  const file = join(adapter, TRAIN_CONFIG_FILE);
  return existsSync(file) ? parseTrainConfig(await readJson(file)) : null;
}

/**
 * The folder of the model that an adapter was trained from: the one that it names, else
 * that of its configuration.
 * @throws Error for an adapter that is missing, or a model that is
 */
export async function adapterBase(adapter: string, root = CHECKPOINTS): Promise<string> {
  requireFolders([adapter]);
  const { base } = await readPeftConfig(adapter);
  const folder = base === undefined ? undefined : resolve(adapter, base);
  if (folder !== undefined && existsSync(folder)) return folder;
  return modelPath((await readTrainConfig(adapter))?.model ?? DEFAULT_MODEL, root);
}
