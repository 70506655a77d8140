/** Opens a policy by what it is called: a folder with weights on this machine, or an address such as `NAME:...` of a server. */
import { createRegistry } from '../registry.js';
import { LocalPolicy } from './local-policy.js';
import { disposeReplaced, mergePeftArrays } from './lora.js';
import { readSafetensors } from '../tensor/weight-files.js';
import { loadModel, readPeftConfig, requireFolders } from './model-folder.js';
import type { Policy } from './policy.js';

/** A kind of policy whose weights are elsewhere. */
export interface PolicyKind {
  /** What its addresses begin with, before the colon. */
  readonly name: string;
  /** @param address all of it, `NAME:` included */
  readonly open: (address: string) => Policy | Promise<Policy>;
}

/** The kinds that there are. A new one is its file and its line here. */
export const POLICY_KINDS = createRegistry<PolicyKind>('kind of policy', []);

const kindOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf(':')));

/** Whether a model is named by the address of a kind of policy, and not by a folder. */
export const isPolicyAddress = (model: string): boolean => POLICY_KINDS.has(kindOf(model));

interface LocalFiles {
  /** Folder of an adapter in PEFT's format, which is merged into the model. */
  adapter?: string;
  /** What the policy is called; by default its folder. */
  name?: string;
}

/**
 * The transformer of this project with weights from files.
 * @param model folder in Hugging Face format
 * @throws Error naming the folder that is missing
 */
export async function loadLocalPolicy(
  model: string,
  { adapter, name = adapter ?? model }: LocalFiles = {},
): Promise<LocalPolicy> {
  requireFolders(adapter === undefined ? [model] : [model, adapter]);
  const { weights, config, tokenizer } = await loadModel(model);
  if (adapter === undefined) return new LocalPolicy(name, weights, config, tokenizer);
  const arrays = await readSafetensors(`${adapter}/adapter_model.safetensors`);
  const merged = mergePeftArrays(weights, arrays, config, await readPeftConfig(adapter));
  disposeReplaced(weights, merged);
  return new LocalPolicy(name, merged, config, tokenizer);
}

/**
 * The policy that an address or a folder names.
 * @throws Error naming the folder that is missing, or where an adapter is to go onto weights that are elsewhere
 */
export async function openPolicy(model: string, files: LocalFiles = {}): Promise<Policy> {
  if (!isPolicyAddress(model)) return loadLocalPolicy(model, files);
  if (files.adapter !== undefined)
    throw new Error(`Expected a folder with weights for the adapter ${files.adapter}, but got ${model}.`);
  return POLICY_KINDS.get(kindOf(model)).open(model);
}
