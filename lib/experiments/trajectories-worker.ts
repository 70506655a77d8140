/** Processes that answer the sample of questions side by side: tfjs uses one core for a small policy, so each has its own. */
import { rewardOptions } from '../rewards/presets.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../worker.js';
import { stratifiedSample, type SampleOptions } from './question-sample.js';
import { GENERATING_SIDE_BY_SIDE, type WorkerMemory } from './renewed-worker.js';
import { recordTrajectories, type TrajectoryLine } from './trajectories-answers.js';
import { loadPolicy, loadWorld, type PolicyRun, type World } from './world.js';

/** A run whose policy answers the sample. */
export interface TrajectoriesJob {
  run: PolicyRun;
  sample: SampleOptions;
  /** Name of the reward options. */
  preset: string;
  batchSize: number;
  backend: BackendName;
}
export interface TrajectoriesReply extends WorkerMemory {
  /** In the order of the sample. */
  lines: TrajectoryLine[];
}
/** Share of the questions that are answered. */
type Fraction = number;

export function startTrajectoriesWorker(): Worker<TrajectoriesJob, TrajectoriesReply, Fraction> {
  return startWorker(import.meta.url, GENERATING_SIDE_BY_SIDE);
}

let world: World | null = null;
serve<TrajectoriesJob, TrajectoriesReply, Fraction>(import.meta.url, async (job, note) => {
  const { run, sample, preset, batchSize, backend } = job;
  if (!world) await useBackend(backend);
  world ??= await loadWorld();
  const questions = stratifiedSample(world.questions, sample);
  const policy = await loadPolicy(run);
  const lines = await recordTrajectories(policy, world.retriever, questions, {
    ...{ run, batchSize, rewards: rewardOptions(preset) },
    clearCache: () => policy.clearCache(),
    onBatch: (done) => note(done / questions.length),
  });
  policy.dispose();
  return { lines, residentBytes: process.memoryUsage().rss };
});
