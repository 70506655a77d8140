/**
 * Models as Hugging Face folders: `config.json`, `tokenizer.json`, and
 * `model.safetensors` or the files that its index lists.
 */
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, readJsonIfThere, writeFileSafely } from '../io/files.js';
import { isClone, shortPath } from '../io/paths.js';
import { printModelConfig } from './families/index.js';
import { parsePeftConfig, type PeftConfig } from './lora.js';
import { createModel, type Model } from './model.js';
import { printSafetensors, type StorageType } from '../tensor/safetensors.js';
import { withWeights } from '../tensor/weight-files.js';
import { arraysFromWeights } from './weights.js';

export type { Model } from './model.js';

/** How to get weights of this project that are not there. */
export const moreWeights = (): string =>
  isClone()
    ? 'Check the path, or train them: npm start -- --retrain (it says how long that takes).'
    : 'The npm package has the first model of each kind and its first runs; a clone of the repository has all, and PARALLELSEARCH_CHECKPOINTS can name its data/checkpoints.';

/**
 * Checks that weights are there.
 * @throws Error naming the folder that is missing, with the remedy
 */
export function requireFolders(folders: readonly string[]): void {
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing) {
    throw new Error(
      `Expected weights in ${shortPath(missing)}, but there are none. ${moreWeights()}`,
    );
  }
}

/**
 * Rank, alpha and the base of an adapter in PEFT's format. @throws Error when there are
 * none
 */
export const readPeftConfig = async (adapter: string): Promise<PeftConfig> =>
  parsePeftConfig(await readJson(join(adapter, 'adapter_config.json')));

/**
 * The JSON of `tokenizer_config.json`, with what `chat_template.jinja` holds as its
 * `chat_template`; empty without either.
 */
export async function readTokenizerConfig(folder: string): Promise<object> {
  const template = join(folder, 'chat_template.jinja');
  return {
    ...(await readJsonIfThere(join(folder, 'tokenizer_config.json'))),
    ...(existsSync(template) ? { chat_template: await readFile(template, 'utf8') } : {}),
  };
}

/**
 * Loads a folder in Hugging Face format.
 * @throws Error naming the file that is missing or does not fit
 */
export async function loadModel(folder: string): Promise<Model> {
  const contents = {
    config: await readJson(join(folder, 'config.json')),
    tokenizer: (await readJson(join(folder, 'tokenizer.json'))) as object,
    tokenizerConfig: await readTokenizerConfig(folder),
    generation: await readJsonIfThere(join(folder, 'generation_config.json')),
  };
  return withWeights(folder, (arrays) => createModel({ ...contents, arrays }));
}

const SETTINGS =
  /^(config|generation_config|tokenizer|tokenizer_config|adapter_config)\.json$|^chat_template\.jinja$/;

/**
 * The files of a model's or an adapter's folder, beside its weights, that decide what it
 * answers.
 */
export const settingFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => SETTINGS.test(name))
    .sort()
    .map((name) => join(folder, name));

/** Of the small models of this project. */
const OWN_TOKENIZER_CONFIG = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  clean_up_tokenization_spaces: false,
  pad_token: '<pad>',
  eos_token: '<eos>',
};

/** Writes a folder that `transformers` loads too. */
export async function saveModel(
  folder: string,
  model: Pick<Model, 'config' | 'tokenizerJson' | 'tokenizerConfig' | 'weights'>,
  options: { storage: StorageType; metadata?: Record<string, string> },
): Promise<void> {
  const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  const arrays = await arraysFromWeights(model.weights, model.config);
  await writeFileSafely(join(folder, 'config.json'), print(printModelConfig(model.config)));
  await writeFileSafely(join(folder, 'tokenizer.json'), `${JSON.stringify(model.tokenizerJson)}\n`);
  await writeFileSafely(
    join(folder, 'tokenizer_config.json'),
    print(model.tokenizerConfig ?? OWN_TOKENIZER_CONFIG),
  );
  await writeFileSafely(join(folder, 'model.safetensors'), printSafetensors(arrays, options));
}
