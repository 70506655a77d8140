/** Reads the recorded answers and training curves of an experiment's runs. */
import { join } from 'node:path';
import type { QuestionResult } from '../../evaluation/measurement.js';
import { readLog } from '../../io/logs.js';
import { METRICS_FILE } from '../../policy/folders/files.js';
import type { CurvePoint } from '../../report/training-rows.js';
import type { Experiment } from '../experiment.js';
import type { Answered } from '../results/summary.js';
import type { Answers } from './answers.js';
import { adapterFolder, rolloutForRun, type PolicyRun } from './policy-runs.js';
import { listSeeds, mergeProvenance, readQuestionProvenance, requireResults } from './records.js';
import { identify } from './runs.js';

type NameMethod = (run: PolicyRun) => string;

/** Training curves of trained runs; with `dev.jsonl`, their curves on dev questions. */
export async function readCurves(
  runs: readonly PolicyRun[],
  nameMethod: NameMethod = ({ method }) => method,
  file: typeof METRICS_FILE | 'dev.jsonl' = METRICS_FILE,
): Promise<CurvePoint[]> {
  const curves = runs.map(async (run) => {
    const points = await readLog<{ alarms: string[]; step: number }>(
      join(adapterFolder(run), file),
    );
    return points.map(({ alarms: _, ...metrics }) => {
      return { ...identify(run), method: nameMethod(run), ...metrics };
    });
  });
  return (await Promise.all(curves)).flat();
}

export interface AnsweredRuns extends Answered {
  curves: CurvePoint[];
}

/**
 * Reads the answers and training curves of an experiment's runs.
 * @param folder of this machine's records; the repository's records fill gaps
 * @param nameMethod names the method of a run in rows
 * @throws Error with the command that computes missing records
 */
export async function loadAnswers(
  experiment: Experiment,
  folder?: string,
  nameMethod: NameMethod = ({ method }) => method,
): Promise<AnsweredRuns> {
  const done = await requireResults<PolicyRun, Answers>(experiment, folder);
  const answers = done.flatMap(({ job: { input: run }, record }) => {
    const { maxSearchTurns } = rolloutForRun(run);
    const fields = { ...identify(run), method: nameMethod(run), maxSearchTurns };
    // In place: there are 100,000 answers, and nothing else uses this record.
    return record.value.measurements.map(
      (measurement): QuestionResult => Object.assign(measurement, fields),
    );
  });
  const runs = done.map(({ job }) => job.input);
  return {
    answers,
    curves: await readCurves(runs, nameMethod),
    provenance: mergeProvenance(done, { ...listSeeds(runs), ...(await readQuestionProvenance()) }),
  };
}
