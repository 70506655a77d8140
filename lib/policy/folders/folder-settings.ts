/**
 * The files in a model's or adapter's folder other than weights. Does not import
 * TensorFlow.js, which policies on a server do not need.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readJson } from '../../io/files.js';
import { CHECKPOINTS, isClone, shortPath } from '../../io/paths.js';
import { withTimeLimit } from '../../io/time-limit.js';
import { readTokenizerConfig, readTokenizerJson } from '../../io/tokenizer-config.js';
import { createTokenizer, type FileTokenizer } from '../../text/tokenizer/tokenizer.js';
import { parseModelConfig, type ModelConfig } from '../model/families.js';
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
  join(model, 'model.safetensors'),
  ...(adapter === undefined ? [] : [join(adapter, 'adapter_model.safetensors')]),
];

/** @throws Error with the remedy, naming the first folder that does not exist */
export function requireFolders(folders: readonly string[]): void {
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing !== undefined)
    throw new Error(
      `Expected weights in ${shortPath(missing)}, but there are none. ${isOurs(missing) ? moreWeights() : 'Check the path.'}`,
    );
}

/** The training configuration, stored with what was trained. */
export const TRAIN_CONFIG_FILE = 'train_config.json';

export const RUN_FILE = 'run.json';

/** Metrics of a run, one line per step, and its rollouts, one line each. */
export const METRICS_FILE = 'metrics.jsonl';
export const TRAJECTORIES_FILE = 'trajectories.jsonl';

/** @throws Error for an unsupported model */
export const readModelConfig = async (folder: string): Promise<ModelConfig> =>
  parseModelConfig(await readJson(join(folder, 'config.json')));

/** @throws Error for a missing `adapter_config.json`, or as {@link parsePeftConfig} */
export const readPeftConfig = async (adapter: string): Promise<PeftConfig> =>
  parsePeftConfig(await readJson(join(adapter, 'adapter_config.json')));

const LONG_TEXT = 1000;

/** Creates a tokenizer with time limits for its expressions, words and chat template. */
export function createLimitedTokenizer(json: object, config: object, file: string): FileTokenizer {
  const limit = <T>(length: number, compute: () => T): T =>
    withTimeLimit(shortPath(file), length, compute);
  const tokenizer = limit(0, () => createTokenizer(json, config));
  const { encodeChat } = tokenizer;
  // For a tokenizer without regular expressions, limiting every token costs too much; but
  // a long word can take minutes, too.
  const { normalizer, pre_tokenizer, decoder } = json as Record<string, unknown>;
  const hasPattern = (...steps: unknown[]): boolean => JSON.stringify(steps).includes('"Regex"');
  const isLimited = hasPattern(normalizer, pre_tokenizer);
  return {
    ...tokenizer,
    encode: (text) =>
      isLimited || text.length > LONG_TEXT
        ? limit(text.length, () => tokenizer.encode(text))
        : tokenizer.encode(text),
    ...(encodeChat && {
      encodeChat: (message) =>
        withTimeLimit(`${shortPath(file)} or its chat template`, message.length, () =>
          encodeChat(message),
        ),
    }),
    ...(hasPattern(decoder) && {
      decode: (ids) => limit(ids.length, () => tokenizer.decode(ids)),
      decodeForOthers: (ids) => limit(ids.length, () => tokenizer.decodeForOthers(ids)),
    }),
  };
}

/** Reads the tokenizer of a folder. @throws Error if `tokenizer.json` is missing */
export async function readTokenizer(folder: string): Promise<FileTokenizer> {
  const file = join(folder, 'tokenizer.json');
  const json = await readTokenizerJson(folder);
  return createLimitedTokenizer(json, await readTokenizerConfig(folder), file);
}

const SETTINGS =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|adapter_config)\.json$|^chat_template\.jinja$/;

/** The files of a model or an adapter, besides weights, on which answers depend. */
export const settingFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => SETTINGS.test(name))
    .sort()
    .map((name) => join(folder, name));
