/**
 * Steps of the paper's run, simulated: of both methods, on the same draws of questions.
 */
import { max, mean, min, quantile, range, sum } from 'd3-array';
import type { Interval } from '../../evaluation/bootstrap.js';
import { createRandom } from '../../random.js';
import { requestMs, searchMs, type MeasuredScale } from './measured.js';
import {
  AGENT,
  ASSUMED,
  gpuEngine,
  PAPER_RUN,
  SEARCH_CORES,
  updateMs,
  type Assumptions,
} from './settings.js';
import {
  aloneMs,
  SCHEDULES,
  simulateRollouts,
  type Cluster,
  type RolloutShape,
  type Schedule,
  type SimulatedTime,
} from './simulation.js';

export const METHODS = ['parallelsearch', 'search-r1'] as const;
export type Method = (typeof METHODS)[number];

/** Shapes of rollouts by kind of question and method. */
export type ShapesOf = Readonly<Record<string, Record<Method, RolloutShape[]>>>;

/** Searches at the paper's size: over this graph in memory, and over this database. */
const SEARCHES = ['hnsw', 'milvus'] as const;
type Search = (typeof SEARCHES)[number];

/** Draws of a step's questions. */
export const DRAWS = 5;

/**
 * Tokens that a rollout has in the end: those of the prompt, what was written and what
 * was found.
 */
const tokensOf = (shape: RolloutShape, { promptTokens, foundTokens }: Cluster): number =>
  promptTokens +
  sum(shape, ({ written, subQueries }) => written + (subQueries > 0 ? foundTokens(subQueries) : 0));

/** The rollouts of a step: questions drawn at random, each answered by a group. */
function drawRollouts(shapes: readonly RolloutShape[], seed: number): RolloutShape[] {
  const random = createRandom(`scale/${seed}`);
  return range(PAPER_RUN.questions).flatMap(() => {
    const shape = shapes[random.integer(shapes.length)];
    return range(PAPER_RUN.groupSize).map(() => shape);
  });
}

function paperCluster(measured: MeasuredScale, search: Search, assumed: Assumptions): Cluster {
  const { foundPerQuery, mostFoundPerTurn, promptTokens } = AGENT;
  return {
    engine: gpuEngine(assumed.gpuSpeed),
    replicas: PAPER_RUN.gpus,
    promptTokens,
    inFlight: (PAPER_RUN.questions * PAPER_RUN.groupSize) / PAPER_RUN.gpus,
    search: {
      requestMs: requestMs(measured),
      servers: SEARCH_CORES,
      serviceMs: searchMs(measured, search) * assumed.searchTime,
    },
    foundTokens: (subQueries) =>
      Math.min(assumed.cut * mostFoundPerTurn, subQueries * assumed.found * foundPerQuery),
  };
}

/** A simulated step. */
interface Step extends SimulatedTime {
  updateMs: number;
  /** The longest rollout if it had everything to itself. */
  aloneMs: number;
}

function simulateStep(
  rollouts: readonly RolloutShape[],
  cluster: Cluster,
  schedule: Schedule,
  speed: number,
): Step {
  const tokens = sum(rollouts, (shape) => tokensOf(shape, cluster));
  return {
    ...simulateRollouts(rollouts, cluster, schedule),
    updateMs: updateMs(tokens, PAPER_RUN.gpus, speed),
    aloneMs: max(rollouts, (shape) => aloneMs(shape, cluster))!,
  };
}

const spread = (values: readonly number[]): Interval => {
  const [value, low, high] = [quantile(values, 0.5)!, min(values)!, max(values)!];
  return { value, low, high };
};

/** Whole steps, milliseconds to seconds. */
const METRICS: Readonly<Record<string, (step: Step) => number>> = {
  rollout_seconds: ({ totalMs }) => totalMs / 1000,
  step_seconds: (step) => (step.totalMs + step.updateMs) / 1000,
  alone_seconds: (step) => step.aloneMs / 1000,
};

/** What the methods are compared in. */
const COMPARED = Object.entries(METRICS).filter(([metric]) => metric !== 'alone_seconds');

/** Where the time of a step goes. */
const PARTS = [
  ['writing', 'decodingMs'],
  ['reading', 'readingMs'],
  ['searching', 'searchingMs'],
  ['waiting for others', 'idleMs'],
  ['updating the weights', 'updateMs'],
] as const;

/** Steps of the paper's run, of both methods on the same draws of questions. */
export function simulatePaper(shapes: ShapesOf, measured: MeasuredScale) {
  const steps = (
    kind: string,
    method: Method,
    search: Search,
    schedule: Schedule,
    assumed = ASSUMED,
  ) => {
    const cluster = paperCluster(measured, search, assumed);
    return range(DRAWS).map((seed) => {
      const drawn = drawRollouts(shapes[kind][method], seed);
      const rollouts = drawn.map((shape) =>
        shape.map((call) => ({ ...call, written: call.written * assumed.written })),
      );
      return simulateStep(rollouts, cluster, schedule, assumed.gpuSpeed);
    });
  };
  const settings = Object.keys(shapes).flatMap((questions) =>
    SEARCHES.flatMap((search) => SCHEDULES.map((schedule) => ({ questions, search, schedule }))),
  );
  const simulated = settings.map((setting) => {
    const { questions, search, schedule } = setting;
    const [ours, theirs] = METHODS.map((method) => steps(questions, method, search, schedule));
    return { setting, of: { parallelsearch: ours, 'search-r1': theirs } };
  });
  const rows = simulated.flatMap(({ setting, of }) =>
    METHODS.flatMap((method) =>
      Object.entries(METRICS).map(([metric, take]) => ({
        method,
        ...setting,
        metric,
        ...spread(of[method].map(take)),
        n: DRAWS,
      })),
    ),
  );
  const contrasts = simulated.flatMap(({ setting, of }) =>
    COMPARED.map(([metric, take]) => ({
      method: 'parallelsearch',
      against: 'search-r1',
      ...setting,
      metric,
      kind: 'ratio',
      ...spread(of.parallelsearch.map((step, i) => take(step) / take(of['search-r1'][i]))),
      n: DRAWS,
    })),
  );
  const parts = simulated.flatMap(({ setting, of }) =>
    METHODS.flatMap((method) =>
      PARTS.map(([part, key]) => ({
        method,
        ...setting,
        part,
        value: mean(of[method], (step) => step[key])! / 1000,
      })),
    ),
  );
  const sensitivity = (Object.keys(ASSUMED) as (keyof Assumptions)[]).flatMap((assumption) =>
    [0.5, 2].flatMap((factor) => {
      const assumed = { ...ASSUMED, [assumption]: factor };
      const [ours, theirs] = METHODS.map((method) =>
        steps('parallelizable', method, 'hnsw', 'overlapping', assumed),
      );
      return (['rollout_seconds', 'step_seconds'] as const).map((metric) => {
        const seconds = spread(theirs.map(METRICS[metric])).value;
        const ratio = spread(
          ours.map((step, i) => METRICS[metric](step) / METRICS[metric](theirs[i])),
        ).value;
        return { assumption, factor, metric, seconds, ratio };
      });
    }),
  );
  return { rows, contrasts, parts, sensitivity };
}
