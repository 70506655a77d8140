/**
 * Trajectories to read: a fixed sample of the test questions, answered greedily by both methods and by what stands between
 * them, Search-R1's weights under ParallelSearch's prompt. For the viewer, not for a table: its figures are of a sample.
 */
import { join } from 'node:path';
import { writeFileSafely } from '../../io/files.js';
import type { RewardPresetName } from '../../rewards/presets.js';
import { printTrajectory } from '../../rollout/trajectory.js';
import { useBackend } from '../../tensor/backend.js';
import { evaluationBatchSize, evaluationHash } from '../evaluation-run.js';
import type { Experiment, ExperimentContext, ExperimentResults } from '../experiment.js';
import { stratifiedSample, type SampleOptions } from '../question-sample.js';
import { addUp, workSideBySide } from '../renewed-worker.js';
import type { TrajectoryLine } from './answers.js';
import { startTrajectoriesWorker } from './worker.js';
import { loadWorld } from '../world.js';
import { runName, type PolicyRun } from '../runs.js';

export interface TrajectoriesConfig {
  runs: PolicyRun[];
  sample: SampleOptions;
  /** The rewards that every trajectory is given, whatever its policy was trained for: only so can they be compared. */
  preset: RewardPresetName;
}

const SEED = 1;
export const TRAJECTORIES_CONFIG: TrajectoriesConfig = {
  runs: [
    { method: 'parallelsearch', model: 'instruct', seed: SEED },
    { method: 'search-r1', model: 'instruct', seed: SEED },
    { method: 'search-r1-parallel-prompt', model: 'instruct', seed: SEED },
    { method: 'parallelsearch', model: 'base', seed: SEED },
    { method: 'search-r1', model: 'base', seed: SEED },
  ],
  sample: { oneOf: 6, seed: 'trajectories' },
  preset: 'paper',
};

/** The trajectories' file, beside `results.json`. */
export const TRAJECTORIES_FILE = 'trajectories.jsonl';
const NUM_WORKERS = 2;
/** Seconds a question on one core, roughly: for an estimate and nothing else. */
const ROUGH_SECONDS = 0.15;

export interface TrajectoriesResults extends ExperimentResults {
  numQuestions: number;
  numTrajectories: number;
}

/**
 * Answers the sample with every run's policy, two at a time, and writes the trajectories question by question, so that those
 * to be compared stand together.
 * @param start starts the processes that answer
 */
export async function runTrajectories(
  { runs, sample, preset }: TrajectoriesConfig,
  context: Omit<ExperimentContext, 'folder'>,
  start = startTrajectoriesWorker,
): Promise<TrajectoriesResults> {
  const backend = await useBackend(context.backend);
  const answered = new Array<TrajectoryLine[]>(runs.length);
  const report = addUp(
    runs.map(() => 1),
    (fraction, i) => context.onProgress(fraction, runName(runs[i])),
  );
  const pool = { numJobs: runs.length, numWorkers: NUM_WORKERS, signal: context.signal };
  await workSideBySide(start, pool, async (i, worker) => {
    const job = {
      run: runs[i],
      sample,
      preset,
      batchSize: evaluationBatchSize(backend.name),
      backend: backend.name,
    };
    answered[i] = await context.part(runName(runs[i]), async () => {
      return (await worker.work(job, (fraction) => report(i, fraction))).lines;
    });
    report(i, 1);
  });
  const lines = answered[0].flatMap((_, question) => answered.map((ofRun) => ofRun[question]));
  await writeFileSafely(join(context.outputFolder, TRAJECTORIES_FILE), lines.map(printTrajectory).join(''));
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  return {
    numQuestions: answered[0].length,
    numTrajectories: lines.length,
    provenance: { seeds, backend: backend.detail },
  };
}

/** The experiment behind `reports/trajectories.html`. */
export const trajectoriesExperiment: Experiment = {
  title: 'trajectories of a sample of the test questions, to read',
  config: async () => ({
    ...TRAJECTORIES_CONFIG,
    retriever: 'bm25',
    evaluations: await Promise.all(TRAJECTORIES_CONFIG.runs.map(evaluationHash)),
  }),
  plan: async () => `${await countQuestions()} questions for each of ${TRAJECTORIES_CONFIG.runs.length} runs`,
  estimateSeconds: async () =>
    (TRAJECTORIES_CONFIG.runs.length * (await countQuestions()) * ROUGH_SECONDS) / NUM_WORKERS,
  run: (context) => runTrajectories(TRAJECTORIES_CONFIG, context),
};

async function countQuestions(): Promise<number> {
  return stratifiedSample((await loadWorld()).questions, TRAJECTORIES_CONFIG.sample).length;
}
