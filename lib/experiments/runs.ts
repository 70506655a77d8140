/** Runs: a method from an initial model with a seed, and where their weights lie in `data/checkpoints`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from '../io/files.js';
import { CHECKPOINTS } from '../io/paths.js';
import type { Lambdas } from '../methods/config.js';
import { trainedBy } from '../methods/index.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { mergePeftArrays, parsePeftConfig } from '../policy/lora.js';
import { loadModel, readSafetensors } from '../policy/model-folder.js';

export const INITIAL_MODELS = ['base', 'instruct'] as const;
export type InitialModelName = (typeof INITIAL_MODELS)[number];
export const isInitialModel = (name: string): name is InitialModelName =>
  (INITIAL_MODELS as readonly string[]).includes(name);
/** What supervision trains, one after the other, each from the one before. Reinforcement begins from the last two. */
export const WARM_UP_NAMES = ['foundation', ...INITIAL_MODELS] as const;
export type WarmUpName = (typeof WARM_UP_NAMES)[number];

export const modelFolder = (model: WarmUpName, root = CHECKPOINTS): string => join(root, model);

/** Who answers: a method from a model, with a seed. */
export interface PolicyRun {
  method: string;
  model: InitialModelName;
  seed: number;
  /** Those it was trained with, where they are not the paper's. */
  lambdas?: Lambdas;
}

/** A name for files, such as `instruct-parallelsearch-seed1`. */
export function runName({ method, model, seed, lambdas }: PolicyRun): string {
  const variant = lambdas ? `-d${lambdas.lambdaD}-s${lambdas.lambdaS}` : '';
  return `${model}-${method}${variant}-seed${seed}`;
}

/** Where the adapter of a trained run lies. */
export const adapterFolder = (run: PolicyRun, root = CHECKPOINTS): string => join(root, runName(run));

/** Steps of GRPO after which adapters are kept: learning to search in parallel happens early. */
const KEPT_STEPS = [3, 6, 10];

/** Steps after which a run's adapter is kept beside its last one, so that the playground shows the course of training. */
export const keptSteps = ({ model, seed, lambdas }: PolicyRun, maxSteps = Infinity): readonly number[] =>
  model === 'instruct' && seed === 1 && lambdas === undefined
    ? KEPT_STEPS.filter((step) => step <= maxSteps)
    : [];

/** Name of the folder with the adapter after so many steps, in {@link adapterFolder}. */
export const stepFolder = (numSteps: number): string => `step-${numSteps}`;

/** The folders that a run's weights are read from: the model, and the adapter where training made one. */
export function weightFolders(run: PolicyRun, root = CHECKPOINTS): string[] {
  const method = trainedBy(run.method);
  const base = modelFolder(run.model, root);
  return method === null ? [base] : [base, adapterFolder({ ...run, method }, root)];
}

/**
 * Checks that weights are there.
 * @throws Error naming the folder that is missing, with the remedy
 */
export function requireFolders(folders: readonly string[]): void {
  const missing = folders.find((folder) => !existsSync(folder));
  if (missing) {
    throw new Error(
      `Expected weights in ${missing}, but there are none. Train them: npm start -- --retrain (it says how long that takes).`,
    );
  }
}

/**
 * A policy from its files.
 * @param base folder of a model in Hugging Face format
 * @param adapter folder of an adapter in PEFT's format, which is merged into it
 * @throws Error naming the folder that is missing, with the remedy
 */
export async function loadPolicyFiles(name: string, base: string, adapter?: string): Promise<LocalPolicy> {
  requireFolders(adapter ? [base, adapter] : [base]);
  const model = await loadModel(base);
  if (!adapter) return new LocalPolicy(name, model.weights, model.config, model.tokenizer);
  const lora = parsePeftConfig(await readJson(join(adapter, 'adapter_config.json')));
  const arrays = await readSafetensors(join(adapter, 'adapter_model.safetensors'));
  const merged = mergePeftArrays(model.weights, arrays, model.config, lora);
  return new LocalPolicy(name, merged, model.config, model.tokenizer);
}

/**
 * The policy of a run.
 * @throws Error naming the folder that is missing, with the remedy
 */
export function loadPolicy(run: PolicyRun, root = CHECKPOINTS): Promise<LocalPolicy> {
  const [base, adapter] = weightFolders(run, root);
  return loadPolicyFiles(`${run.method} (${run.model}, seed ${run.seed})`, base, adapter);
}
