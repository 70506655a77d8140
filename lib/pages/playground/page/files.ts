/** The files that the page carries. */
import { unpackElement } from '../../../html/browser/unpack.js';
import type { PolicyFiles } from '../messages.js';
import type { PlaygroundCheckpoint, PlaygroundMethod } from '../setup.js';

export const readText = (name: string): Promise<string> => unpackElement(name).text();
export const readJson = async <T>(name: string): Promise<T> => (await unpackElement(name).json()) as T;
export const readBytes = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await unpackElement(name).arrayBuffer());

async function readAdapter(folder: string): Promise<PolicyFiles['adapter']> {
  const config = await readJson(`${folder}/adapter_config.json`);
  return { config, weights: await readBytes(`${folder}/adapter_model.safetensors`) };
}

/** What a method's policy is made of at a checkpoint. */
export async function readPolicy(
  { name }: PlaygroundMethod,
  { model, adapters }: PlaygroundCheckpoint,
): Promise<PolicyFiles> {
  return {
    name,
    config: await readJson(`${model}/config.json`),
    tokenizer: await readJson<object>(`${model}/tokenizer.json`),
    weights: await readBytes(`${model}/model.safetensors`),
    adapter: name in adapters ? await readAdapter(adapters[name]) : null,
  };
}
