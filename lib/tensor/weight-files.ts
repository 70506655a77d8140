/**
 * Weights in a Hugging Face folder: `model.safetensors`, or the files that its index
 * lists.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { readJson } from '../io/files.js';
import { shortPath } from '../io/paths.js';
import { openSafetensors, parseSafetensors, type NamedArray, type Tensors } from './safetensors.js';

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

/**
 * The file of each tensor of a checkpoint that is split into several, beside the index.
 */
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

/** The files that hold the weights of a folder. @throws Error when there are none */
export async function weightFiles(folder: string): Promise<string[]> {
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
  const files = [...new Set(Object.values(parsed.data.weight_map))].map((name) =>
    join(folder, name),
  );
  const missing = files.find((file) => !existsSync(file));
  if (missing === undefined) return files;
  throw new Error(
    `Expected ${shortPath(missing)}, which ${basename(index)} names, but it is not there. Copy all files again.`,
  );
}

/** Opens a file to be read by pieces; an error names it. */
function openTensors(path: string): { tensors: Tensors; close: () => void } {
  const file = openSync(path, 'r');
  const close = (): void => closeSync(file);
  const subarray = (from: number, to: number): Uint8Array => {
    const bytes = new Uint8Array(to - from);
    for (let at = 0; at < bytes.length;) {
      const numRead = readSync(file, bytes, at, Math.min(bytes.length - at, 2 ** 30), from + at);
      if (numRead === 0)
        throw new Error(`Expected more than ${from + at} bytes. Copy the file again.`);
      at += numRead;
    }
    return bytes;
  };
  try {
    const tensors = inFile(path, () =>
      openSafetensors({ byteLength: fstatSync(file).size, subarray }),
    );
    return { tensors: { ...tensors, get: (name) => inFile(path, () => tensors.get(name)) }, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Tensors of several files as those of one. */
function joinTensors(files: readonly Tensors[]): Tensors {
  const homes = new Map(
    files.flatMap((file) => Array.from(file.keys(), (name) => [name, file] as const)),
  );
  return { keys: () => homes.keys(), get: (name) => homes.get(name)?.get(name) };
}

/**
 * What is read of the weights of a folder, a tensor at a time.
 * @throws Error naming the file that is missing or does not fit
 */
export async function withWeights<T>(folder: string, read: (tensors: Tensors) => T): Promise<T> {
  const files = (await weightFiles(folder)).map(openTensors);
  try {
    return read(joinTensors(files.map(({ tensors }) => tensors)));
  } finally {
    for (const { close } of files) close();
  }
}
