/** A language model on eight real benchmarks, before and after RL with either method. */
import { join } from 'node:path';
import { rollup, sum } from 'd3-array';
import type { Measurement, QuestionResult } from '../../evaluation/measurement.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { readLog } from '../../io/logs.js';
import { METRICS_FILE } from '../../policy/folders/files.js';
import { trainingRows, type CurvePoint } from '../../report/training-rows.js';
import type { ResultParts } from '../../report/result.js';
import { countText } from '../../text/english.js';
import type { Experiment } from '../experiment.js';
import type { Answered } from '../results/summary.js';
import type { Answers } from '../running/answers.js';
import {
  findResults,
  mergeProvenance,
  withInitSeeds,
  requireResults,
  type Recorded,
} from '../running/records.js';
import type { DevPoint } from '../running/train-runs.js';
import type { TimedAnswer } from '../timing.js';
import {
  answeringRun,
  freshName,
  MULTI_HOP_TEST,
  OTHERS_TEST,
  readerPath,
  realModelComputation,
  realModelFresh,
  realModelOthers,
  realModelTiming,
  runFields,
  type EditionsTest,
  type FreshRun,
} from './answering.js';
import { compareFacts, realModelFacts } from './facts.js';
import { ABOUT, DYNAMICS, firstEdition, type FirstRead } from './first-edition.js';
import { compareEditions, compareElsewhere, type FreshAnswer } from './second-edition.js';
import { adapterPath, TRAINED, type RealRun } from './settings.js';

export const realModel: Experiment = {
  name: 'real-model',
  title: 'a language model on real questions, before and after RL',
  computation: realModelComputation,
  reads: ['real-model', realModelFresh.name, realModelOthers.name, realModelFacts.name],
  result: compareRealModel,
};

/** The lines of a file in every trained run's adapter folder. */
async function readRunLogs<Line = CurvePoint>(
  file: string,
  find: (run: RealRun) => string = adapterPath,
) {
  const curves = TRAINED.map(async (run) => {
    const points = await readLog<Line>(join(find(run), file));
    return points.map((point) => ({ ...runFields(run), ...point }));
  });
  return (await Promise.all(curves)).flat();
}

/** The second edition's training curves, by `train.py` of `export torch`. */
async function readTorchCurves(): Promise<CurvePoint[]> {
  const points = await readRunLogs(METRICS_FILE, readerPath);
  return points.filter(({ validation }) => !validation);
}

/** Its results on held-out training questions, with our names of metrics. */
async function readDev(): Promise<CurvePoint[]> {
  const points = await readRunLogs<DevPoint>('dev.jsonl', readerPath);
  return points.map(({ outcome, decomposition, modelCalls, ...point }) => ({
    ...point,
    'rewards/outcome': outcome,
    'decomposition_ratio/parallelizable': decomposition,
    model_calls: modelCalls,
  }));
}

/** Reads a recorded answer of a run. JSON has null for unknown values. */
const readAnswer = (run: RealRun, measurement: Measurement): QuestionResult => ({
  ...measurement,
  ...runFields(run),
  coverage: measurement.coverage ?? NaN,
  evidenceSeen: measurement.evidenceSeen ?? NaN,
  criticalPathRatio: measurement.criticalPathRatio ?? NaN,
});

async function readFirst(folder?: string): Promise<FirstRead> {
  const done = await requireResults<RealRun, Answers<RealRun>>(realModel, folder);
  const answers = done.flatMap(({ record: { value } }) =>
    value.measurements.map((one) => ({ ...readAnswer(value.run, one), topK: value.run.topK })),
  );
  const timed = await findResults<unknown, Recorded<TimedAnswer>>(realModelTiming, folder);
  return {
    answers: answers.filter(({ topK }) => topK === undefined),
    byTopK: answers.filter(({ topK }) => topK !== undefined),
    curves: await readRunLogs(METRICS_FILE),
    provenance: mergeProvenance(done, ABOUT),
    timed: timed && {
      answers: timed.flatMap(({ record }) => withInitSeeds(record.value.answers)),
      provenance: mergeProvenance(timed, ABOUT),
    },
  };
}

/** Describes the questions: `75 of HotpotQA, 120 of 2WikiMultiHopQA`. */
function countByBenchmark(answers: readonly FreshAnswer[]): string {
  const ids = rollup(
    answers,
    (some) => new Set(some.map(({ questionId }) => questionId)).size,
    ({ benchmark }) => benchmark,
  );
  const parts = [...ids].map(([name, n]) => `${n} of ${BENCHMARK_TITLES[name] ?? name}`);
  return `fresh test: ${parts.join(', ')}`;
}

/** Reads answers to a test; a run without a kept RL step has its answers before RL. */
async function readFresh(
  { runs }: EditionsTest,
  experiment: Experiment,
  folder?: string,
): Promise<Answered<FreshAnswer> & { numComputed: number }> {
  const done = await requireResults<FreshRun, Answers<FreshRun>>(experiment, folder);
  const byRun = new Map(
    done.map(({ record: { value } }) => [freshName(value.run), value.measurements]),
  );
  const answers = runs.flatMap((run) =>
    byRun.get(freshName(answeringRun(run)))!.map((measurement): FreshAnswer => {
      return { ...readAnswer(run, measurement), edition: run.edition };
    }),
  );
  const { model, warmUps, seeds } = ABOUT;
  const training = 'demonstrations, then GRPO, in PyTorch (export torch) on an NVIDIA H200';
  const about = { model, questions: countByBenchmark(answers), warmUps, seeds, training };
  return {
    answers,
    numComputed: sum([...byRun.values()], ({ length }) => length),
    provenance: mergeProvenance(done, about),
  };
}

async function readFacts(folder?: string): Promise<Answered<FreshAnswer>> {
  const done = await requireResults<FreshRun, Answers<FreshRun>>(realModelFacts, folder);
  const answers = done.flatMap(
    ({
      record: {
        value: { run, measurements },
      },
    }) =>
      measurements.map((one): FreshAnswer => ({ ...readAnswer(run, one), edition: run.edition })),
  );
  return { answers, provenance: mergeProvenance(done, ABOUT) };
}

const DEV_METRICS = [
  'reward',
  'rewards/outcome',
  'decomposition_ratio/parallelizable',
  'model_calls',
];

async function compareRealModel(folder?: string): Promise<ResultParts> {
  const first = await readFirst(folder);
  const fresh = await readFresh(MULTI_HOP_TEST, realModelFresh, folder);
  const others = await readFresh(OTHERS_TEST, realModelOthers, folder);
  const second = compareEditions(fresh);
  const elsewhere = compareElsewhere(others);
  const facts = compareFacts(await readFacts(folder));
  const before = firstEdition(first);
  return {
    ...second,
    summary: `${countText(fresh.numComputed + others.numComputed)} answers of ${ABOUT.model} to fresh questions, ${countText(first.answers.length)} of the first edition to a test of its own.`,
    provenance: {
      ...second.provenance,
      others: elsewhere.provenance,
      facts: facts.provenance,
      firstEdition: before.provenance,
    },
    card: { editions: '', decomposed: '' },
    figures: { ...second.figures, ...elsewhere.figures },
    frames: {
      ...second.frames,
      ...elsewhere.frames,
      facts: facts.rows,
      factsContrasts: facts.contrasts,
      training: trainingRows(await readTorchCurves(), DYNAMICS),
      dev: trainingRows(await readDev(), DEV_METRICS),
      ...before.frames,
    },
  };
}
