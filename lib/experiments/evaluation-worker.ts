/** Processes that evaluate runs side by side: tfjs uses one core for a small policy, so each has its own. */
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../worker.js';
import { evaluateRun } from './evaluation-run.js';
import { GENERATING_SIDE_BY_SIDE, type WorkerMemory } from './renewed-worker.js';
import { loadWorld, type PolicyRun, type World } from './world.js';

/** A run to evaluate, and the folder that its record goes into. */
export interface EvaluationJob {
  run: PolicyRun;
  folder: string;
  backend: BackendName;
  /** Seconds after which what is answered is kept and the rest left; default all are answered. */
  seconds?: number;
}
/** Share of the run's questions that are answered. */
type Fraction = number;

export function startEvaluationWorker(): Worker<EvaluationJob, WorkerMemory, Fraction> {
  return startWorker(import.meta.url, GENERATING_SIDE_BY_SIDE);
}

let world: World | null = null;
serve<EvaluationJob, WorkerMemory, Fraction>(import.meta.url, async (job, note) => {
  const until = performance.now() + (job.seconds ?? Infinity) * 1000;
  if (!world) await useBackend(job.backend);
  world ??= await loadWorld();
  const onBatch = (done: number, total: number): void => note(done / total);
  await evaluateRun(job.run, world, { backend: job.backend, folder: job.folder, until, onBatch });
  return { residentBytes: process.memoryUsage().rss };
});
