/** The files that the page carries. */
import { unpackElement } from '../../viewer/page/unpack.js';
import type { PolicyFiles } from '../messages.js';
import type { PlaygroundCheckpoint, PlaygroundMethod } from '../setup.js';

function openFile(name: string): Response {
  const element = document.getElementById(name);
  if (!element) throw new Error(`Expected the page to carry ${name}, but it does not.`);
  return unpackElement(element);
}

export const readText = (name: string): Promise<string> => openFile(name).text();
export const readJson = async <T>(name: string): Promise<T> => (await openFile(name).json()) as T;
export const readBytes = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await openFile(name).arrayBuffer());

/** What a method's policy is made of at a checkpoint. */
export async function readPolicy(
  { name }: PlaygroundMethod,
  { model, adapters }: PlaygroundCheckpoint,
): Promise<PolicyFiles> {
  const adapter: string | undefined = adapters[name];
  return {
    name,
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
