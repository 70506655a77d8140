/**
 * The folders of a policy: the model's and, if any, the adapter's. Does not import
 * TensorFlow.js, which policies on a server do not need.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readJson } from '../../io/files.js';
import { CHECKPOINTS, isClone, shortPath } from '../../io/paths.js';
import { parseModelConfig, type ModelConfig } from '../model/families.js';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, MODEL_CONFIG, MODEL_WEIGHTS } from './files.js';
import { parsePeftConfig, type PeftConfig } from './peft.js';

/** Whether a folder's parent is that of this project's weights. */
const isOurs = (folder: string): boolean => dirname(resolve(folder)) === resolve(CHECKPOINTS);

/** How to get this project's missing weights. */
export const moreWeights = (): string =>
  isClone()
    ? 'Check the path, or train them: npm start -- --retrain (prints an estimate first).'
    : 'The npm package has the first model of each kind and its first runs; a clone of the repository has all, and PARALLELSEARCH_CHECKPOINTS can name its data/checkpoints.';

export interface PolicyFolders {
  model: string;
  adapter?: string;
}

export const listFolders = ({ model, adapter }: PolicyFolders): string[] =>
  adapter === undefined ? [model] : [model, adapter];

export const committedWeights = ({ model, adapter }: PolicyFolders): string[] => [
  join(model, MODEL_WEIGHTS),
  ...(adapter === undefined ? [] : [join(adapter, ADAPTER_WEIGHTS)]),
];

/** @throws Error with the remedy, naming the first folder that does not exist */
export function requireFolders(folders: readonly string[]): void {
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing !== undefined)
    throw new Error(
      `Expected weights in ${shortPath(missing)}, but there are none. ${isOurs(missing) ? moreWeights() : 'Check the path.'}`,
    );
}

/** @throws Error for an unsupported model */
export const readModelConfig = async (folder: string): Promise<ModelConfig> =>
  parseModelConfig(await readJson(join(folder, MODEL_CONFIG)));

/** @throws Error for a missing `adapter_config.json`, or as {@link parsePeftConfig} */
export const readPeftConfig = async (adapter: string): Promise<PeftConfig> =>
  parsePeftConfig(await readJson(join(adapter, ADAPTER_CONFIG)));

const SETTINGS =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|adapter_config)\.json$|^chat_template\.jinja$/;

/** The files of a model or an adapter, besides weights, on which answers depend. */
export const settingFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => SETTINGS.test(name))
    .sort()
    .map((name) => join(folder, name));
