/** A tiny model and an adapter for it, as folders. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { identifyModel, writeBaseModel } from '../../lib/policy/folders/adapter-base.js';
import { saveModel } from '../../lib/policy/folders/model-folder.js';
import { peftConfig } from '../../lib/policy/folders/peft.js';
import { arraysFromAdapter, createAdapter } from '../../lib/policy/model/lora.js';
import { createRandom } from '../../lib/random.js';
import { encodeSafetensors } from '../../lib/tensor/safetensors.js';
import { CONFIG, tinyModel } from './tiny.js';

const LORA = { rank: 2, alpha: 4 };

export const writeTinyModel = (folder: string, seed?: number): Promise<void> =>
  saveModel(folder, tinyModel(seed), { storage: 'F16' });

/** An adapter that changes answers, with the hashes of its base by default. */
export async function writeTinyAdapter(
  folder: string,
  model: string,
  { seed = 1, hasHashes = true }: { seed?: number; hasHashes?: boolean } = {},
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const random = createRandom(seed);
  const adapter = createAdapter(CONFIG, LORA, random);
  const arrays = await arraysFromAdapter(adapter, CONFIG, LORA);
  for (const { values } of arrays.values()) values.forEach((_, i) => (values[i] = random.normal()));
  const bytes = encodeSafetensors(arrays, { storage: 'F16' });
  writeFileSync(join(folder, 'adapter_model.safetensors'), bytes);
  const config = peftConfig(LORA, { config: CONFIG, base: relative(folder, model) });
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  if (hasHashes) await writeBaseModel(folder, await identifyModel(model));
}
