/** Policies as folders that other engines load. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { copySafely, readJson, writeFileSafely } from '../io/files.js';
import { readSafetensors } from '../io/safetensors.js';
import { parseSafetensors, printSafetensors, type StorageType } from '../tensor/safetensors.js';
import { loadMerged } from './policies.js';
import { arraysFromWeights, disposeWeights } from './weights.js';

const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Copies an adapter, with another path to the model that it goes onto. */
export async function copyAdapter(from: string, to: string, base: string): Promise<void> {
  await copySafely(join(from, 'adapter_model.safetensors'), join(to, 'adapter_model.safetensors'));
  const name = 'adapter_config.json';
  const peft = { ...((await readJson(join(from, name))) as object), base_model_name_or_path: base };
  await writeFileSafely(join(to, name), print(peft));
}

/** The nearest number of so many significant bits (Veltkamp's splitting). */
function roundTo(significantBits: number, value: number): number {
  const scaled = (2 ** (53 - significantBits) + 1) * value;
  return scaled - (scaled - value);
}

/**
 * Rounds an adapter's weights where they lie, so that they compress well: halves have
 * 11 significant bits, which noise fills.
 * @throws Error where the file is no adapter
 */
export async function roundAdapter(folder: string, significantBits: number): Promise<void> {
  const file = join(folder, 'adapter_model.safetensors');
  const bytes = await readFile(file);
  const arrays = parseSafetensors(bytes);
  for (const { values } of arrays.values())
    values.forEach((value, i) => (values[i] = roundTo(significantBits, value)));
  const { metadata } = readSafetensors(bytes);
  await writeFileSafely(file, printSafetensors(arrays, { storage: 'F16', metadata }));
}

/** What a folder in Hugging Face format holds beside the weights. */
const OTHER_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
  'chat_template.jinja',
  'generation_config.json',
];

/**
 * Writes a model with its adapter merged into it, whose other files are copied as they
 * are, so that whatever loads the model loads this. The adapter alone, in PEFT's format,
 * goes into the folder `adapter` of it.
 * @param weights folders of the model and, where there is one, of the adapter
 * @throws Error naming the folder or the file that is missing or does not fit
 */
export async function exportModel(
  folder: string,
  [model, adapter]: readonly string[],
  storage: StorageType,
): Promise<void> {
  const { weights, config } = await loadMerged(model, adapter);
  const arrays = await arraysFromWeights(weights, config);
  disposeWeights(weights);
  const { dtype: _, ...json } = (await readJson(join(model, 'config.json'))) as { dtype?: string };
  const torchType = { F32: 'float32', F16: 'float16' }[storage];
  await writeFileSafely(join(folder, 'config.json'), print({ ...json, torch_dtype: torchType }));
  for (const name of OTHER_FILES.filter((file) => existsSync(join(model, file))))
    await copySafely(join(model, name), join(folder, name));
  // From the library that loads adapters, a path relative to the adapter's folder is not
  // found.
  if (adapter !== undefined) await copyAdapter(adapter, join(folder, 'adapter'), resolve(model));
  await writeFileSafely(join(folder, 'model.safetensors'), printSafetensors(arrays, { storage }));
}
