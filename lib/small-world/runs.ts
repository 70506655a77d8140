/** The runs of reinforcement in the small world: which there are, and how each is configured. All have the same steps, rollouts and limits. */
import type { Lambdas, TrainConfig } from '../methods/config.js';
import { parseTrainConfig } from '../methods/config.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { initialModelName } from './train-models.js';
import { SMALL_ROLLOUT } from './rollout.js';
import type { WarmUpName } from './warm-up/recipes.js';

export interface SmallRun {
  method: 'search-r1' | 'parallelsearch';
  model: WarmUpName;
  /** Seed of the initial model. */
  warmUp: number;
  /** Seed of reinforcement. */
  seed: number;
  /** Where it differs from the paper's weights, its passages a query or its search turns. */
  lambdas?: Lambdas;
  topK?: number;
  maxSearchTurns?: number;
}

/** A name for files, such as `instruct-2-parallelsearch-seed1`. */
export function smallRunName({
  method,
  model,
  warmUp,
  seed,
  lambdas,
  topK,
  maxSearchTurns,
}: SmallRun): string {
  const variants = [
    lambdas && `d${lambdas.lambdaD}-s${lambdas.lambdaS}`,
    topK && `k${topK}`,
    maxSearchTurns && `b${maxSearchTurns}`,
  ];
  return [initialModelName(model, warmUp), method, ...variants.filter(Boolean), `seed${seed}`].join('-');
}

const WARM_UPS = [1, 2, 3];
const MODELS: readonly WarmUpName[] = ['base', 'instruct'];
const TRAINED = ['search-r1', 'parallelsearch'] as const;

/** The main comparison: both methods from every initial model, with two seeds. */
export const mainRuns = (): SmallRun[] =>
  [1, 2].flatMap((seed) =>
    WARM_UPS.flatMap((warmUp) =>
      MODELS.flatMap((model) => TRAINED.map((method): SmallRun => ({ method, model, warmUp, seed }))),
    ),
  );

/** Search-R1 with the four search turns of the authors' code. */
export const fewerTurnsRuns = (): SmallRun[] =>
  WARM_UPS.flatMap((warmUp) =>
    MODELS.map((model): SmallRun => ({ method: 'search-r1', model, warmUp, seed: 1, maxSearchTurns: 4 })),
  );

/** Both methods trained with one passage a query. */
export const onePassageRuns = (): SmallRun[] =>
  WARM_UPS.flatMap((warmUp) =>
    TRAINED.map((method): SmallRun => ({ method, model: 'instruct', warmUp, seed: 1, topK: 1 })),
  );

/** ParallelSearch with other weights of its two rewards. */
export const lambdaRuns = (settings: readonly Lambdas[]): SmallRun[] =>
  WARM_UPS.flatMap((warmUp) =>
    settings.map((lambdas): SmallRun => ({
      method: 'parallelsearch',
      model: 'instruct',
      warmUp,
      seed: 1,
      lambdas,
    })),
  );

/** The training configuration of a run. */
export function configOf({
  method,
  model,
  warmUp,
  seed,
  lambdas,
  topK,
  maxSearchTurns,
}: SmallRun): TrainConfig {
  const { training } = METHODS.get(method);
  if (!training || !('rewards' in training))
    throw new RangeError(`Expected a method that is trained, but got ${method}.`);
  const overrides = { ...(topK && { topK }), ...(maxSearchTurns && { maxSearchTurns }) };
  return parseTrainConfig({
    ...{ method, model: initialModelName(model, warmUp), seed },
    rollout: { ...rolloutConfigOf(method), ...SMALL_ROLLOUT, ...overrides },
    rewards: { preset: training.rewards, ...lambdas },
    grpo: {
      ...{ steps: 200, learningRate: 1e-3, warmupSteps: 10, miniBatches: 1, maxTokensPerPass: 2048 },
      mix: { singleHop: 0.2, sequential: 0.25, comparisons: [0.17, 0.14, 0.12, 0.12] },
    },
    lora: { rank: 4, alpha: 8 },
    checkpointEvery: 20,
  });
}
