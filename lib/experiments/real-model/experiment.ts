/**
 * A language model on real questions: before and after RL by either method, on
 * eight benchmarks.
 */
import { join } from 'node:path';
import type { Measurement } from '../../evaluation/result.js';
import { type CurvePoint } from '../../report/curves.js';
import { mergeAnswers } from '../answers.js';
import { type DevPoint, readLines } from '../publish.js';
import { computation, type Experiment, type ResultParts } from '../experiment.js';
import { mergeProvenance, readRecords, readRows, requireResults, type Done } from '../records.js';
import {
  adapterPath,
  ANSWERING,
  BY_TOP_K,
  isTrained,
  missingInputs,
  NUM_TIMED,
  TIMED,
  TRAINED,
  type RealRun,
} from './settings.js';
import { realTraining } from './train.js';
import { configHash } from '../../io/provenance.js';
import {
  answerAll,
  answeringJob,
  hashRun,
  ROUGH_SECONDS,
  runFields,
  timeRuns,
  withoutTexts,
  type RecordedAnswers,
  type RecordedTimes,
} from './answering.js';
import { ABOUT, realModelResult, type RealAnswer, type RealRead } from './result.js';

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

async function compareRealModel(folder?: string): Promise<ResultParts> {
  return realModelResult(await readRealModel(folder));
}
