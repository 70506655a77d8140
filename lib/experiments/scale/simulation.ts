/**
 * How long the rollouts of a GRPO step take on several engines: a simulation by events.
 * An engine decodes a token for each of its rows at a time, and reads what is found
 * before it goes on; searches queue for a service. Nothing is known of tokens but how
 * many there are.
 */
import { bisector, max, mean, min, minIndex, quantile, range, sum } from 'd3-array';
import { join } from 'node:path';
import { z } from 'zod';
import type { Interval } from '../../evaluation/bootstrap.js';
import { matching } from '../../evaluation/table.js';
import { readJson } from '../../io/files.js';
import { packagePath } from '../../io/paths.js';
import { createRandom } from '../../random.js';

/**
 * A call of the model: the tokens that it writes, and the sub-queries that it then asks;
 * none where it answers.
 */
export interface Call {
  written: number;
  subQueries: number;
}
/** The calls of a rollout, one after another. */
export type RolloutShape = readonly Call[];

export interface Engine {
  /** Milliseconds of a decoding step, in which each of so many rows gets a token. */
  stepMs(rows: number): number;
  /** Milliseconds to read so many tokens, in which nothing is decoded. */
  readMs(tokens: number): number;
}

export interface SearchService {
  /** Milliseconds of a request beside the search itself. */
  requestMs: number;
  /** Milliseconds of work for a sub-query. */
  serviceMs: number;
  /** Sub-queries that are worked on at a time. */
  servers: number;
}

/**
 * `turn by turn`: all rollouts write, then all search, and each waits for the slowest;
 * `overlapping`: each goes at its own pace.
 */
export const SCHEDULES = ['turn by turn', 'overlapping'] as const;
export type Schedule = (typeof SCHEDULES)[number];

export interface Cluster {
  engine: Engine;
  /** Engines side by side; rollouts are dealt out to them in turn. */
  replicas: number;
  /** Rollouts under way at a time on each. */
  inFlight: number;
  search: SearchService;
  /** Tokens of a prompt. */
  promptTokens: number;
  /** Tokens that a turn of so many sub-queries brings. */
  foundTokens: (subQueries: number) => number;
}

/** Milliseconds, of the engines' mean but for the total; the four parts add up to it. */
export interface SimulatedTime {
  totalMs: number;
  decodingMs: number;
  readingMs: number;
  /** Nothing to decode while searches are under way. */
  searchingMs: number;
  /** Nothing to do until other engines are done. */
  idleMs: number;
}

interface Row {
  shape: RolloutShape;
  call: number;
  replica: Replica;
}

interface Replica {
  /** Milliseconds of reading that are left. */
  reading: number;
  /** Tokens that a row decoding from the beginning would have by now. */
  decoded: number;
  /** Rows that decode, by the `decoded` at which their call ends. */
  active: { row: Row; end: number }[];
  decodingMs: number;
  readingMs: number;
  searchingMs: number;
  idleMs: number;
}

const byEnd = bisector(({ end }: { end: number }) => end);
const byTime = bisector(({ time }: { time: number }) => time);
/** Rounding, in tokens and milliseconds. */
const TINY = 1e-9;

/** The rollouts of a step, in the order given. */
export function simulateRollouts(
  shapes: readonly RolloutShape[],
  cluster: Cluster,
  schedule: Schedule,
): SimulatedTime {
  const { engine, search } = cluster;
  const replicas = range(cluster.replicas).map((): Replica => {
    const spent = { decodingMs: 0, readingMs: 0, searchingMs: 0, idleMs: 0 };
    return { reading: 0, decoded: 0, active: [], ...spent };
  });
  const waiting = shapes.map((shape, i): Row => ({
    shape,
    call: 0,
    replica: replicas[i % replicas.length],
  }));
  const serverFree = new Array<number>(search.servers).fill(0);
  const found: { row: Row; time: number }[] = [];
  /** Turn by turn: those that have written and wait for the others to have done so. */
  let together: Row[] = [];
  let now = 0;

  const write = (row: Row, tokensRead: number): void => {
    const { replica, shape, call } = row;
    replica.reading += engine.readMs(tokensRead);
    const end = replica.decoded + shape[call].written;
    replica.active.splice(byEnd.right(replica.active, end), 0, { row, end });
  };
  const start = (row: Row | undefined): void => {
    if (row) write(row, cluster.promptTokens);
  };
  /** When the search of a row is done. */
  const searched = ({ shape, call }: Row): number => {
    const ends = range(shape[call].subQueries).map(() => {
      const server = minIndex(serverFree);
      return (serverFree[server] = Math.max(serverFree[server], now) + search.serviceMs);
    });
    return max(ends)! + search.requestMs;
  };
  const find = (row: Row, time: number): void => {
    found.splice(byTime.right(found, time), 0, { row, time });
  };
  const written = (row: Row): void => {
    if (row.shape[row.call].subQueries > 0) {
      if (schedule === 'overlapping') find(row, searched(row));
      else together.push(row);
    } else if (schedule === 'overlapping') {
      const next = waiting.findIndex(({ replica }) => replica === row.replica);
      if (next >= 0) start(waiting.splice(next, 1)[0]);
    }
  };
  const startBatch = (): void =>
    waiting.splice(0, cluster.inFlight * replicas.length).forEach(start);
  const nextEventOf = ({ reading, decoded, active }: Replica): number => {
    if (active.length === 0) return Infinity;
    return reading > 0 ? reading : (active[0].end - decoded) * engine.stepMs(active.length);
  };

  startBatch();
  for (;;) {
    const isBusy = replicas.some(({ active }) => active.length > 0);
    if (!isBusy && found.length === 0) {
      if (together.length === 0 && waiting.length === 0) break;
      const last = max(together.map(searched));
      together.forEach((row) => find(row, last!));
      if (together.length === 0) startBatch();
      together = [];
      continue;
    }
    const ms = Math.min(...replicas.map(nextEventOf), (found[0]?.time ?? Infinity) - now);
    for (const replica of replicas) {
      if (replica.active.length === 0) replica[found.length > 0 ? 'searchingMs' : 'idleMs'] += ms;
      else if (replica.reading > 0) {
        replica.readingMs += ms;
        replica.reading -= ms;
        if (replica.reading < TINY) replica.reading = 0;
      } else {
        replica.decodingMs += ms;
        replica.decoded += ms / engine.stepMs(replica.active.length);
      }
    }
    now += ms;
    for (const replica of replicas) {
      if (replica.reading > 0) continue;
      const numDone = byEnd.right(replica.active, replica.decoded + TINY);
      for (const { row } of replica.active.splice(0, numDone)) written(row);
    }
    for (const { row } of found.splice(0, byTime.right(found, now + TINY))) {
      const tokens = cluster.foundTokens(row.shape[row.call].subQueries);
      row.call++;
      write(row, tokens);
    }
  }
  const meanOf = (part: keyof SimulatedTime & keyof Replica): number =>
    sum(replicas, (replica) => replica[part]) / replicas.length;
  return {
    totalMs: now,
    decodingMs: meanOf('decodingMs'),
    readingMs: meanOf('readingMs'),
    searchingMs: meanOf('searchingMs'),
    idleMs: meanOf('idleMs'),
  };
}

/**
 * A rollout that has everything to itself, milliseconds: what more machines cannot
 * shorten.
 */
export function aloneMs(shape: RolloutShape, { engine, search, ...cluster }: Cluster): number {
  const ofCall = ({ written, subQueries }: Call): number =>
    written * engine.stepMs(1) +
    (subQueries > 0
      ? Math.ceil(subQueries / search.servers) * search.serviceMs +
        search.requestMs +
        engine.readMs(cluster.foundTokens(subQueries))
      : 0);
  return engine.readMs(cluster.promptTokens) + sum(shape, ofCall);
}

/**
 * Appendix A.4, and Search-R1's GRPO script: a step's rollouts, and the machine that they
 * run on.
 */
export const PAPER_RUN = {
  questions: 512,
  groupSize: 5,
  gpus: 8,
  steps: 500,
  topK: 3,
  passages: 21_015_324,
  dimensions: 768,
};

/**
 * What an agent of 3 or 7 billion parameters reads and writes: means over 275 recorded
 * rollouts of Search-R1, 634 calls of the model, in tokens of SmolLM2. The paper cuts
 * what a turn brings at 500.
 */
export const AGENT = {
  promptTokens: 156,
  writtenPerCall: 62,
  foundPerQuery: 482,
  mostFoundPerTurn: 500,
};

/** Qwen2.5-7B as its configuration has it; bfloat16. */
const MODEL = { parameters: 7.62e9, keyValueBytesPerToken: 2 * 28 * 4 * 128 * 2 };
/**
 * NVIDIA's data sheet of the H100 SXM: bytes and multiplications (dense, bfloat16) a
 * second.
 */
const GPU = { bytesPerSecond: 3.35e12, operationsPerSecond: 989e12 };
/** Shares of that which are taken to be reached: assumed, not measured. */
const REACHED = { bandwidth: 0.8, generating: 0.5, training: 0.4 };
/** Mean context while decoding. */
const CONTEXT_TOKENS = 1000;
const BYTES = 2;

/** What is not measured can be off: each is halved and doubled on the page. */
export interface Assumptions {
  /** Speed of a GPU over {@link GPU}'s. */
  gpuSpeed: number;
  /** Tokens a call over {@link AGENT}'s. */
  written: number;
  /** Tokens found a sub-query over {@link AGENT}'s. */
  found: number;
  /** Most tokens that a turn brings over {@link AGENT}'s. */
  cut: number;
  /** Time of a search over the measured one. */
  searchTime: number;
}
export const ASSUMED: Assumptions = { gpuSpeed: 1, written: 1, found: 1, cut: 1, searchTime: 1 };

/** Milliseconds of so many floating-point operations. */
const computeMs = (operations: number, reached: number): number =>
  (operations / (GPU.operationsPerSecond * reached)) * 1000;

/**
 * A GPU that holds the whole model: a step reads all weights once and each row's keys and
 * values.
 */
export function gpuEngine(speed: number): Engine {
  const readMs = (bytes: number): number =>
    (bytes / (GPU.bytesPerSecond * REACHED.bandwidth)) * 1000;
  const tokenMs = computeMs(2 * MODEL.parameters, REACHED.generating);
  return {
    stepMs: (rows) =>
      Math.max(
        readMs(MODEL.parameters * BYTES + rows * CONTEXT_TOKENS * MODEL.keyValueBytesPerToken),
        rows * tokenMs,
      ) / speed,
    readMs: (tokens) => (tokens * tokenMs) / speed,
  };
}

/**
 * Milliseconds of the update with so many tokens in all rollouts, on all GPUs:
 * log-probabilities of the policy and of the reference (2 operations a parameter and
 * token each), then forward, forward again (checkpointing) and backward (8).
 */
export const updateMs = (tokens: number, gpus: number, speed: number): number =>
  computeMs((2 + 2 + 8) * MODEL.parameters * tokens, REACHED.training) / gpus / speed;

/** Cores of the retrieval server. */
export const SEARCH_CORES = 64;

const spreadSchema = z.tuple([z.number(), z.number(), z.number()]);
const provenance = z.record(z.string(), z.unknown());

/** `npm run bench -- rollouts`, one for each engine. */
const rolloutsSchema = z.array(
  z.object({
    engine: z.string(),
    rows: z.array(
      z.object({
        schedule: z.enum(['turn by turn', 'overlapping']),
        rows: z.number(),
        delayMs: z.number(),
        /** Least, median, most. */
        questionsPerSecond: spreadSchema,
        tokensPerSecond: spreadSchema,
        ratioOfSeconds: spreadSchema.optional(),
      }),
    ),
    provenance,
  }),
);

/** `npm run bench -- turns`. */
const turnsSchema = z.object({
  rows: z.array(
    z.object({
      retriever: z.string(),
      asked: z.enum(['in turns', 'one turn']),
      sub_queries: z.number(),
      /** Milliseconds: median and quartiles. */
      value: z.number(),
      low: z.number(),
      high: z.number(),
      n: z.number(),
    }),
  ),
  provenance,
});

/** `npm run bench -- vector-index`. */
const indexesSchema = z.object({
  dimensions: z.number(),
  rows: z.array(
    z.object({
      engine: z.string(),
      size: z.number(),
      buildSeconds: z.number(),
      memoryMb: z.number().nullable(),
      recall: z.number(),
      /** Median and 99th percentile. */
      oneQueryMs: z.tuple([z.number(), z.number()]),
    }),
  ),
  fits: z.array(
    z.object({
      engine: z.string(),
      what: z.string(),
      exponent: z.number(),
      atPaperSize: z.number(),
    }),
  ),
  provenance,
});

const read = async <T>(name: string, schema: z.ZodType<T>): Promise<T> =>
  schema.parse(await readJson(join(packagePath('data', 'scale'), `${name}.json`)));

export const readMeasured = async () => ({
  engines: await read('rollouts', rolloutsSchema),
  turns: await read('turns', turnsSchema),
  indexes: await read('vector-index', indexesSchema),
});
export type MeasuredScale = Awaited<ReturnType<typeof readMeasured>>;

/**
 * Milliseconds of work for a search among the paper's passages: the power law through the
 * measured sizes, by the vectors' length.
 */
export function searchMs({ indexes }: MeasuredScale, engine: string): number {
  const [{ atPaperSize }] = matching(indexes.fits, { engine, what: 'oneQueryMs' });
  return atPaperSize * (PAPER_RUN.dimensions / indexes.dimensions);
}

/**
 * Milliseconds that a request to a server takes beside the search: HTTP over the same
 * index in the process, measured.
 */
export function requestMs({ turns }: MeasuredScale): number {
  const one = (retriever: string): number =>
    matching(turns.rows, { retriever, asked: 'one turn', sub_queries: 1 })[0].value;
  return one('http') - one('bm25');
}

/** Throughput by engine, schedule and rows at a time, where a search takes no time. */
export const throughputOf = ({ engines }: MeasuredScale) =>
  engines.flatMap(({ engine, rows }) =>
    matching(rows, { delayMs: 0 }).flatMap(({ schedule, rows: inFlight, ...measured }) =>
      (
        [
          ['questions_per_second', measured.questionsPerSecond],
          ['tokens_per_second', measured.tokensPerSecond],
        ] as const
      ).map(([metric, [low, value, high]]) => ({
        engine: schedule === 'overlapping' ? `${engine}, overlapping` : engine,
        rows: inFlight,
        metric,
        value,
        low,
        high,
      })),
    ),
  );

/** Each index at the paper's size, by the power laws through the measured ones. */
export function atPaperSizeOf({ indexes }: MeasuredScale) {
  const byDimensions = PAPER_RUN.dimensions / indexes.dimensions;
  const engines = [...new Set(indexes.rows.map(({ engine }) => engine))];
  return engines.map((engine) => {
    const of = (what: string) => matching(indexes.fits, { engine, what })[0];
    const at = (what: string): number | null => {
      const fit = of(what);
      return fit ? fit.atPaperSize * byDimensions : null;
    };
    const [memory, build, query] = [at('memoryMb'), at('buildSeconds'), at('oneQueryMs')];
    return {
      engine,
      gigabytes: memory === null ? null : memory / 1024,
      build_hours: build! / 3600,
      query_ms: query,
      build_exponent: of('buildSeconds').exponent,
      query_exponent: of('oneQueryMs').exponent,
    };
  });
}

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

interface Setting {
  schedule: Schedule;
  /** Questions at a time. */
  rows: number;
  delayMs: number;
}

/**
 * An engine of which the time of a step is known at some numbers of rows; between these,
 * a straight line. Reading is in its steps.
 */
const engineThrough = (points: readonly (readonly [rows: number, stepMs: number])[]): Engine => ({
  stepMs: (rows) => {
    const after = points.findIndex(([at]) => at >= rows);
    if (after === 0) return points[0][1];
    const [[x0, y0], [x1, y1]] = points.slice(after < 0 ? -2 : after - 1);
    return y0 + ((y1 - y0) * (rows - x0)) / (x1 - x0);
  },
  readMs: () => 0,
});

/** Questions a second. */
function simulated(
  shapes: readonly RolloutShape[],
  engine: Engine,
  { schedule, rows, delayMs }: Setting,
): number {
  const search = { requestMs: delayMs, serviceMs: 0, servers: 1 };
  const cluster = {
    engine,
    search,
    replicas: 1,
    inFlight: rows,
    promptTokens: 0,
    foundTokens: () => 0,
  };
  return (1000 * shapes.length) / simulateRollouts(shapes, cluster, schedule).totalMs;
}

const ROUNDS = 20;

/**
 * The engine with which the simulation answers as many questions a second turn by turn,
 * without a delay, as were measured.
 */
function fittedEngine(
  measured: readonly { rows: number; questionsPerSecond: readonly number[] }[],
  shapes: readonly RolloutShape[],
): Engine {
  const points = measured.map(({ rows }): [number, number] => [rows, 1]);
  for (let round = 0; round < ROUNDS; round++)
    for (const [
      i,
      {
        rows,
        questionsPerSecond: [, median],
      },
    ] of measured.entries())
      points[i][1] *=
        simulated(shapes, engineThrough(points), { schedule: 'turn by turn', rows, delayMs: 0 }) /
        median;
  return engineThrough(points);
}

const numSubQueries = (shape: RolloutShape): number => sum(shape, ({ subQueries }) => subQueries);

/**
 * What the simulation says of delays that were measured. @param asked the shapes of the
 * questions in the order in which the benchmark draws them
 */
export const checksOf = ({ engines }: MeasuredScale, asked: readonly RolloutShape[]) =>
  engines
    .filter(({ rows }) => rows.some(({ delayMs }) => delayMs > 0))
    .flatMap(({ engine, rows, provenance }) => {
      // Evaluation puts questions of like shape beside each other.
      const shapes = asked
        .slice(0, Number(provenance.questions))
        .toSorted((a, b) => a.length - b.length || numSubQueries(a) - numSubQueries(b));
      const fitted = fittedEngine(matching(rows, { schedule: 'turn by turn', delayMs: 0 }), shapes);
      return rows
        .filter(({ delayMs }) => delayMs > 0)
        .map((row) => {
          const [low, value, high] = row.questionsPerSecond;
          const where = { engine, schedule: row.schedule, rows: row.rows, delay_ms: row.delayMs };
          return { ...where, value, low, high, simulated: simulated(shapes, fitted, row) };
        });
    });
