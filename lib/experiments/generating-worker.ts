/** Processes that generate side by side: tfjs uses one core for a small policy, so each has its own. */
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../io/worker.js';
import type { WorkerMemory } from './renewed-worker.js';
import { loadWorld, type World } from './world.js';

/** One thread each, and without oneDNN, which prepares and keeps something for every new shape of tensor; a decoder makes some at each token. */
const ENVIRONMENT = { TF_NUM_INTRAOP_THREADS: '1', TF_ENABLE_ONEDNN_OPTS: '0' };

/** Share of a job that is done. */
type Fraction = number;

export type GeneratingWorker<Job, Reply> = Worker<Job, Reply & WorkerMemory, Fraction>;

/** Starts a process that runs the module at `url`, which calls {@link serveGenerating}. */
export const startGeneratingWorker = <Job, Reply>(url: string): GeneratingWorker<Job, Reply> =>
  startWorker(url, ENVIRONMENT);

/** The child's side: does one job after the other in a world that is loaded with the first, on the backend that it names. */
export function serveGenerating<Job extends { backend: BackendName }, Reply extends object>(
  url: string,
  work: (job: Job, world: World, onFraction: (fraction: Fraction) => void) => Promise<Reply>,
): void {
  let world: World | null = null;
  serve<Job, Reply & WorkerMemory, Fraction>(url, async (job, note) => {
    if (!world) await useBackend(job.backend);
    world ??= await loadWorld();
    const reply = await work(job, world, note);
    return { ...reply, residentBytes: process.memoryUsage().rss };
  });
}
