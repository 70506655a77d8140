/**
 * Who answers the real model's test questions: all of them in batches, or a few one at a
 * time to see how long they take.
 */
import { group, sort, sum } from 'd3-array';
import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { Measurement, QuestionResult } from '../../evaluation/result.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import { matching, type MethodPair, type SummaryOptions } from '../../evaluation/table.js';
import { configHash, contentHash } from '../../io/hash.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { loadLocalPolicy } from '../../policy/model-folder.js';
import { type CurvePoint, trainingRows } from '../../report/curves.js';
import { wordsOf } from '../../rewards/coverage.js';
import { printTrajectory, type Trajectory } from '../../rollout/trajectory.js';
import { answerInBatches, count, mergeAnswers } from '../answers.js';
import type { DevPoint } from '../dev-curve.js';
import {
  computation,
  type Computation,
  type Experiment,
  type Job,
  type WorkContext,
} from '../experiment.js';
import { FAILURES } from '../failures.js';
import { linesOf } from '../publish.js';
import { type Predicted, reportOf, summarise, told } from '../report.js';
import { type Done, provenanceOf, requireResults, resultsOf } from '../results.js';
import { SECONDS, summariseTiming, timeAnswers, type TimedAnswer, type Timing } from '../timing.js';
import {
  adapterOf,
  ANSWERING,
  askedOf,
  BATCH_SIZE,
  BATCH_SIZE_FOR_A_WHILE,
  BY_TOP_K,
  DEFAULT_TOP_K,
  FOLDERS,
  INITIAL,
  isThere,
  loadRealWorld,
  missingInputs,
  MULTI_HOP,
  NUM_TIMED,
  numTest,
  realRolloutOf,
  type RealRun,
  realRunName,
  type RealWorld,
  RETRIEVER,
  TIMED,
  timedOf,
  TRAINED,
  TRANSCRIPTS,
  WARM_UP,
  weightsOf,
} from './settings.js';
import { makeInitialModel, realTraining } from './train.js';

/** A run's answers to the test questions, without their texts. */
export interface RealAnswers {
  run: RealRun;
  measurements: Measurement[];
}

/** Answers to single questions with the seconds that each took, without their texts. */
export interface RealTimes {
  answers: TimedAnswer[];
}

/**
 * What an answer takes, roughly, on one core among others and on two alone: for an
 * estimate and nothing else.
 */
const SECONDS_A_QUESTION = { among: 5, alone: 8 };

/** The model is one; its warm-up is the only one. */
export const whoOf = ({ method, seed }: RealRun) =>
  ({ method, model: 'instruct', warmUp: 1, seed }) as const;

/**
 * Equal words have equal digests, other words only once in 65,536, and nothing of the
 * benchmarks is told.
 */
const digest = (text: string): string =>
  createHash('sha256').update(wordsOf(text)).digest('hex').slice(0, 4);

/**
 * A measurement in which texts are digests: nothing of the benchmarks is kept, and what
 * is counted stays the same.
 */
export const withoutTexts = <T extends Measurement>(measurement: T): T => ({
  ...measurement,
  searches: measurement.searches.map((queries) => queries.map(digest)),
  answer: measurement.answer === null ? null : digest(measurement.answer),
});

/** The benchmarks that a run is asked. */
const asksOf = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

/**
 * Identifies what a run would answer: its weights, how it is asked, and how many
 * questions.
 */
async function hashOf(run: RealRun): Promise<string> {
  const adapters = [adapterOf(WARM_UP), weightsOf(run)].flatMap((folder) => folder ?? []);
  const files = adapters.map((folder) => join(folder, 'adapter_model.safetensors'));
  const counts = asksOf(run).map((benchmark) => numTest(benchmark, run.topK));
  const asked = { rollout: realRolloutOf(run), retriever: RETRIEVER, numTest: counts };
  return configHash({ ...asked, inputs: await contentHash(files) });
}

let world: Promise<RealWorld> | undefined;
/** The benchmarks, loaded once for each process. @throws Error naming what is missing */
function openWorld(): Promise<RealWorld> {
  const missing = missingInputs();
  if (missing) throw new Error(`Expected a model and benchmarks, but ${missing}.`);
  return (world ??= loadRealWorld());
}

async function policyOf(run: RealRun): Promise<LocalPolicy> {
  await makeInitialModel();
  return loadLocalPolicy(INITIAL, { adapter: weightsOf(run), name: realRunName(run) });
}

/**
 * A run's policy answers its questions, greedily; what it wrote and read is left on this
 * machine, to read.
 */
async function answerAll(run: RealRun, context: WorkContext): Promise<RealAnswers | undefined> {
  const begun = performance.now();
  const { retriever, ...splits } = await openWorld();
  const file = join(TRANSCRIPTS, `${realRunName(run)}.jsonl`);
  await mkdir(TRANSCRIPTS, { recursive: true });
  const asking = {
    policy: await policyOf(run),
    retriever,
    questions: askedOf(splits, run.topK),
    rollout: realRolloutOf(run),
    batchSize: Number.isFinite(context.until) ? BATCH_SIZE_FOR_A_WHILE : BATCH_SIZE,
    onBatch: (trajectories: readonly Trajectory[]) =>
      appendFile(file, trajectories.map((one) => printTrajectory({ ...run, ...one })).join('')),
  };
  // Loading does not count: on a busy machine it takes longer than there is.
  const until = context.until + performance.now() - begun;
  const measurements = await answerInBatches(asking, { ...context, until });
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

const jobOf = async (run: RealRun): Promise<Job<RealRun>> => ({
  key: `real-model/${realRunName(run)}`,
  hash: await hashOf(run),
  input: run,
  seconds: SECONDS_A_QUESTION.among * sum(asksOf(run), (benchmark) => numTest(benchmark, run.topK)),
});

const LANGUAGE_MODEL = { oneDnn: true, missing: missingInputs };

export const answering: Computation = computation<RealRun, RealAnswers>({
  ...LANGUAGE_MODEL,
  prepare: realTraining,
  work: answerAll,
  jobs: () => Promise.all([...ANSWERING, ...BY_TOP_K].filter((run) => isThere(run)).map(jobOf)),
  merged: (recorded, kept) =>
    mergeAnswers(
      recorded,
      (kept as Measurement[][]).map((batch) => batch.map(withoutTexts)),
    ),
});

/** Both methods answer the same single questions in turn. */
async function answerAlone(
  runs: readonly RealRun[],
  { onFraction }: WorkContext,
): Promise<RealTimes> {
  const { retriever, ...splits } = await openWorld();
  const questions = timedOf(splits);
  const contestants = [];
  for (const run of runs)
    contestants.push({ run: whoOf(run), policy: await policyOf(run), rollout: realRolloutOf(run) });
  const onAnswer = (done: number): void => onFraction(done / (questions.length * runs.length));
  const answers = await timeAnswers(contestants, retriever, questions, { onAnswer });
  contestants.forEach(({ policy }) => policy.dispose());
  return { answers: answers.map(withoutTexts) };
}

export const timing: Computation = computation<readonly RealRun[], RealTimes>({
  ...LANGUAGE_MODEL,
  processes: 1,
  threads: 2,
  work: answerAlone,
  jobs: async () => {
    if (!TIMED.every((run) => isThere(run))) return [];
    const hash = configHash({ numTimed: NUM_TIMED, runs: await Promise.all(TIMED.map(hashOf)) });
    const seconds = SECONDS_A_QUESTION.alone * 2 * NUM_TIMED * TIMED.length;
    return [{ key: 'real-model-timing/seeds-1', hash, input: TIMED, seconds }];
  },
});

export const realModel: Experiment = {
  name: 'real-model',
  title: 'a language model on real questions, before and after reinforcement',
  computation: answering,
};

/** Times belong to a machine: the provenance names it. */
export const realModelTiming: Experiment = {
  name: 'real-model-timing',
  title: 'seconds a real question, both methods in turn',
  computation: timing,
};

const METRICS: readonly Metric[] = [
  ...([
    'em',
    'f1',
    'turns',
    'model_calls',
    'retrievals',
    'decomposition_ratio',
    'evidence_seen',
  ] as const),
];
const SUBSETS = ['all', 'parallelizable', 'sequential'];
const isMultiHop = ({ benchmark }: QuestionKey): boolean => MULTI_HOP.includes(benchmark);
/** Of HotpotQA and 2WikiMultiHopQA together. */
const ofMultiHop = (measure: Measure): Measure => ({
  ...measure,
  metric: `${measure.metric}_multi_hop`,
  subsets: SUBSETS,
  among: (question) => isMultiHop(question) && (measure.among?.(question) ?? true),
});
/**
 * Real questions often have no dependency graph, and nothing says then what their
 * evidence is.
 */
const hasGraph = ({ hops }: QuestionKey): boolean => hops !== undefined;
const measureOf = (metric: Metric): Measure => ({
  ...mainMeasure(metric),
  ...(metric === 'evidence_seen' && { among: hasGraph }),
});
const MEASURES: readonly Measure[] = [
  ...METRICS.map(measureOf),
  ...METRICS.map(measureOf).map(ofMultiHop),
  { metric: 'well_formed', of: ({ formatOk }) => Number(formatOk) },
];
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

const OURS = { method: 'parallelsearch', benchmark: 'all' };
const OVER_SEARCH_R1 = { ...OURS, against: 'search-r1', subset: 'parallelizable' };
const PREDICTED: readonly Predicted[] = [
  {
    prediction: '95 % of ParallelSearch’s transcripts are well formed',
    figure: { ...OURS, subset: 'all', metric: 'well_formed' },
    holds: ({ value }) => value >= 0.95,
  },
  {
    prediction: 'ParallelSearch answers .40 of HotpotQA and 2WikiMultiHopQA',
    figure: { ...OURS, subset: 'all', metric: 'em_multi_hop' },
    holds: ({ value }) => value >= 0.4,
  },
  {
    prediction: 'ParallelSearch answers more of them than the model without search',
    figure: { ...OURS, against: 'r1', subset: 'all', metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > 0,
  },
  {
    prediction: 'Reinforcement teaches to decompose comparisons: .9 of them',
    figure: { ...OURS, subset: 'parallelizable', metric: 'decomposition_ratio_multi_hop' },
    holds: ({ value }) => value >= 0.9,
    because: {
      where: 'before',
      figure: {
        ...OURS,
        method: 'untrained:parallel',
        subset: 'parallelizable',
        metric: 'decomposition_ratio_multi_hop',
      },
    },
  },
  {
    prediction: 'Of sequential questions it decomposes .1 at most',
    figure: { ...OURS, subset: 'sequential', metric: 'decomposition_ratio_multi_hop' },
    holds: ({ value }) => value <= 0.1,
  },
  {
    prediction: 'On comparisons it needs .70 of Search-R1’s model calls at most',
    figure: { ...OVER_SEARCH_R1, metric: 'model_calls_multi_hop', kind: 'ratio' },
    holds: ({ value }) => value <= 0.7,
  },
  {
    prediction: 'Its right answers there are at most 5 points below Search-R1’s',
    figure: { ...OVER_SEARCH_R1, metric: 'em_multi_hop', kind: 'difference' },
    holds: ({ low }) => low > -0.05,
  },
];

/** The lines of a file of every trained run's adapter. */
async function readCurves(file: string): Promise<CurvePoint[]> {
  const runs = TRAINED.filter((run) => isThere(run));
  const curves = await Promise.all(
    runs.map(async (run) => {
      const lines = await linesOf(join(adapterOf(run), file));
      return lines.map((line) => ({ ...whoOf(run), ...(JSON.parse(line) as { step: number }) }));
    }),
  );
  return curves.flat();
}

/** What adapters got on the questions kept back, under the names that metrics have. */
async function readDev(): Promise<CurvePoint[]> {
  const points = (await readCurves('dev.jsonl')) as (CurvePoint & DevPoint)[];
  return points.map(
    ({ method, model, warmUp, seed, step, reward, outcome, decomposition, modelCalls }) => ({
      method,
      model,
      warmUp,
      seed,
      step,
      reward,
      'rewards/outcome': outcome,
      'decomposition_ratio/parallelizable': decomposition,
      model_calls: modelCalls,
    }),
  );
}
const DEV_METRICS = [
  'reward',
  'rewards/outcome',
  'decomposition_ratio/parallelizable',
  'model_calls',
];

/** What the report of the real model reads. */
interface RealRead {
  answers: QuestionResult[];
  /** Those with other numbers of passages. */
  byTopK: (QuestionResult & { topK: number })[];
  curves: CurvePoint[];
  dev: CurvePoint[];
  provenance: Record<string, unknown>;
  /** Answers to single questions with their seconds; null where nobody measured them. */
  timed: Timing | null;
}

/** The model and the questions that numbers are of. */
const ABOUT = {
  model: 'SmolLM2-135M-Instruct',
  questions: `test: ${numTest('')} of a benchmark, ${numTest(MULTI_HOP[0])} of HotpotQA and of 2WikiMultiHopQA`,
  warmUps: [WARM_UP.seed],
  seeds: [...new Set(TRAINED.map(({ seed }) => seed))],
};

/** What nothing is known of is NaN, which JSON keeps as null. */
const unknownIn = ({
  coverage,
  evidenceSeen,
  criticalPathRatio,
}: Measurement): Partial<Measurement> => ({
  coverage: coverage ?? NaN,
  evidenceSeen: evidenceSeen ?? NaN,
  criticalPathRatio: criticalPathRatio ?? NaN,
});

/**
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
async function readRealModel(folder?: string): Promise<RealRead> {
  const done = await requireResults<RealRun, RealAnswers>(realModel, folder);
  const answered = done.map(({ record }) => record.value);
  const of = ({ run, measurements }: RealAnswers): QuestionResult[] =>
    measurements.map((measurement) => ({
      ...whoOf(run),
      ...measurement,
      ...unknownIn(measurement),
    }));
  return {
    answers: answered.filter(({ run }) => run.topK === undefined).flatMap(of),
    byTopK: answered.flatMap((one) => {
      const { topK } = one.run;
      return topK === undefined ? [] : of(one).map((result) => ({ ...result, topK }));
    }),
    curves: await readCurves('metrics.jsonl'),
    dev: await readDev(),
    provenance: provenanceOf(done, ABOUT),
    timed: await readTimes(folder),
  };
}

async function readTimes(folder?: string): Promise<Timing | null> {
  const [result] = await resultsOf(realModelTiming, folder);
  if (!result?.done) return null;
  const done = result.done as Done<unknown, RealTimes>;
  return { answers: done.record.value.answers, provenance: provenanceOf([done], ABOUT) };
}

const isMultiHopWhole: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  subset === 'all' && MULTI_HOP.includes(benchmark);

/**
 * Right answers with other numbers of passages, beside those with three of the same runs.
 */
function topKRows({ answers, byTopK, provenance }: RealRead, options: SummaryOptions): object[] {
  const asked = new Set(byTopK.map(({ questionId }) => questionId));
  const methods = new Set(byTopK.map(({ method }) => method));
  const withThree = answers.filter(
    ({ questionId, method, seed }) => asked.has(questionId) && methods.has(method) && seed === 1,
  );
  const of = ([topK, some]: readonly [number, readonly QuestionResult[]]): object[] => {
    const own = { measures: [mainMeasure('em')], selects: isMultiHopWhole, pairs: [] };
    const { rows } = summarise({ answers: [...some], provenance }, own, options);
    return rows.map((row) => ({ ...row, topK }));
  };
  const parts = [...group(byTopK, ({ topK }) => topK), [DEFAULT_TOP_K, withThree] as const];
  return sort(parts, ([topK]) => topK).flatMap(of);
}

/** Of each kind of case so many. */
const MOST_CASES = 3;

/** How one question was answered by both methods. */
export interface RealCase {
  /** A metric of {@link FAILURES}, or `calls_saved`. */
  metric: string;
  benchmark: string;
  question: string;
  right: boolean;
  calls: number;
  /** Of Search-R1, on the same question. */
  callsAgainst: number;
  rightAgainst: boolean;
}

/**
 * Questions to read: some that ParallelSearch answers right with fewer calls than
 * Search-R1, and some for each way to fail.
 */
export function casesOf(answers: readonly QuestionResult[]): RealCase[] {
  const first = (method: string) => matching(answers, { method, seed: 1 });
  const theirs = new Map(first('search-r1').map((answer) => [answer.questionId, answer]));
  const ours = first('parallelsearch').filter(({ questionId }) => theirs.has(questionId));
  const saves = ({ em, modelCalls, questionId }: QuestionResult): boolean =>
    em === 1 && modelCalls < theirs.get(questionId)!.modelCalls;
  const fails = FAILURES.map(({ metric, of, isSeen }) => ({
    metric,
    isSeen: (answer: QuestionResult) =>
      (of === undefined || answer.subset === of) && isSeen(answer),
  }));
  return [{ metric: 'calls_saved', isSeen: saves }, ...fails].flatMap(({ metric, isSeen }) =>
    ours
      .filter((answer) => isMultiHop(answer) && isSeen(answer))
      .slice(0, MOST_CASES)
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

/**
 * Figures with intervals, curves of training and of the questions kept back, and what was
 * to be found.
 */
export function realModelReport(read: RealRead, options: SummaryOptions = {}) {
  const selects: SummaryOptions['selects'] = ({ subset }) => SUBSETS.includes(subset);
  const tidy = summarise(read, { measures: MEASURES, selects, pairs: PAIRS }, options);
  if (read.timed) {
    const measures = [SECONDS, ofMultiHop(SECONDS)];
    const { rows, contrasts } = summariseTiming(read.timed, { measures, selects, ...options });
    tidy.rows.push(...rows);
    tidy.contrasts.push(...contrasts);
    tidy.provenance.timing = read.timed.provenance;
  }
  const overWarmUp = { ...OURS, against: 'untrained:parallel' };
  const decomposed = told(tidy.contrasts, {
    ...overWarmUp,
    subset: 'parallelizable',
    metric: 'decomposition_ratio_multi_hop',
  });
  const em = told(tidy.contrasts, { ...overWarmUp, subset: 'all', metric: 'em_multi_hop' });
  const calls = told(tidy.contrasts, {
    ...OVER_SEARCH_R1,
    metric: 'model_calls_multi_hop',
    kind: 'ratio',
  });
  return reportOf({
    finding:
      `On HotpotQA and 2WikiMultiHopQA reinforcement changes how many comparisons ParallelSearch decomposes by ${decomposed.text}, ` +
      `and its right answers by ${em.text}; on comparisons it needs ${calls.text} of Search-R1’s model calls.`,
    summary: `${count(read.answers)} answers of ${ABOUT.model}.`,
    tidy,
    predicted: PREDICTED,
    training: trainingRows(read.curves, DYNAMICS),
    frames: {
      training: trainingRows(read.curves, DYNAMICS),
      // What adapters got on training questions that were kept back, by steps; 0 is the
      // model before reinforcement.
      dev: trainingRows(read.dev, DEV_METRICS),
      // Right answers by passages per query.
      topK: topKRows(read, options),
      cases: casesOf(read.answers),
    },
  });
}

/** The report of the real model. */
export const loadRealModel = async (folder?: string, options?: SummaryOptions) =>
  realModelReport(await readRealModel(folder), options);
