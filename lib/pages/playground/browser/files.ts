/** The files that the page carries. */
import { unpackElement } from '../../../html/browser/dom.js';
import type { PlaygroundCheckpoint } from '../setup.js';
import type { PolicyFiles } from './worker.js';

export const readText = (name: string): Promise<string> => unpackElement(name).text();
export const readJson = async <T>(name: string): Promise<T> =>
  (await unpackElement(name).json()) as T;
export const readBytes = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await unpackElement(name).arrayBuffer());

/** What a method's policy is made of at a checkpoint. */
export async function readPolicy(
  method: string,
  { model, adapters }: PlaygroundCheckpoint,
): Promise<PolicyFiles> {
  const adapter = adapters[method];
  return {
    name: method,
    config: await readJson(`${model}/config.json`),
    tokenizer: await readJson<object>(`${model}/tokenizer.json`),
    weights: await readBytes(`${model}/model.safetensors`),
    adapter: adapter
      ? {
          config: await readJson(`${adapter}/adapter_config.json`),
          weights: await readBytes(`${adapter}/adapter_model.safetensors`),
        }
      : null,
  };
}
