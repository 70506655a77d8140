/** A real language model learns it on real questions: before and after reinforcement by either method, on eight benchmarks. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { group, sort, sum } from 'd3-array';
import type { Measurement, QuestionResult } from '../../evaluation/result.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { MethodPair, SummaryOptions } from '../../evaluation/table.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import { configHash, contentHash } from '../../io/hash.js';
import { loadLocalPolicy } from '../../policy/policies.js';
import { trainingRows, type CurvePoint } from '../../report/curves.js';
import { wordsOf } from '../../rewards/coverage.js';
import { answerInBatches, count } from '../answers.js';
import { computation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { linesOf } from '../publish.js';
import { reportOf, summarise, told, type Predicted } from '../report.js';
import { provenanceOf, requireResults } from '../results.js';
import { askedOf, loadRealWorld, missingInputs, type RealWorld } from './data.js';
import {
  adapterOf,
  ANSWERING,
  BATCH_SIZE,
  BY_TOP_K,
  DEFAULT_TOP_K,
  INITIAL,
  isThere,
  MULTI_HOP,
  FOLDERS,
  numTest,
  realRolloutOf,
  realRunName,
  RETRIEVER,
  TRAINED,
  WARM_UP,
  weightsOf,
  type RealRun,
} from './settings.js';
import { makeInitialModel, realTraining } from './train.js';

/** A run's answers to the test questions, without their texts. */
interface RealAnswers {
  run: RealRun;
  measurements: Measurement[];
}

/** What an answer takes on two cores, roughly: for an estimate and nothing else. */
const SECONDS_A_QUESTION = 2.5;

/** Equal words have equal digests, and nothing of the benchmarks is told. */
const digest = (text: string): string =>
  createHash('sha256').update(wordsOf(text)).digest('hex').slice(0, 12);

/** A measurement in which texts are digests: nothing of the benchmarks is kept, and what is counted stays the same. */
export const withoutTexts = (measurement: Measurement): Measurement => ({
  ...measurement,
  searches: measurement.searches.map((queries) => queries.map(digest)),
  answer: measurement.answer === null ? null : digest(measurement.answer),
});

/** The benchmarks that a run is asked. */
const asksOf = ({ topK }: RealRun): readonly string[] =>
  topK === undefined ? Object.values(FOLDERS) : MULTI_HOP;

/** Identifies what a run would answer: its weights, how it is asked, and how many questions. */
async function hashOf(run: RealRun): Promise<string> {
  const adapters = [adapterOf(WARM_UP), weightsOf(run)].flatMap((folder) => folder ?? []);
  const files = adapters.map((folder) => join(folder, 'adapter_model.safetensors'));
  const asked = { rollout: realRolloutOf(run), retriever: RETRIEVER, numTest: asksOf(run).map(numTest) };
  return configHash({ ...asked, inputs: await contentHash(files) });
}

let world: Promise<RealWorld> | undefined;

/** A run's policy answers its questions, greedily. @throws Error naming what is missing */
async function answer(run: RealRun, context: WorkContext): Promise<RealAnswers | undefined> {
  const missing = missingInputs();
  if (missing) throw new Error(`Expected a model and benchmarks, but ${missing}.`);
  await makeInitialModel();
  const { retriever, ...splits } = await (world ??= loadRealWorld());
  const policy = await loadLocalPolicy(INITIAL, { adapter: weightsOf(run), name: realRunName(run) });
  const questions = askedOf(splits, run.topK);
  const asking = { policy, retriever, questions, rollout: realRolloutOf(run), batchSize: BATCH_SIZE };
  const measurements = await answerInBatches(asking, context);
  return measurements && { run, measurements: measurements.map(withoutTexts) };
}

const jobOf = async (run: RealRun): Promise<Job<RealRun>> => ({
  ...{ key: `real-model/${realRunName(run)}`, hash: await hashOf(run), input: run },
  seconds: SECONDS_A_QUESTION * sum(asksOf(run), numTest),
});

export const realModel: Experiment = {
  name: 'real-model',
  title: 'a language model on real questions, before and after reinforcement',
  computation: computation<RealRun, RealAnswers>({
    prepare: realTraining,
    processes: 1,
    threads: 2,
    jobs: () => Promise.all([...ANSWERING, ...BY_TOP_K].filter((run) => isThere(run)).map(jobOf)),
    work: answer,
  }),
};

const METRICS: readonly Metric[] = [
  ...(['em', 'f1', 'turns', 'model_calls', 'retrievals', 'decomposition_ratio', 'evidence_seen'] as const),
];
const SUBSETS = ['all', 'parallelizable', 'sequential'];
const isMultiHop = ({ benchmark }: QuestionKey): boolean => MULTI_HOP.includes(benchmark);
/** Of HotpotQA and 2WikiMultiHopQA together. */
const ofMultiHop = (metric: Metric): Measure => ({
  ...{ ...mainMeasure(metric), metric: `${metric}_multi_hop`, among: isMultiHop, subsets: SUBSETS },
});
const MEASURES: readonly Measure[] = [
  ...METRICS.map(mainMeasure),
  ...METRICS.map(ofMultiHop),
  { metric: 'well_formed', of: ({ formatOk }) => Number(formatOk) },
];
const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'untrained:parallel'],
  ['search-r1', 'untrained:search-r1'],
  ['parallelsearch', 'r1'],
];
const DYNAMICS = [
  ...['reward', 'rewards/outcome', 'turns', 'completions/mean_length', 'kl', 'entropy'],
  ...['decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'],
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

/** The model is one; its warm-up is the only one. */
const whoOf = ({ method, seed }: RealRun) => ({ method, model: 'instruct', warmUp: 1, seed }) as const;

/** Metrics of training, and what the adapters got on questions that were kept back. */
async function readCurves(file: string): Promise<CurvePoint[]> {
  const runs = TRAINED.filter((run) => isThere(run));
  const curves = await Promise.all(
    runs.map(async (run) => {
      const lines = await linesOf(join(adapterOf(run), file));
      return lines.map((line) => {
        const {
          alarms: _,
          chosen: __,
          ...point
        } = JSON.parse(line) as { alarms?: unknown; chosen?: unknown; step: number };
        return { ...whoOf(run), ...point };
      });
    }),
  );
  return curves.flat();
}

/** What the report of the real model reads. */
interface RealRead {
  answers: QuestionResult[];
  /** Those with other numbers of passages, whose method names it. */
  byTopK: (QuestionResult & { topK: number })[];
  curves: CurvePoint[];
  dev: CurvePoint[];
  provenance: Record<string, unknown>;
}

/** @param folder of this machine's results; what is not there is taken from the recorded ones */
async function readRealModel(folder?: string): Promise<RealRead> {
  const done = await requireResults<RealRun, RealAnswers>(realModel, folder);
  const answered = done.map(({ record }) => record.value);
  const of = ({ run, measurements }: RealAnswers): QuestionResult[] =>
    measurements.map((measurement) => ({ ...whoOf(run), ...measurement }));
  return {
    answers: answered.filter(({ run }) => run.topK === undefined).flatMap(of),
    byTopK: answered.flatMap((one) => {
      const { topK } = one.run;
      return topK === undefined ? [] : of(one).map((result) => ({ ...result, topK }));
    }),
    curves: await readCurves('metrics.jsonl'),
    dev: await readCurves('dev.jsonl'),
    provenance: provenanceOf(done, { model: 'SmolLM2-135M-Instruct', questions: 'test' }),
  };
}

/** Right answers with other numbers of passages, beside those with three of the same runs. */
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

const isMultiHopWhole: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  subset === 'all' && MULTI_HOP.includes(benchmark);

/** Figures with intervals, curves of training and of the questions kept back, and what was to be found. */
export function realModelReport(read: RealRead, options: SummaryOptions = {}) {
  const selects: SummaryOptions['selects'] = ({ subset }) => SUBSETS.includes(subset);
  const tidy = summarise(read, { measures: MEASURES, selects, pairs: PAIRS }, options);
  const em = told(tidy.contrasts, {
    ...OURS,
    against: 'untrained:parallel',
    subset: 'all',
    metric: 'em_multi_hop',
  });
  const calls = told(tidy.contrasts, { ...OVER_SEARCH_R1, metric: 'model_calls_multi_hop', kind: 'ratio' });
  return reportOf({
    finding: `On HotpotQA and 2WikiMultiHopQA reinforcement changes ParallelSearch’s right answers by ${em.text}; on comparisons it needs ${calls.text} of Search-R1’s model calls.`,
    summary: `${count(read.answers)} answers of SmolLM2-135M-Instruct.`,
    ...{ tidy, predicted: PREDICTED, training: trainingRows(read.curves, DYNAMICS) },
    frames: {
      // What adapters got on training questions that were kept back, by steps; 0 is the model before reinforcement.
      dev: read.dev,
      // Right answers by passages per query.
      topK: topKRows(read, options),
    },
  });
}

/** The report of the real model. */
export const loadRealModel = async (folder?: string, options?: SummaryOptions) =>
  realModelReport(await readRealModel(folder), options);
