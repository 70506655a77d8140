/** Finds models by name or folder, and the configuration each is trained with. */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { readJson } from '../io/files.js';
import { CHECKPOINTS, packagePath, shortPath } from '../io/paths.js';
import { readTokenizerConfig } from '../io/tokenizer-config.js';
import { readBaseModel } from '../policy/folders/adapter-base.js';
import { MODEL_CONFIG, TRAIN_CONFIG_FILE } from '../policy/folders/files.js';
import { readTokenizer } from '../policy/folders/limited-tokenizer.js';
import { moreWeights, readPeftConfig, requireFolders } from '../policy/folders/policy-folders.js';
import { howToMake, TRAINED_MODELS } from '../policy/folders/trained-models.js';
import type { Policy } from '../policy/policy.js';
import { chatTemplate } from '../text/tokenizer/chat-template.js';
import { parseTrainConfig, type TrainConfig } from './config.js';
import { mergeOverrides, type ConfigOverrides } from './overrides.js';
import { trainingPreset } from './presets.js';
import { TRAINER_NAMES } from './methods.js';

export const DEFAULT_METHOD = 'parallelsearch';
export const DEFAULT_MODEL = 'instruct-1';

/**
 * Initial models of the small world, standing in for the paper's base and instruct
 * models.
 */
export const INITIAL_MODELS = ['base', 'instruct'] as const;
export const SMALL_WORLD_MODELS = [...INITIAL_MODELS, 'hasty', 'paired'] as const;
export type InitialModelName = (typeof SMALL_WORLD_MODELS)[number];
/** The folder name of an initial model, such as `instruct-2`. */
export const initialModelName = (name: InitialModelName, seed: number): string => `${name}-${seed}`;

/**
 * Applies overrides to the preset of their method and model; later ones win. A model with
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
  const whole = mergeOverrides(preset, merged);
  const other = TRAINER_NAMES.find((trainer) => trainer in merged && trainer !== whole.trainer);
  if (other !== undefined)
    throw new RangeError(
      `Expected settings of ${String(whole.trainer)}, which trains ${preset.method}, but got settings of ${other}.`,
    );
  return { preset, config: parseTrainConfig(whole) };
}

const MODEL_NAME = new RegExp(`^(${SMALL_WORLD_MODELS.join('|')})-(\\d+)$`);
/** A name on the Hugging Face Hub. */
const HUB_NAME = /^[\w-][\w.-]*\/[\w.-]+$/;

/** Parses a name such as `instruct-2`; null if it is not an initial model's. */
export function parseModelName(name: string): { model: InitialModelName; initSeed: number } | null {
  const [, model, initSeed] = MODEL_NAME.exec(name) ?? [];
  return model ? { model: model as InitialModelName, initSeed: Number(initSeed) } : null;
}

/** The names of the available initial models, such as `base-1`. */
export const modelNames = (root = CHECKPOINTS): string[] =>
  existsSync(root)
    ? readdirSync(root)
        .filter((name) => MODEL_NAME.test(name))
        .sort()
    : [];

/**
 * Returns the folder of a model given by name or folder.
 * @param more names that the caller accepts, too
 * @throws Error if it is neither, listing the available names
 */
export function modelPath(name: string, root = CHECKPOINTS, more: readonly string[] = []): string {
  if (MODEL_NAME.test(name) && existsSync(join(root, name))) return join(root, name);
  if (existsSync(join(name, MODEL_CONFIG))) return name;
  if (TRAINED_MODELS.has(name))
    throw new Error(
      `Expected a model without an adapter, but ${name} has one. Merge it first: npx parallelsearch export hf models/${name} --model ${name}, then --model models/${name}.`,
    );
  if (existsSync(name))
    throw new Error(`Expected a folder in Hugging Face format, but ${name} has no config.json.`);
  const recipe = howToMake(basename(name));
  const remedy = MODEL_NAME.test(name)
    ? ` ${moreWeights()}`
    : recipe !== undefined
      ? ` Use ${recipe}`
      : HUB_NAME.test(name)
        ? ` If it is on the Hugging Face Hub, download it first: hf download ${name} --local-dir models/${basename(name)}`
        : '';
  throw new Error(
    `Expected one of ${[...more, ...modelNames(root)].join(', ')}, or a folder in Hugging Face format, but got ${name}.${remedy}`,
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

/** The same check by a policy's tokenizer, since its model may be on a server. */
export async function isSmallWorldPolicy(policy: Pick<Policy, 'tokenizer'>): Promise<boolean> {
  const ours = await readTokenizer(packagePath('data', 'checkpoints', DEFAULT_MODEL));
  // Other vocabularies split these words of the small world differently.
  const text = 'Who wrote Strange Night, the novel of 1920?';
  return String(ours.encode(text)) === String(policy.tokenizer.encode(text));
}

/** Reads the training configuration stored with an adapter, or null. */
export async function readTrainConfig(adapter?: string): Promise<TrainConfig | null> {
  if (adapter === undefined) return null;
  const file = join(adapter, TRAIN_CONFIG_FILE);
  return existsSync(file) ? parseTrainConfig(await readJson(file)) : null;
}

/**
 * The folder of an adapter's base model: the one that the adapter names, else its
 * configuration's.
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
