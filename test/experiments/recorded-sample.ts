/** Recorded answers to a few questions of every kind, as if only these had been asked: reports on them take seconds. */
import { matching } from '../../lib/evaluation/table.js';
import { loadAnswers, type Answers } from '../../lib/experiments/answers.js';
import { mainResults } from '../../lib/experiments/main-results/experiment.js';
import { stratifiedSample } from '../../lib/experiments/answers.js';
import { requireResults } from '../../lib/experiments/results.js';
import type { PolicyRun } from '../../lib/experiments/runs.js';
import { timing } from '../../lib/experiments/timing/experiment.js';
import { loadWorld } from '../../lib/experiments/world.js';
import { writeRecords } from './synthetic.js';

/** Seconds of a model call in the sample's times. */
export const SECONDS_A_CALL = 0.01;

/** Writes the sample of the main comparison and made-up times of the timing. Returns how many questions it has. */
export async function writeRecordedSample(folder: string, { oneOf = 12 } = {}): Promise<number> {
  const { questions } = await loadWorld();
  const ids = new Set(stratifiedSample(questions, { oneOf, seed: 'reports' }).map(({ id }) => id));
  const done = await requireResults<PolicyRun, Answers>(mainResults);
  const sampled = new Map(
    done.map(({ job, record: { value } }) => {
      const measurements = value.measurements.filter(({ questionId }) => ids.has(questionId));
      return [job.key, { ...value, measurements }];
    }),
  );
  await writeRecords(folder, mainResults, (_, key) => sampled.get(key));
  const { answers } = await loadAnswers(mainResults, folder);
  const timed = answers.filter(({ benchmark }) => ['hotpotqa', '2wikimultihopqa'].includes(benchmark));
  await writeRecords(folder, timing, (runs: readonly PolicyRun[]) => ({
    answers: runs
      .flatMap((run) => matching(timed, { ...run }))
      .map((answer) => ({ ...answer, seconds: SECONDS_A_CALL * answer.modelCalls })),
  }));
  return ids.size;
}
