/**
 * A language model on real questions: before and after RL by either method, on
 * eight benchmarks.
 */
import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { group, sort, sum } from 'd3-array';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { Measurement, QuestionResult } from '../../evaluation/result.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import {
  matching,
  where,
  type Fields,
  type MethodPair,
  type SummaryOptions,
} from '../../evaluation/table.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { loadLocalPolicy } from '../../policy/model-folder.js';
import { intervalChart } from '../../report/chart.js';
import { trainingRows, type CurvePoint } from '../../report/curves.js';
import { gapWords, shareWords } from '../../report/text.js';
import { formatTrajectory, type Trajectory } from '../../rollout/trajectory.js';
import { answerInBatches, count, mergeAnswers } from '../answers.js';
import { type DevPoint, readLines } from '../publish.js';
import {
  computation,
  type Experiment,
  type Job,
  type ResultParts,
  type WorkContext,
} from '../experiment.js';
import { FAILURES } from '../failures.js';
import {
  findFigure,
  findValue,
  percent,
  resultParts,
  summarise,
  type Predicted,
} from '../report.js';
import { mergeProvenance, readRecords, readRows, requireResults, type Done } from '../records.js';
import {
  addTiming,
  SECONDS,
  timeAnswers,
  type Contestant,
  type TimedAnswer,
  type Timing,
} from '../timing.js';
import {
  adapterPath,
  answeringAdapter,
  ANSWERING,
  askedQuestions,
  BATCH_SIZE,
  BY_TOP_K,
  DEFAULT_TOP_K,
  FOLDERS,
  INITIAL,
  isTrained,
  LIVE_BATCH_SIZE,
  loadRealWorld,
  missingInputs,
  MULTI_HOP,
  NUM_TIMED,
  numTest,
  realRollout,
  realRunName,
  RETRIEVER,
  TIMED,
  timedQuestions,
  TRAINED,
  TRANSCRIPTS,
  WARM_UP,
  type RealRun,
  type RealWorld,
} from './settings.js';
import { makeInitialModel, realTraining } from './train.js';
import { paddedWords } from '../../text/normalize.js';
import { configHash, contentHash } from '../../io/provenance.js';

/** Answers to the test questions, without the benchmarks' texts. */
interface RecordedAnswers {
  run: RealRun;
  measurements: Measurement[];
}
interface RecordedTimes {
  answers: TimedAnswer[];
}

/** Per answer, in a batch with two processes and alone; only for estimates. */
const ROUGH_SECONDS = { batched: 5, alone: 8 };

/** There is one model and one warm-up. */
export const runFields = ({ method, seed }: RealRun) =>
  ({ method, model: 'instruct', initSeed: 1, seed }) as const;

/** Equal words have equal digests; others collide once in 65,536. */
const digest = (text: string): string =>
  createHash('sha256').update(paddedWords(text)).digest('hex').slice(0, 4);

/**
 * Replaces texts by digests: nothing of the benchmarks is kept, and metrics stay the
 * same.
 */
export const withoutTexts = <T extends Measurement>(measurement: T): T => ({
  ...measurement,
  searches: measurement.searches.map((queries) => queries.map(digest)),
  answer: measurement.answer === null ? null : digest(measurement.answer),
});

const askedBenchmarks = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

/** Changes with a run's weights, settings and number of questions. */
async function hashRun(run: RealRun): Promise<string> {
  const adapters = [adapterPath(WARM_UP), answeringAdapter(run)].flatMap((folder) => folder ?? []);
  const files = adapters.map((folder) => join(folder, 'adapter_model.safetensors'));
  return configHash({
    rollout: realRollout(run),
    retriever: RETRIEVER,
    numTest: askedBenchmarks(run).map((benchmark) => numTest(benchmark, run.topK)),
    inputs: await contentHash(files),
  });
}

let world: Promise<RealWorld> | undefined;
/** The benchmarks, loaded once per process. @throws Error naming what is missing */
function openWorld(): Promise<RealWorld> {
  const missing = missingInputs();
  if (missing) throw new Error(`Expected a model and benchmarks, but ${missing}.`);
  return (world ??= loadRealWorld());
}

async function openPolicy(run: RealRun): Promise<LocalPolicy> {
  await makeInitialModel();
  return loadLocalPolicy(INITIAL, { adapter: answeringAdapter(run), name: realRunName(run) });
}

/** Answers a run's questions greedily; full transcripts stay on this machine. */
async function answerAll(run: RealRun, context: WorkContext): Promise<RecordedAnswers | undefined> {
  const start = performance.now();
  const { retriever, ...splits } = await openWorld();
  const file = join(TRANSCRIPTS, `${realRunName(run)}.jsonl`);
  await mkdir(TRANSCRIPTS, { recursive: true });
  const asking = {
    policy: await openPolicy(run),
    retriever,
    questions: askedQuestions(splits, run.topK),
    rollout: realRollout(run),
    batchSize: Number.isFinite(context.until) ? LIVE_BATCH_SIZE : BATCH_SIZE,
    onBatch: (trajectories: readonly Trajectory[]) =>
      appendFile(file, trajectories.map((one) => formatTrajectory({ ...run, ...one })).join('')),
  };
  // Loading does not count: on a busy machine it takes longer than the budget.
  const until = context.until + performance.now() - start;
  const measurements = await answerInBatches(asking, { ...context, until });
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

const answeringJob = async (run: RealRun): Promise<Job<RealRun>> => ({
  key: `real-model/${realRunName(run)}`,
  hash: await hashRun(run),
  input: run,
  seconds: ROUGH_SECONDS.batched * sum(askedBenchmarks(run), (name) => numTest(name, run.topK)),
});

const LANGUAGE_MODEL = { oneDnn: true, missing: missingInputs };

export const realModel: Experiment = {
  name: 'real-model',
  title: 'a language model on real questions, before and after RL',
  computation: computation<RealRun, RecordedAnswers>({
    ...LANGUAGE_MODEL,
    prepare: realTraining,
    work: answerAll,
    jobs: () =>
      Promise.all([...ANSWERING, ...BY_TOP_K].filter((run) => isTrained(run)).map(answeringJob)),
    merged: (recorded, kept) =>
      mergeAnswers(
        recorded,
        (kept as Measurement[][]).map((batch) => batch.map(withoutTexts)),
      ),
  }),
  result: compareRealModel,
};

async function timeRuns(
  runs: readonly RealRun[],
  { onFraction }: WorkContext,
): Promise<RecordedTimes> {
  const { retriever, ...splits } = await openWorld();
  const contestants: Contestant[] = [];
  for (const run of runs)
    contestants.push({
      run: runFields(run),
      policy: await openPolicy(run),
      rollout: realRollout(run),
    });
  const questions = timedQuestions(splits);
  const answers = await timeAnswers(contestants, retriever, questions, { onFraction });
  return { answers: answers.map(withoutTexts) };
}

/** Times belong to a machine: the provenance names it. */
export const realModelTiming: Experiment = {
  name: 'real-model-timing',
  title: 'seconds per real question, methods alternating',
  computation: computation<readonly RealRun[], RecordedTimes>({
    ...LANGUAGE_MODEL,
    processes: 1,
    threads: 2,
    work: timeRuns,
    jobs: async () => {
      if (!TIMED.every((run) => isTrained(run))) return [];
      const runs = await Promise.all(TIMED.map(hashRun));
      const hash = configHash({ numTimed: NUM_TIMED, runs });
      const seconds = ROUGH_SECONDS.alone * 2 * NUM_TIMED * TIMED.length;
      return [{ key: 'real-model-timing/seeds-1', hash, input: TIMED, seconds }];
    },
  }),
};

const METRICS: readonly Metric[] = [
  'em',
  'f1',
  'turns',
  'model_calls',
  'retrievals',
  'decomposition_ratio',
  'evidence_seen',
];
const SUBSETS = ['all', 'parallelizable', 'sequential'];
const isMultiHop = where({ benchmark: MULTI_HOP });
/** HotpotQA and 2WikiMultiHopQA together. */
const multiHopMeasure = (measure: Measure): Measure => ({
  ...measure,
  metric: `${measure.metric}_multi_hop`,
  subsets: SUBSETS,
  includes: (question) => isMultiHop(question) && (measure.includes?.(question) ?? true),
});
const MEASURES = METRICS.map(
  (metric): Measure => ({
    ...mainMeasure(metric),
    // A question's evidence is only known with a dependency graph.
    ...(metric === 'evidence_seen' && { includes: ({ hops }: QuestionKey) => hops !== undefined }),
  }),
);
const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'untrained:parallel'],
  ['search-r1', 'untrained:search-r1'],
  ['parallelsearch', 'r1'],
];
const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'completions/mean_length',
  'kl',
  'entropy',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
];

const OURS = { method: 'parallelsearch', benchmark: 'all', subset: 'all' };
const COMPARISONS = { ...OURS, subset: 'parallelizable' };
const DECOMPOSED = { ...COMPARISONS, metric: 'decomposition_ratio_multi_hop' };
const CALLS = {
  ...COMPARISONS,
  against: 'search-r1',
  metric: 'model_calls_multi_hop',
  kind: 'ratio',
};
const PREDICTED: readonly Predicted[] = [
  {
    prediction: '95 % of ParallelSearch’s transcripts are well formed',
    figure: { ...OURS, metric: 'well_formed' },
    holds: ({ value }) => value >= 0.95,
  },
  {
    prediction: 'ParallelSearch answers 40 % of HotpotQA and 2WikiMultiHopQA',
    figure: { ...OURS, metric: 'em_multi_hop' },
    holds: ({ value }) => value >= 0.4,
  },
  {
    prediction: 'ParallelSearch answers more of them than the model without search',
    figure: { ...OURS, against: 'r1', metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > 0,
  },
  {
    prediction: 'Reinforcement teaches it to decompose 90 % of comparisons',
    figure: DECOMPOSED,
    holds: ({ value }) => value >= 0.9,
    because: { where: 'before', figure: { ...DECOMPOSED, method: 'untrained:parallel' } },
  },
  {
    prediction: 'It decomposes at most 10 % of sequential questions',
    figure: { ...DECOMPOSED, subset: 'sequential' },
    holds: ({ value }) => value <= 0.1,
  },
  {
    prediction: 'On comparisons it needs at most 70 % of Search-R1’s model calls',
    figure: CALLS,
    holds: ({ value }) => value <= 0.7,
  },
  {
    prediction: 'Its right answers there are at most 5 points below Search-R1’s',
    figure: { ...COMPARISONS, against: 'search-r1', metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > -0.05,
  },
];

/** The lines of a file in every trained run's adapter folder. */
async function readCurves<Line extends { step: number }>(file: string) {
  const curves = await Promise.all(
    TRAINED.filter((run) => isTrained(run)).map(async (run) => {
      const lines = await readLines(join(adapterPath(run), file));
      return lines.map((line) => ({ ...runFields(run), ...(JSON.parse(line) as Line) }));
    }),
  );
  return curves.flat();
}

/** Results on held-out training questions, under the names of metrics. */
async function readDev(): Promise<CurvePoint[]> {
  const points = await readCurves<DevPoint>('dev.jsonl');
  return points.map(({ outcome, decomposition, modelCalls, ...point }) => ({
    ...point,
    'rewards/outcome': outcome,
    'decomposition_ratio/parallelizable': decomposition,
    model_calls: modelCalls,
  }));
}
const DEV_METRICS = [
  'reward',
  'rewards/outcome',
  'decomposition_ratio/parallelizable',
  'model_calls',
];

/** An answer with the number of passages, if it is not the usual one. */
type RealAnswer = QuestionResult & { topK?: number };

interface RealRead {
  /** With the usual number of passages. */
  answers: QuestionResult[];
  /** With other numbers of passages. */
  byTopK: RealAnswer[];
  curves: CurvePoint[];
  dev: CurvePoint[];
  provenance: Record<string, unknown>;
  timed: Timing | null;
}

const ABOUT = {
  model: 'SmolLM2-135M-Instruct',
  questions: `test: ${numTest('')} of a benchmark, ${numTest(MULTI_HOP[0])} of HotpotQA and of 2WikiMultiHopQA`,
  warmUps: [WARM_UP.seed],
  seeds: [...new Set(TRAINED.map(({ seed }) => seed))],
};

async function readRealModel(folder?: string): Promise<RealRead> {
  const done = await requireResults<RealRun, RecordedAnswers>(realModel, folder);
  const answers = done.flatMap(({ record: { value } }) =>
    value.measurements.map(
      (measurement): RealAnswer => ({
        ...runFields(value.run),
        ...measurement,
        // JSON keeps an unknown value as null.
        coverage: measurement.coverage ?? NaN,
        evidenceSeen: measurement.evidenceSeen ?? NaN,
        criticalPathRatio: measurement.criticalPathRatio ?? NaN,
        topK: value.run.topK,
      }),
    ),
  );
  const [timing] = await readRecords(realModelTiming, folder);
  const timed = timing?.done as Done<unknown, RecordedTimes> | null | undefined;
  return {
    answers: answers.filter(({ topK }) => topK === undefined),
    byTopK: answers.filter(({ topK }) => topK !== undefined),
    curves: await readCurves('metrics.jsonl'),
    dev: await readDev(),
    provenance: mergeProvenance(done, ABOUT),
    timed: timed
      ? {
          answers: readRows(timed.record.value.answers),
          provenance: mergeProvenance([timed], ABOUT),
        }
      : null,
  };
}

/** Exact match by passages per query, of the same runs and questions. */
function topKRows({ answers, byTopK, provenance }: RealRead, options: SummaryOptions): object[] {
  const distinct = (field: 'questionId' | 'method'): unknown[] => [
    ...new Set(byTopK.map((answer) => answer[field])),
  ];
  const isAsked = { seed: 1, questionId: distinct('questionId'), method: distinct('method') };
  const all: RealAnswer[] = [...byTopK, ...matching(answers, isAsked)];
  const filter = where({ subset: 'all', benchmark: MULTI_HOP });
  const em = { measures: [mainMeasure('em')], filter, pairs: [] };
  const groups = [...group(all, ({ topK = DEFAULT_TOP_K }) => topK)];
  return sort(groups, ([topK]) => topK).flatMap(([topK, answers]) =>
    summarise({ answers, provenance }, em, options).rows.map((row) => ({ ...row, topK })),
  );
}

const MAX_CASES = 3;

/** The answers of both methods to one question. */
interface RealCase {
  /** A metric of {@link FAILURES}, or `calls_saved`. */
  metric: string;
  benchmark: string;
  question: string;
  right: boolean;
  calls: number;
  /** Of Search-R1. */
  callsAgainst: number;
  rightAgainst: boolean;
}

/**
 * Questions to read: answered right by ParallelSearch with fewer calls than Search-R1,
 * and some for each way to fail.
 */
export function pickCases(answers: readonly QuestionResult[]): RealCase[] {
  const select = (method: string) => matching(answers, { method, seed: 1, benchmark: MULTI_HOP });
  const theirs = new Map(select('search-r1').map((answer) => [answer.questionId, answer]));
  const ours = select('parallelsearch').filter(({ questionId }) => theirs.has(questionId));
  const saves = ({ em, modelCalls, questionId }: QuestionResult): boolean =>
    em === 1 && modelCalls < theirs.get(questionId)!.modelCalls;
  const kinds = [{ metric: 'calls_saved', of: undefined, isSeen: saves }, ...FAILURES];
  return kinds.flatMap(({ metric, of, isSeen }) =>
    ours
      .filter((answer) => (of === undefined || answer.subset === of) && isSeen(answer))
      .slice(0, MAX_CASES)
      .map(({ benchmark, questionId, em, modelCalls }) => {
        const against = theirs.get(questionId)!;
        return {
          metric,
          benchmark,
          question: questionId,
          right: em === 1,
          calls: modelCalls,
          callsAgainst: against.modelCalls,
          rightAgainst: against.em === 1,
        };
      }),
  );
}

export function realModelResult(read: RealRead, options: SummaryOptions = {}): ResultParts {
  const measures = [
    ...MEASURES,
    ...MEASURES.map(multiHopMeasure),
    { metric: 'well_formed', numerator: ({ formatOk }: QuestionResult) => Number(formatOk) },
  ];
  const filter = where({ subset: SUBSETS });
  const tidy = summarise(read, { measures, filter, pairs: PAIRS }, options);
  const timeMeasures = [SECONDS, multiHopMeasure(SECONDS)];
  addTiming(tidy, read.timed, { measures: timeMeasures, filter, ...options });
  const find = (figure: Fields): number => findValue(tidy, figure);
  const [before, after] = ['untrained:parallel', 'parallelsearch'].map((method) =>
    percent(find({ ...DECOMPOSED, method })),
  );
  const overWarmUp = { ...OURS, against: 'untrained:parallel', kind: 'difference' };
  const gain = findFigure(tidy, { ...overWarmUp, metric: 'em_multi_hop' })!;
  const decomposed = matching(tidy.rows, {
    benchmark: 'all',
    metric: 'decomposition_ratio_multi_hop',
    subset: ['parallelizable', 'sequential'],
  });
  const whole = matching(tidy.rows, { benchmark: 'all', metric: 'em_multi_hop' });
  return resultParts({
    finding: `After RL, SmolLM2-135M decomposes ${after} of real comparisons, ${before} before, and needs ${shareWords(1 - find(CALLS))} fewer model calls than Search-R1; its answers are ${gapWords(gain)}.`,
    summary: `${count(read.answers)} answers of ${ABOUT.model}.`,
    tidy,
    predicted: PREDICTED,
    frames: {
      training: trainingRows(read.curves, DYNAMICS),
      // Held-out training questions by step; step 0 is the model before RL.
      dev: trainingRows(read.dev, DEV_METRICS),
      topK: topKRows(read, options),
      cases: pickCases(read.answers),
    },
    figures: {
      decomposed: intervalChart(decomposed, {
        title: 'Decomposed questions before and after reinforcement, with 95 % intervals',
        subtitle: 'SmolLM2-135M-Instruct on test questions of HotpotQA and 2WikiMultiHopQA',
        x: 'subset',
        xTitle: 'Question type',
        color: 'method',
        yTitle: 'Decomposed (share of questions)',
      }),
      answers: intervalChart(whole, {
        title: 'Exact match by question type, with 95 % intervals',
        subtitle: 'SmolLM2-135M-Instruct on test questions of HotpotQA and 2WikiMultiHopQA',
        x: 'subset',
        color: 'method',
        yTitle: 'Exact match (share of questions)',
      }),
    },
  });
}

async function compareRealModel(folder?: string): Promise<ResultParts> {
  return realModelResult(await readRealModel(folder));
}
