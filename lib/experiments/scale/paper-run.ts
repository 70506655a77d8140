/**
 * Simulates the paper's run. Lists what was measured for it, taken from data sheets, and
 * assumed; simulates steps of both methods on the same draws of questions.
 */
import { cross, max, mean, min, quantile, range, sum } from 'd3-array';
import type { Interval } from '../../evaluation/estimate.js';
import { matching } from '../../evaluation/figures.js';
import { readJson } from '../../io/files.js';
import { packagePath } from '../../io/paths.js';
import type { Provenance } from '../../io/provenance.js';
import { createRandom } from '../../random.js';
import { BOTH_METHODS } from '../../training/methods.js';
import {
  aloneMs,
  SCHEDULES,
  simulateRollouts,
  type Cluster,
  type Engine,
  type RolloutShape,
  type Schedule,
  type SimulatedTime,
} from './simulation.js';

/** Rollouts per step and hardware, from Appendix A.4 and Search-R1's GRPO script. */
export const PAPER_RUN = {
  questions: 512,
  groupSize: 5,
  gpus: 8,
  passages: 21_015_324,
  dimensions: 768,
};

/**
 * What an agent of 3 to 7 billion parameters reads and writes: means over 275 recorded
 * rollouts of Search-R1 (634 model calls), in SmolLM2 tokens. The paper truncates a turn
 * at 500.
 */
export const AGENT = {
  promptTokens: 156,
  writtenPerCall: 62,
  foundPerQuery: 482,
  mostFoundPerTurn: 500,
};

/** Qwen2.5-7B's configuration, in bfloat16. */
const MODEL = { parameters: 7.62e9, keyValueBytesPerToken: 2 * 28 * 4 * 128 * 2 };
/** NVIDIA H100 SXM by data sheet: bytes and dense bfloat16 operations per second. */
const GPU = { bytesPerSecond: 3.35e12, operationsPerSecond: 989e12 };
/** Utilisation of these limits: assumed, not measured. */
const REACHED = { bandwidth: 0.8, generating: 0.5, training: 0.4 };
/** Mean context length while decoding: assumed. */
const CONTEXT_TOKENS = 1000;
const BYTES_PER_PARAMETER = 2;
const SEARCH_CORES = 64;
/** Number of draws of a step's questions. */
const DRAWS = 5;

/** Factors for what is not measured; the sensitivity table halves and doubles each. */
const ASSUMED = { gpuSpeed: 1, written: 1, found: 1, cut: 1, searchTime: 1 };
type Assumptions = typeof ASSUMED;

const computeMs = (operations: number, reached: number): number =>
  (operations / (GPU.operationsPerSecond * reached)) * 1000;

/** A GPU with the whole model. A step reads all weights once, and each row's cache. */
function gpuEngine(speed: number): Engine {
  const readMs = (bytes: number): number =>
    (bytes / (GPU.bytesPerSecond * REACHED.bandwidth)) * 1000;
  const tokenMs = computeMs(2 * MODEL.parameters, REACHED.generating);
  return {
    stepMs: (rows) => {
      const cacheBytes = rows * CONTEXT_TOKENS * MODEL.keyValueBytesPerToken;
      const memoryMs = readMs(MODEL.parameters * BYTES_PER_PARAMETER + cacheBytes);
      return Math.max(memoryMs, rows * tokenMs) / speed;
    },
    readMs: (tokens) => (tokens * tokenMs) / speed,
  };
}

/**
 * Milliseconds of an update over so many tokens on all GPUs, in operations per parameter
 * and token: 2 each for the log-probs of policy and reference, 8 for forward, recomputed
 * forward and backward.
 */
const updateMs = (tokens: number, speed: number): number =>
  computeMs((2 + 2 + 8) * MODEL.parameters * tokens, REACHED.training) / PAPER_RUN.gpus / speed;

type Spread = readonly [least: number, median: number, most: number];

/** The results of the benchmarks in `bench/`. */
export interface MeasuredScale {
  /** From `npm run bench -- rollouts`. */
  engines: {
    engine: string;
    rows: {
      schedule: Schedule;
      rows: number;
      delayMs: number;
      questionsPerSecond: Spread;
      tokensPerSecond: Spread;
    }[];
    provenance: Provenance;
  }[];
  /** From `npm run bench -- turns`: milliseconds, median and quartiles. */
  turns: {
    rows: (Interval &
      Record<'retriever' | 'asked', string> &
      Record<'sub_queries' | 'n', number>)[];
    provenance: Provenance;
  };
  /** From `npm run bench -- vector-index`. */
  indexes: {
    dimensions: number;
    rows: {
      engine: string;
      size: number;
      buildSeconds: number;
      memoryMb: number | null;
      recall: number;
      oneQueryMs: readonly [median: number, percentile99: number];
      fourQueriesMs: readonly [median: number, percentile99: number];
    }[];
    /** Power laws through the measured sizes. */
    fits: { engine: string; what: string; exponent: number; atPaperSize: number }[];
    provenance: Provenance;
  };
}

/** Reads the measurements in `data/scale`. */
export async function readMeasured(): Promise<MeasuredScale> {
  const names = ['rollouts', 'turns', 'vector-index'];
  const files = names.map((name) => readJson(packagePath('data', 'scale', `${name}.json`)));
  const [engines, turns, indexes] = await Promise.all(files);
  return { engines, turns, indexes } as MeasuredScale;
}

/** Milliseconds per search among the paper's passages, extrapolated. */
function searchMs({ indexes }: MeasuredScale, engine: string): number {
  const [{ atPaperSize }] = matching(indexes.fits, { engine, what: 'oneQueryMs' });
  return atPaperSize * (PAPER_RUN.dimensions / indexes.dimensions);
}

/** Milliseconds that HTTP adds to a search. */
function requestMs({ turns }: MeasuredScale): number {
  const oneQuery = { asked: 'one turn', sub_queries: 1 };
  const [http] = matching(turns.rows, { ...oneQuery, retriever: 'http' });
  const [embedded] = matching(turns.rows, { ...oneQuery, retriever: 'bm25' });
  return http.value - embedded.value;
}

type Method = (typeof BOTH_METHODS)[number];
type ShapesByQuestions = Readonly<Record<string, Record<Method, RolloutShape[]>>>;
const SEARCHES = ['hnsw', 'milvus'];
interface Setting {
  questions: string;
  search: string;
  schedule: Schedule;
}

interface Step extends SimulatedTime {
  updateMs: number;
  /** The time the longest rollout would take alone. */
  aloneMs: number;
}

/** Metrics of a step, in seconds. */
const METRICS = {
  rollout_seconds: ({ totalMs }: Step) => totalMs / 1000,
  step_seconds: (step: Step) => (step.totalMs + step.updateMs) / 1000,
  alone_seconds: (step: Step) => step.aloneMs / 1000,
};
type Metric = keyof typeof METRICS;
const METRIC_NAMES = Object.keys(METRICS) as Metric[];
const COMPARED: readonly Metric[] = ['rollout_seconds', 'step_seconds'];
const PARTS = [
  ['writing', 'decodingMs'],
  ['reading', 'readingMs'],
  ['searching', 'searchingMs'],
  ['waiting for others', 'idleMs'],
  ['updating the weights', 'updateMs'],
] as const;

/** The rollouts of a step: questions drawn at random, each answered by a group. */
function drawRollouts(shapes: readonly RolloutShape[], seed: number): RolloutShape[] {
  const random = createRandom(`scale/${seed}`);
  return range(PAPER_RUN.questions).flatMap(() => {
    const shape = shapes[random.integer(shapes.length)];
    return range(PAPER_RUN.groupSize).map(() => shape);
  });
}

function paperCluster(measured: MeasuredScale, search: string, assumed: Assumptions): Cluster {
  const serviceMs = searchMs(measured, search) * assumed.searchTime;
  return {
    engine: gpuEngine(assumed.gpuSpeed),
    replicas: PAPER_RUN.gpus,
    promptTokens: AGENT.promptTokens,
    inFlight: (PAPER_RUN.questions * PAPER_RUN.groupSize) / PAPER_RUN.gpus,
    search: { requestMs: requestMs(measured), servers: SEARCH_CORES, serviceMs },
    foundTokens: (subQueries) =>
      Math.min(
        assumed.cut * AGENT.mostFoundPerTurn,
        subQueries * assumed.found * AGENT.foundPerQuery,
      ),
  };
}

function simulateSteps(
  shapes: readonly RolloutShape[],
  cluster: Cluster,
  { schedule, assumed }: { schedule: Schedule; assumed: Assumptions },
): Step[] {
  const { promptTokens, foundTokens } = cluster;
  const numTokens = (shape: RolloutShape): number =>
    promptTokens +
    sum(shape, (call) => call.written + (call.subQueries > 0 ? foundTokens(call.subQueries) : 0));
  return range(DRAWS).map((seed) => {
    const rollouts = drawRollouts(shapes, seed).map((shape) =>
      shape.map((call) => ({ ...call, written: call.written * assumed.written })),
    );
    return {
      ...simulateRollouts(rollouts, cluster, schedule),
      updateMs: updateMs(sum(rollouts, numTokens), assumed.gpuSpeed),
      aloneMs: max(rollouts, (shape) => aloneMs(shape, cluster))!,
    };
  });
}

const spread = (values: readonly number[]): Interval => {
  return { value: quantile(values, 0.5)!, low: min(values)!, high: max(values)! };
};

/** Simulates steps of the paper's run; both methods get the same draws of questions. */
export function simulatePaper(shapes: ShapesByQuestions, measured: MeasuredScale) {
  const simulate = ({ questions, search, schedule }: Setting, assumed: Assumptions = ASSUMED) => {
    const cluster = paperCluster(measured, search, assumed);
    const [ours, theirs] = BOTH_METHODS.map((method) =>
      simulateSteps(shapes[questions][method], cluster, { schedule, assumed }),
    );
    return { parallelsearch: ours, 'search-r1': theirs };
  };
  type Steps = ReturnType<typeof simulate>;
  const ratio = (steps: Steps, metric: Metric): Interval => {
    const seconds = METRICS[metric];
    return spread(steps.parallelsearch.map((s, i) => seconds(s) / seconds(steps['search-r1'][i])));
  };
  const settings = cross(Object.keys(shapes), cross(SEARCHES, SCHEDULES)).map(
    ([questions, [search, schedule]]): Setting => ({ questions, search, schedule }),
  );
  const simulated = settings.map((setting) => ({ setting, steps: simulate(setting) }));
  const rows = simulated.flatMap(({ setting, steps }) =>
    cross(BOTH_METHODS, METRIC_NAMES, (method, metric) => {
      const figure = spread(steps[method].map(METRICS[metric]));
      return { method, ...setting, metric, ...figure, n: DRAWS };
    }),
  );
  const sides = { method: 'parallelsearch', against: 'search-r1' };
  const contrasts = simulated.flatMap(({ setting, steps }) =>
    COMPARED.map((metric) => {
      return { ...sides, ...setting, metric, kind: 'ratio', ...ratio(steps, metric), n: DRAWS };
    }),
  );
  const parts = simulated.flatMap(({ setting, steps }) =>
    cross(BOTH_METHODS, PARTS, (method, [part, key]) => {
      return { method, ...setting, part, value: mean(steps[method], (step) => step[key])! / 1000 };
    }),
  );
  const usual: Setting = { questions: 'parallelizable', search: 'hnsw', schedule: 'overlapping' };
  const sensitivity = cross(Object.keys(ASSUMED), [0.5, 2]).flatMap(([assumption, factor]) => {
    const steps = simulate(usual, { ...ASSUMED, [assumption]: factor });
    return COMPARED.map((metric) => {
      const seconds = spread(steps['search-r1'].map(METRICS[metric])).value;
      return { assumption, factor, metric, seconds, ratio: ratio(steps, metric).value };
    });
  });
  return { rows, contrasts, parts, sensitivity };
}

/** An engine whose step time is interpolated linearly between numbers of rows. */
const engineThrough = (points: readonly (readonly [rows: number, stepMs: number])[]): Engine => ({
  stepMs: (rows) => {
    const after = points.findIndex(([at]) => at >= rows);
    if (after === 0) return points[0][1];
    const [[x0, y0], [x1, y1]] = points.slice(after < 0 ? -2 : after - 1);
    return y0 + ((y1 - y0) * (rows - x0)) / (x1 - x0);
  },
  readMs: () => 0,
});

function simulatedRate(
  shapes: readonly RolloutShape[],
  engine: Engine,
  { schedule, rows, delayMs }: { schedule: Schedule; rows: number; delayMs: number },
): number {
  const search = { requestMs: delayMs, serviceMs: 0, servers: 1 };
  const one = { replicas: 1, inFlight: rows, promptTokens: 0, foundTokens: () => 0 };
  const { totalMs } = simulateRollouts(shapes, { engine, search, ...one }, schedule);
  return (1000 * shapes.length) / totalMs;
}

const FIT_ROUNDS = 20;

/**
 * Compares the simulation with measurements of slow searches. The engine is fitted to
 * rates measured turn by turn without a delay, so nothing about delays or overlapping
 * goes in.
 * @param asked shapes of the questions, in the benchmark's order
 */
export function checkSimulation({ engines }: MeasuredScale, asked: readonly RolloutShape[]) {
  const numSubQueries = (shape: RolloutShape): number => sum(shape, (call) => call.subQueries);
  return engines
    .filter(({ rows }) => rows.some(({ delayMs }) => delayMs > 0))
    .flatMap(({ engine, rows, provenance: { questions } }) => {
      // Evaluation batches questions of similar shape.
      const shapes = asked
        .slice(0, Number(questions))
        .toSorted((a, b) => a.length - b.length || numSubQueries(a) - numSubQueries(b));
      const undelayed = matching(rows, { schedule: 'turn by turn', delayMs: 0 });
      const points = undelayed.map((row): [number, number] => [row.rows, 1]);
      for (let round = 0; round < FIT_ROUNDS; round++)
        for (const [i, row] of undelayed.entries())
          points[i][1] *=
            simulatedRate(shapes, engineThrough(points), row) / row.questionsPerSecond[1];
      const delayed = rows.filter(({ delayMs }) => delayMs > 0);
      return delayed.map((row) => {
        const [low, value, high] = row.questionsPerSecond;
        const simulated = simulatedRate(shapes, engineThrough(points), row);
        const where = { engine, schedule: row.schedule, rows: row.rows, delay_ms: row.delayMs };
        return { ...where, value, low, high, simulated };
      });
    });
}
