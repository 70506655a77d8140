/** Models as Hugging Face folders: `config.json`, `tokenizer.json`, and `model.safetensors` or the files that its index lists. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readJson, writeFileSafely } from '../io/files.js';
import { isClone, shortPath } from '../io/paths.js';
import { printModelConfig } from './families/index.js';
import { parsePeftConfig, type PeftConfig } from './lora.js';
import { createModel, type Model } from './model.js';
import {
  openSafetensors,
  parseSafetensors,
  printSafetensors,
  type NamedArray,
  type StorageType,
  type Tensors,
} from './safetensors.js';
import { arraysFromWeights } from './weights.js';

export type { Model } from './model.js';

/** Reads the tensors of one safetensors file; an error names the file. */
export async function readSafetensors(path: string): Promise<Map<string, NamedArray>> {
  const bytes = await readFile(path);
  return inFile(path, () => parseSafetensors(bytes));
}

/** What reading a file gives; an error names it. */
function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${shortPath(path)}: ${(error as Error).message}`, { cause: error });
  }
}

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
    throw new Error(`Expected weights in ${shortPath(missing)}, but there are none. ${moreWeights()}`);
  }
}

/** Rank, alpha and the base of an adapter in PEFT's format. @throws Error when there are none */
export const readPeftConfig = async (adapter: string): Promise<PeftConfig> =>
  parsePeftConfig(await readJson(join(adapter, 'adapter_config.json')));

/** The file of each tensor of a checkpoint that is split into several, beside the index. */
const indexSchema = z.object({
  weight_map: z.record(
    z.string(),
    z.string().refine((file) => basename(file) === file, 'Expected the name of a file in the same folder'),
  ),
});

/** The files that hold the weights of a folder. @throws Error when there are none */
async function weightFiles(folder: string): Promise<string[]> {
  const [whole, index] = ['model.safetensors', 'model.safetensors.index.json'].map((name) =>
    join(folder, name),
  );
  if (existsSync(whole)) return [whole];
  if (!existsSync(index))
    throw new Error(
      `Expected model.safetensors or model.safetensors.index.json in ${folder}, but there is neither. Save the model with transformers' save_pretrained, which writes safetensors.`,
    );
  const parsed = indexSchema.safeParse(await readJson(index));
  if (!parsed.success)
    throw new Error(
      `Expected the index of safetensors files in ${index}, but ${z.prettifyError(parsed.error)}`,
    );
  return [...new Set(Object.values(parsed.data.weight_map))].map((name) => join(folder, name));
}

/** Opens a file to be read by pieces; an error names it. */
function openTensors(path: string): { tensors: Tensors; close: () => void } {
  const file = openSync(path, 'r');
  const close = (): void => closeSync(file);
  const subarray = (from: number, to: number): Uint8Array => {
    const bytes = new Uint8Array(to - from);
    for (let at = 0; at < bytes.length;) {
      const numRead = readSync(file, bytes, at, Math.min(bytes.length - at, 2 ** 30), from + at);
      if (numRead === 0) throw new Error(`Expected more than ${from + at} bytes. Copy the file again.`);
      at += numRead;
    }
    return bytes;
  };
  try {
    const tensors = inFile(path, () => openSafetensors({ byteLength: fstatSync(file).size, subarray }));
    return { tensors: { ...tensors, get: (name) => inFile(path, () => tensors.get(name)) }, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Tensors of several files as those of one. */
function joinTensors(files: readonly Tensors[]): Tensors {
  const homes = new Map(files.flatMap((file) => Array.from(file.keys(), (name) => [name, file] as const)));
  return { keys: () => homes.keys(), get: (name) => homes.get(name)?.get(name) };
}

const readIfThere = async (path: string): Promise<object> =>
  existsSync(path) ? ((await readJson(path)) as object) : {};

/** The JSON of `tokenizer_config.json`, with what `chat_template.jinja` holds as its `chat_template`; empty without either. */
export async function readTokenizerConfig(folder: string): Promise<object> {
  const template = join(folder, 'chat_template.jinja');
  return {
    ...(await readIfThere(join(folder, 'tokenizer_config.json'))),
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
    generation: await readIfThere(join(folder, 'generation_config.json')),
  };
  const files = (await weightFiles(folder)).map(openTensors);
  try {
    return createModel({ ...contents, arrays: joinTensors(files.map(({ tensors }) => tensors)) });
  } finally {
    for (const { close } of files) close();
  }
}

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
