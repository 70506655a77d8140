/** Which runs there are to be. */
import { CHECKPOINTS } from '../io/paths.js';
import { isTrained, type PolicyRun } from '../training/checkpoints.js';
import { BASELINES } from '../training/methods.js';

/** One in so many lines of an initial model's metrics is published with its weights. */
export const PUBLISH_EVERY = 20;

/** Seeds of the warm-up: initial models of each kind. */
export const WARM_UPS = [1, 2, 3];

/** Seeds of reinforcement in the main comparison; ablations have the first. */
export const SEEDS = [1, 2];

/**
 * The runs of those warm-ups of which none is missing: where settings are compared, each
 * is to have the same initial models.
 */
export const ofWholeWarmUps = (runs: readonly PolicyRun[], root = CHECKPOINTS): PolicyRun[] => {
  const missing = new Set(runs.filter((run) => !isTrained(run, root)).map(({ warmUp }) => warmUp));
  return runs.filter(({ warmUp }) => !missing.has(warmUp));
};

/**
 * Steps of GRPO after which adapters are kept beside the chosen one, of one run of each
 * method of the main comparison: so that the playground shows the course of training.
 */
const KEPT_STEPS = [25, 75];
const isKept = ({ method, model, warmUp, seed, lambdas, topK }: PolicyRun): boolean =>
  model === 'instruct' &&
  warmUp === 1 &&
  seed === 1 &&
  !lambdas &&
  !topK &&
  !BASELINES.some(({ name }) => name === method);
export const keptSteps = (run: PolicyRun): readonly number[] => (isKept(run) ? KEPT_STEPS : []);

/** Name of the folder with the adapter after so many steps, in {@link adapterFolder}. */
export const stepFolder = (numSteps: number): string => `step-${numSteps}`;
