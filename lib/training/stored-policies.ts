/**
 * Weights in `data/checkpoints`: names and folders of initial models and runs, and
 * loading.
 */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readJson } from '../io/files.js';
import { CHECKPOINTS, packagePath, shortPath } from '../io/paths.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import {
  listFolders,
  moreWeights,
  readPeftConfig,
  readTokenizer,
  requireFolders,
  TRAIN_CONFIG_FILE,
  type PolicyFolders,
} from '../policy/folder-settings.js';
import { readTokenizerConfig } from '../io/tokenizer-config.js';
import type { Policy } from '../policy/policy.js';
import { howToMake, TRAINED_MODELS } from '../policy/trained-models.js';
import { readBaseModel } from '../policy/adapter-base.js';
import type { RolloutConfig } from '../rollout/options.js';
import { chatTemplate } from '../text/chat-template.js';
import {
  mergeOverrides,
  parseTrainConfig,
  trainerSettings,
  trainingPreset,
  withSettings,
  type ConfigOverrides,
  type Lambdas,
  type TrainConfig,
} from './config.js';
import { resolveRollout, trainedBy, zeroSearchSimulator } from './methods.js';

/** Defaults of commands. */
export const DEFAULT_METHOD = 'parallelsearch';
export const DEFAULT_MODEL = 'instruct-1';

/** Initial models of the small world that stand for the paper's two. */
export const INITIAL_MODELS = ['base', 'instruct'] as const;
/** All initial models. */
export const SMALL_WORLD_MODELS = [...INITIAL_MODELS, 'hasty', 'paired'] as const;
export type InitialModelName = (typeof SMALL_WORLD_MODELS)[number];
/** Folder name of an initial model, such as `instruct-2`. */
export const initialModelName = (name: InitialModelName, seed: number): string => `${name}-${seed}`;

/** A policy: a method, an initial model and a seed. */
export interface PolicyRun {
  method: string;
  model: InitialModelName;
  /** Seed of the initial model. */
  initSeed: number;
  /** Seed of RL. */
  seed: number;
  /** Reward weights in training, unless the paper's. */
  lambdas?: Lambdas;
  /** Passages per query, unless the method's. */
  topK?: number;
  /** RL steps, unless the preset's. */
  steps?: number;
  /** Share of hybrid questions in training, unless the preset's (none). */
  hybridShare?: number;
  /** Passages per query, drawn from these for each step. */
  topKs?: readonly number[];
  /** Whether the passages have near misses among them (`addNearMisses`). */
  nearMisses?: boolean;
}

/** Tokens kept free per later search turn where many passages fill the context. */
export const RESERVE_PER_TURN = 100;

/** The name of a run's initial model, such as `instruct-2`. */
export const modelNameForRun = ({ model, initSeed }: PolicyRun): string =>
  initialModelName(model, initSeed);

/** A file name, such as `instruct-2-parallelsearch-seed1`. */
export function runName(run: PolicyRun): string {
  const { method, seed, lambdas, topK, steps, hybridShare, topKs, nearMisses } = run;
  const variants = [
    lambdas && `d${lambdas.lambdaD}-s${lambdas.lambdaS}`,
    topK && `k${topK}`,
    topKs && `k${topKs.join('-')}`,
    nearMisses && 'near-misses',
    steps && `${steps}steps`,
    hybridShare && `hybrid${hybridShare}`,
  ];
  // File names must not contain colons.
  const parts = [
    modelNameForRun(run),
    method.replace(':', '-'),
    ...variants.filter(Boolean),
    `seed${seed}`,
  ];
  return parts.join('-');
}

/** The rollout settings of a run. */
export const rolloutForRun = ({ method, topK, topKs }: PolicyRun): RolloutConfig => ({
  ...resolveRollout(method, 'small-world'),
  ...(topK && { topK }),
  ...(topKs && { reservePerTurn: RESERVE_PER_TURN }),
});

export const trainConfigForRun = (run: PolicyRun): TrainConfig => {
  const { method, seed, lambdas, topK, topKs, steps, hybridShare } = run;
  const preset = trainingPreset(method, modelNameForRun(run), seed, { lambdas });
  // Trained earlier, from the same model with the same seed.
  const simulator = runName({ ...run, method: zeroSearchSimulator.name });
  const config = parseTrainConfig(
    mergeOverrides(preset, {
      rollout: { topK, reservePerTurn: topKs && RESERVE_PER_TURN },
      [preset.trainer]: { steps, topKs },
      ...(preset.trainer === 'zerosearch' && { zerosearch: { simulator } }),
    }),
  );
  if (hybridShare === undefined) return config;
  // The other types share the rest, in the preset's proportions.
  const hybrid = hybridShare / (1 - hybridShare);
  return withSettings(config, { mix: { ...trainerSettings(config).mix, hybrid } });
};

/**
 * The preset of the method and model with overrides applied; later ones win. A model with
 * a chat template gets the chat prompt form.
 * @throws Error for an unknown method, model or setting
 */
export async function resolveTrainConfig(
  ...overrides: readonly ConfigOverrides[]
): Promise<{ config: TrainConfig; preset: TrainConfig }> {
  const merged = mergeOverrides(...overrides);
  const { method = DEFAULT_METHOD, model = DEFAULT_MODEL, seed = 1 } = merged;
  const name = String(model);
  const folder = modelPath(name);
  const isSmall = await isSmallWorldModel(folder);
  const isChat = chatTemplate(await readTokenizerConfig(folder)) !== null;
  const preset = trainingPreset(String(method), name, Number(seed), {
    scale: isSmall ? 'embedded' : 'language-model',
    promptForm: isChat ? 'chat' : isSmall ? 'short' : 'full',
  });
  return { preset, config: parseTrainConfig(mergeOverrides(preset, merged)) };
}

export const adapterFolder = (run: PolicyRun, root = CHECKPOINTS): string =>
  join(root, runName(run));

/** Whether a run's weights exist: its own, another method's or the initial model's. */
export const isTrained = (run: PolicyRun, root = CHECKPOINTS): boolean =>
  listFolders(weightFolders(run, root)).every((folder) => existsSync(folder));

/** The folders of a run's weights: the model's, and the adapter's if any. */
export function weightFolders(run: PolicyRun, root = CHECKPOINTS): PolicyFolders {
  const method = trainedBy(run.method);
  const model = join(root, modelNameForRun(run));
  return method === null ? { model } : { model, adapter: adapterFolder({ ...run, method }, root) };
}

/** Loads the policy of a run. @throws Error naming the missing folder, with the remedy */
export async function loadPolicy(run: PolicyRun, root = CHECKPOINTS): Promise<LocalPolicy> {
  // Names are also needed where TensorFlow.js is not loaded.
  const { loadLocalPolicy } = await import('../policy/model-folder.js');
  const { model, adapter } = weightFolders(run, root);
  return loadLocalPolicy(model, {
    adapter,
    name: `${run.method} (${modelNameForRun(run)}, seed ${run.seed})`,
  });
}

const MODEL_NAME = new RegExp(`^(${SMALL_WORLD_MODELS.join('|')})-(\\d+)$`);

/** Parses a name such as `instruct-2`; null if it is not an initial model's. */
export function parseModelName(name: string): Pick<PolicyRun, 'model' | 'initSeed'> | null {
  const [, model, initSeed] = MODEL_NAME.exec(name) ?? [];
  return model ? { model: model as InitialModelName, initSeed: Number(initSeed) } : null;
}

/** Names of the available initial models, such as `base-1`. */
export const modelNames = (root = CHECKPOINTS): string[] =>
  existsSync(root)
    ? readdirSync(root)
        .filter((name) => MODEL_NAME.test(name))
        .sort()
    : [];

/**
 * The folder of a model given by name or folder.
 * @throws Error if it is neither, listing the available names
 */
export function modelPath(name: string, root = CHECKPOINTS): string {
  if (MODEL_NAME.test(name) && existsSync(join(root, name))) return join(root, name);
  if (existsSync(join(name, 'config.json'))) return name;
  if (TRAINED_MODELS.has(name))
    throw new Error(
      `Expected a model without an adapter, but ${name} has one. Merge it first: npx parallelsearch export hf models/${name} --model ${name}, then --model models/${name}.`,
    );
  throw new Error(
    `Expected one of ${modelNames(root).join(', ')}, or a folder in Hugging Face format, but got ${name}.${MODEL_NAME.test(name) ? ` ${moreWeights()}` : ''}`,
  );
}

/** Whether a model has the small world's tokenizer, which knows few other words. */
export async function isSmallWorldModel(folder: string): Promise<boolean> {
  const committed = packagePath('data', 'checkpoints', DEFAULT_MODEL);
  const [ours, theirs] = await Promise.all(
    [committed, folder].map((path) => readFile(join(path, 'tokenizer.json')).catch(() => null)),
  );
  return ours !== null && theirs !== null && ours.equals(theirs);
}

/** The same for any policy, such as one on a server, by its tokenizer. */
export async function isSmallWorldPolicy({
  tokenizer,
}: Pick<Policy, 'tokenizer'>): Promise<boolean> {
  const ours = await readTokenizer(packagePath('data', 'checkpoints', DEFAULT_MODEL));
  // A text with words of the small world, which another vocabulary splits otherwise.
  const text = 'Who wrote Strange Night, the novel of 1920?';
  return String(ours.encode(text)) === String(tokenizer.encode(text));
}

/** The training configuration of an adapter; null if there is none. */
export async function readTrainConfig(adapter?: string): Promise<TrainConfig | null> {
  if (adapter === undefined) return null;
  const file = join(adapter, TRAIN_CONFIG_FILE);
  return existsSync(file) ? parseTrainConfig(await readJson(file)) : null;
}

/**
 * The folder of the base model of an adapter: the one it names, else its configuration's.
 * @throws Error if the adapter or the model is missing
 */
export async function adapterBase(adapter: string, root = CHECKPOINTS): Promise<string> {
  requireFolders([adapter]);
  const { base } = await readPeftConfig(adapter);
  const folder = base === undefined ? undefined : resolve(adapter, base);
  if (folder !== undefined && existsSync(folder)) return folder;
  const { name } = (await readBaseModel(adapter)) ?? {};
  const recipe = name === undefined ? undefined : howToMake(name);
  if (folder !== undefined && recipe !== undefined)
    throw new Error(
      `Expected the base of ${shortPath(adapter)} in ${shortPath(folder)}, but there is none. Use ${recipe}`,
    );
  return modelPath((await readTrainConfig(adapter))?.model ?? DEFAULT_MODEL, root);
}
