/** Processes that evaluate runs side by side. */
import type { BackendName } from '../tensor/backend.js';
import { evaluateRun } from './evaluation-run.js';
import { serveGenerating, startGeneratingWorker, type GeneratingWorker } from './generating-worker.js';
import type { PolicyRun } from './runs.js';

/** A run to evaluate, and the folder that its record goes into. */
export interface EvaluationJob {
  run: PolicyRun;
  folder: string;
  backend: BackendName;
  /** Seconds after which what is answered is kept and the rest left; default all are answered. */
  seconds?: number;
}

/** What they answer lies in the job's folder. */
export const startEvaluationWorker = (): GeneratingWorker<EvaluationJob, object> =>
  startGeneratingWorker(import.meta.url);

serveGenerating<EvaluationJob, object>(import.meta.url, async (job, world, onFraction) => {
  const { run, folder, backend, seconds = Infinity } = job;
  const until = performance.now() + seconds * 1000;
  const onBatch = (done: number, total: number): void => onFraction(done / total);
  await evaluateRun(run, world, { backend, folder, until, onBatch });
  return {};
});
