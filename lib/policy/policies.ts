/**
 * Opens a policy by what it is called: a folder with weights on this machine, or the
 * address of a server.
 */
import { createRegistry } from '../registry.js';
import { LocalPolicy } from './local-policy.js';
import { disposeReplaced, mergePeftArrays } from './lora.js';
import { readSafetensors } from '../tensor/weight-files.js';
import { loadModel, readPeftConfig, requireFolders, type Model } from './model-folder.js';
import { openOpenAiPolicy } from './openai.js';
import type { Policy } from './policy.js';

/** What is said of a policy elsewhere beside its address. */
export interface RemoteOptions {
  /** The model's name there. */
  model?: string;
  /** Folder with the model's tokenizer. */
  tokenizer?: string;
}

/** A kind of policy whose weights are elsewhere. */
export interface PolicyKind {
  /** What its addresses begin with, before the colon. */
  readonly name: string;
  /** @param address all of it, `NAME:` included */
  readonly open: (address: string, options: RemoteOptions) => Policy | Promise<Policy>;
}

/** A server that asks for a token gets that of the environment. */
const openOverHttp: PolicyKind['open'] = (address, options) =>
  openOpenAiPolicy(address, { ...options, token: process.env.POLICY_TOKEN });

/** The kinds that there are. A new one is its file and its line here. */
export const POLICY_KINDS = createRegistry<PolicyKind>('kind of policy', [
  { name: 'http', open: openOverHttp },
  { name: 'https', open: openOverHttp },
]);

const kindOf = (address: string): string => address.slice(0, Math.max(0, address.indexOf(':')));

interface LocalFiles {
  /** Folder of an adapter in PEFT's format, which is merged into the model. */
  adapter?: string;
  /** What the policy is called; by default its folder. */
  name?: string;
}

/**
 * A model with the adapter merged into it, where there is one. The caller disposes of
 * the weights.
 * @throws Error naming the folder or the file that is missing or does not fit
 */
export async function loadMerged(model: string, adapter?: string): Promise<Model> {
  requireFolders(adapter === undefined ? [model] : [model, adapter]);
  const base = await loadModel(model);
  if (adapter === undefined) return base;
  const arrays = await readSafetensors(`${adapter}/adapter_model.safetensors`);
  const weights = mergePeftArrays(base.weights, arrays, base.config, await readPeftConfig(adapter));
  disposeReplaced(base.weights, weights);
  return { ...base, weights };
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
  const { weights, config, tokenizer } = await loadMerged(model, adapter);
  return new LocalPolicy(name, weights, config, tokenizer);
}

/**
 * The policy at an address.
 * @throws Error for an address of no kind that there is, and whatever the kind throws
 */
export async function openRemotePolicy(
  address: string,
  options: RemoteOptions = {},
): Promise<Policy> {
  if (POLICY_KINDS.has(kindOf(address)))
    return POLICY_KINDS.get(kindOf(address)).open(address, options);
  throw new Error(
    `Expected an address that begins with ${POLICY_KINDS.names().join(':, ')}:, but got ${address}. A folder with weights is a model.`,
  );
}
