/** Runs: a method from an initial model with a seed, and where their weights lie in `data/checkpoints`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKPOINTS } from '../io/paths.js';
import type { Lambdas } from '../methods/config.js';
import { trainedBy } from '../methods/index.js';
import type { LocalPolicy } from '../policy/local-policy.js';
import { loadLocalPolicy } from '../policy/policies.js';

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
 * The policy of a run.
 * @throws Error naming the folder that is missing, with the remedy
 */
export function loadPolicy(run: PolicyRun, root = CHECKPOINTS): Promise<LocalPolicy> {
  const [model, adapter] = weightFolders(run, root);
  return loadLocalPolicy(model, { adapter, name: `${run.method} (${run.model}, seed ${run.seed})` });
}

/**
 * The folder of a model that is called by its name or by its folder.
 * @throws Error for what is neither, with the names that there are
 */
export function modelPath(name: string, root = CHECKPOINTS): string {
  if (isInitialModel(name)) return modelFolder(name, root);
  if (existsSync(join(name, 'config.json'))) return name;
  throw new Error(
    `Expected a model of ${INITIAL_MODELS.join(', ')}, or a folder in Hugging Face format, but got ${name}.`,
  );
}
