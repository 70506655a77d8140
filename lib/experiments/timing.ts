/**
 * Seconds a question. They can be compared only between runs that were timed alike: where some runs were evaluated now and
 * others earlier on another machine, the seconds of all are taken from the records, or left out.
 */
import type { Measurement } from '../evaluation/evaluate.js';
import type { EvaluationRecord } from './evaluation-run.js';

/** Where the seconds of an evaluation come from. */
export interface Timing {
  source: 'evaluated here' | 'recorded earlier' | 'none: the runs were timed on different machines';
  backend: string;
}

export interface TimedRun extends EvaluationRecord {
  isRecorded: boolean;
}

/**
 * Gives all runs seconds that can be compared, or none.
 * @param recordOf the recorded evaluation of the same run, or null
 */
export async function comparableSeconds<T extends TimedRun>(
  runs: readonly T[],
  recordOf: (run: T) => Promise<EvaluationRecord | null>,
): Promise<{ runs: T[]; timing: Timing }> {
  const isAllHere = runs.every(({ isRecorded }) => !isRecorded);
  const timed = isAllHere
    ? [...runs]
    : await Promise.all(runs.map(async (run) => (run.isRecorded ? run : recordOf(run))));
  const records = timed.filter((record) => record !== null);
  const backends = [...new Set(records.map(({ backend }) => backend))];
  if (records.length === runs.length && backends.length === 1 && records.every(isTimed)) {
    const source = isAllHere ? 'evaluated here' : 'recorded earlier';
    return {
      runs: runs.map((run, i) => withSeconds(run, records[i].measurements)),
      timing: { source, backend: backends[0] },
    };
  }
  const source = 'none: the runs were timed on different machines';
  return { runs: runs.map((run) => withSeconds(run, [])), timing: { source, backend: backends.join(', ') } };
}

const isTimed = ({ measurements }: EvaluationRecord): boolean =>
  measurements.every(({ seconds }) => seconds !== undefined);

/** The run with the seconds that `timed` says of each question, or with none. */
function withSeconds<T extends TimedRun>(run: T, timed: readonly Measurement[]): T {
  const secondsOf = new Map(timed.map(({ questionId, seconds }) => [questionId, seconds]));
  const measurements = run.measurements.map(({ seconds: _, ...measurement }): Measurement => {
    const seconds = secondsOf.get(measurement.questionId);
    return seconds === undefined ? measurement : { ...measurement, seconds };
  });
  return { ...run, measurements };
}
