/** Seeds of the runs, and what is published of each. */
import { BOTH_METHODS, MAIN_METHODS } from '../../training/methods.js';
import type { PolicyRun } from './policy-runs.js';

/** An initial model is published with every n-th line of its metrics. */
export const PUBLISH_EVERY = 20;

export const INIT_SEEDS = [1, 2, 3];

/** Seeds of RL in the main comparison; ablations use the first. */
export const SEEDS = [1, 2];

/** The fields of a run that rows and answers have. */
export const identify = ({ method, model, initSeed, seed }: PolicyRun) => {
  return { method, model, initSeed, seed };
};

/** Lists the runs of every combination. Default: the ablations'. */
export const listRuns = ({
  methods,
  models = ['instruct'],
  initSeeds = INIT_SEEDS,
  seeds = SEEDS.slice(0, 1),
}: {
  methods: readonly string[];
  models?: readonly PolicyRun['model'][];
  initSeeds?: readonly number[];
  seeds?: readonly number[];
}): PolicyRun[] =>
  seeds.flatMap((seed) =>
    initSeeds.flatMap((initSeed) =>
      models.flatMap((model) => methods.map((method) => ({ method, model, initSeed, seed }))),
    ),
  );

/** The main comparison's runs from the instruct models, with the first seed. */
export const instructRuns = (): PolicyRun[] => listRuns({ methods: BOTH_METHODS });

/** Steps shown by the playground, for one run per method of the main comparison. */
const KEPT_STEPS = [25, 75];
/** From hasty models, an early adapter also answers the fresh test. */
export const EARLY_STEP = 50;
const hasEarlierSteps = (run: PolicyRun): boolean =>
  run.model === 'instruct' &&
  run.initSeed === 1 &&
  run.seed === 1 &&
  !(run.lambdas || run.topK || run.topKs) &&
  MAIN_METHODS.some(({ name }) => name === run.method);
export const keptSteps = (run: PolicyRun): readonly number[] => {
  if (run.model === 'hasty') return [EARLY_STEP];
  return hasEarlierSteps(run) ? KEPT_STEPS : [];
};

/** Folder of the adapter at a step, in {@link adapterFolder}. */
export const stepFolder = (numSteps: number): string => `step-${numSteps}`;
