/** Processes that answer the sample of questions, whose trajectories are recorded. */
import { rewardsOf } from '../../rewards/presets.js';
import type { BackendName } from '../../tensor/backend.js';
import { serveGenerating, startGeneratingWorker, type GeneratingWorker } from '../generating-worker.js';
import { stratifiedSample, type SampleOptions } from '../question-sample.js';
import { recordTrajectories, type TrajectoryLine } from './answers.js';
import { loadPolicy, type PolicyRun } from '../runs.js';

/** A run whose policy answers the sample. */
export interface TrajectoriesJob {
  run: PolicyRun;
  sample: SampleOptions;
  /** Name of the reward options. */
  preset: string;
  batchSize: number;
  backend: BackendName;
}
export interface TrajectoriesReply {
  /** In the order of the sample. */
  lines: TrajectoryLine[];
}

export const startTrajectoriesWorker = (): GeneratingWorker<TrajectoriesJob, TrajectoriesReply> =>
  startGeneratingWorker(import.meta.url);

serveGenerating<TrajectoriesJob, TrajectoriesReply>(import.meta.url, async (job, world, onFraction) => {
  const { run, sample, preset, batchSize } = job;
  const questions = stratifiedSample(world.questions, sample);
  const policy = await loadPolicy(run);
  const lines = await recordTrajectories(policy, world.retriever, questions, {
    ...{ run, batchSize, rewards: rewardsOf(preset) },
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose();
  return { lines };
});
