/** Reads weights from disk: `model.safetensors`, or the files that its index lists. */
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readAt, readJson } from '../io/files.js';
import { parseAs } from '../io/json.js';
import { shortPath } from '../io/paths.js';
import { openSafetensors, parseSafetensors, type NamedArray, type Tensors } from './safetensors.js';

/** Reads all tensors of a safetensors file. @throws Error naming the file */
export async function readSafetensors(path: string): Promise<Map<string, NamedArray>> {
  const bytes = await readFile(path);
  return inFile(path, () => parseSafetensors(bytes));
}

/** Runs `read`, prefixing the messages of its errors with the path. */
function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${shortPath(path)}: ${(error as Error).message}`, { cause: error });
  }
}

/** `model.safetensors.index.json`: the file of each tensor. */
const indexSchema = z.object({
  weight_map: z.record(
    z.string(),
    z
      .string()
      .refine(
        (file) => basename(file) === file && file.endsWith('.safetensors'),
        'Expected the name of a file in the same folder that ends in .safetensors',
      ),
  ),
});

/**
 * Lists the weight files in a model's folder.
 * @throws Error if one is missing, or if the folder is an adapter's, too: transformers
 * would load the adapter with the base that it names
 */
export async function weightFiles(folder: string): Promise<string[]> {
  if (existsSync(join(folder, 'adapter_config.json')))
    throw new Error(
      `Expected only a model in ${shortPath(folder)}, but there is an adapter, too (adapter_config.json). Move it to another folder.`,
    );
  const whole = join(folder, 'model.safetensors');
  const index = `${whole}.index.json`;
  if (existsSync(whole)) return [whole];
  if (!existsSync(index))
    throw new Error(
      `Expected model.safetensors or model.safetensors.index.json in ${folder}, but there is neither. Save the model with transformers' save_pretrained, which writes safetensors.`,
    );
  const expected = `the index of safetensors files in ${index}`;
  const { weight_map: weightMap } = parseAs(indexSchema, await readJson(index), expected);
  const files = Array.from(new Set(Object.values(weightMap)), (name) => join(folder, name));
  const missing = files.find((file) => !existsSync(file));
  if (missing === undefined) return files;
  throw new Error(
    `Expected ${shortPath(missing)}, listed in ${basename(index)}, but it is missing. Copy all files again.`,
  );
}

/** Opens a file whose tensors are read on access. @throws Error naming the file */
function openWeights(path: string): { tensors: Tensors; close: () => void } {
  const file = openSync(path, 'r');
  const close = (): void => closeSync(file);
  const subarray = (from: number, to: number): Uint8Array => {
    const bytes = new Uint8Array(to - from);
    readAt(file, bytes, from);
    return bytes;
  };
  try {
    const { keys, get } = inFile(path, () =>
      openSafetensors({ byteLength: fstatSync(file).size, subarray }),
    );
    return { tensors: { keys, get: (name) => inFile(path, () => get(name)) }, close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Runs `read` on a folder's weights, each loaded on access.
 * @throws Error naming the file that is missing or does not fit
 */
export async function withWeights<T>(folder: string, read: (tensors: Tensors) => T): Promise<T> {
  const files = (await weightFiles(folder)).map(openWeights);
  const homes = new Map(
    files.flatMap(({ tensors }) => Array.from(tensors.keys(), (name) => [name, tensors] as const)),
  );
  try {
    return read({ keys: () => homes.keys(), get: (name) => homes.get(name)?.get(name) });
  } finally {
    for (const { close } of files) close();
  }
}
