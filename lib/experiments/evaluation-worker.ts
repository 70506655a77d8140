/** Processes that evaluate runs side by side: tfjs uses one core for a small policy, so each has its own. */
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../worker.js';
import { evaluateRun, writeRecord } from './evaluation-run.js';
import { loadWorld, type PolicyRun, type World } from './world.js';

/** A run to evaluate, and the folder that its record goes into. */
export interface EvaluationJob {
  run: PolicyRun;
  folder: string;
  backend: BackendName;
}
/** Share of the run's questions that are answered. */
type Fraction = number;
/** Resident memory of the process after a job. */
type Bytes = number;

export function startEvaluationWorker(): Worker<EvaluationJob, Bytes, Fraction> {
  // One thread each: the workers share the cores already.
  return startWorker(import.meta.url, { TF_NUM_INTRAOP_THREADS: '1' });
}

let world: World | null = null;
serve<EvaluationJob, Bytes, Fraction>(import.meta.url, async ({ run, folder, backend }, note) => {
  if (!world) await useBackend(backend);
  world ??= await loadWorld();
  const record = await evaluateRun(run, world, { backend, onBatch: (done, total) => note(done / total) });
  await writeRecord(folder, record);
  return process.memoryUsage().rss;
});
