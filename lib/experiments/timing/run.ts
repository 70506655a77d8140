/**
 * Seconds a question (Tables 3 and 6): how long one waits who asks a single question. Both methods answer the same questions in
 * turn in one process, so that whatever else the machine does falls on both.
 */
import { INITIAL_MODELS } from '../runs.js';
import type { TimedAnswer } from './measures.js';
import { useBackend } from '../../tensor/backend.js';
import { SEEDS } from '../evaluate-runs.js';
import { evaluationHash } from '../evaluation-run.js';
import type { Experiment, ExperimentContext, ExperimentResults } from '../experiment.js';
import { workSideBySide } from '../renewed-worker.js';
import { timedQuestions } from './answers.js';
import { startTimingWorker, type TimingJob } from './worker.js';
import { loadWorld } from '../world.js';

const METHODS: readonly string[] = ['parallelsearch', 'search-r1'];
const ONE_OF = 20;
/** Seconds a question, roughly: for an estimate and nothing else. */
const ROUGH_SECONDS = 1;

/** What is timed against each other, and apart from all else. */
const jobs = (): Omit<TimingJob, 'backend'>[] =>
  SEEDS.flatMap((seed) => INITIAL_MODELS.map((model) => ({ methods: METHODS, model, seed, oneOf: ONE_OF })));

async function runTiming({ backend: requested, signal, onProgress, part }: ExperimentContext) {
  const backend = await useBackend(requested);
  const answers: TimedAnswer[] = [];
  const all = jobs();
  // One at a time: two processes would get into each other's way.
  const pool = { numJobs: all.length, numWorkers: 1, signal };
  await workSideBySide(startTimingWorker, pool, async (i, worker) => {
    const job = { ...all[i], backend: backend.name };
    const name = `${job.model}-seed${job.seed}`;
    const onFraction = (fraction: number): void => onProgress((i + fraction) / all.length, name);
    answers.push(...(await part(name, async () => (await worker.work(job, onFraction)).answers)));
  });
  const numQuestions = answers.length / (all.length * METHODS.length);
  return { answers, provenance: { seeds: SEEDS, backend: backend.detail, numQuestions } };
}

/** The experiment that `notebooks/05-parallel-vs-sequential.ipynb` and `07-latency.ipynb` take their seconds from. */
export const timingExperiment: Experiment = {
  title: 'seconds a question, both methods in turn',
  config: async () => {
    const runs = jobs().flatMap(({ methods, ...who }) => methods.map((method) => ({ method, ...who })));
    return { oneOf: ONE_OF, runs: await Promise.all(runs.map(evaluationHash)) };
  },
  estimateSeconds: async () => {
    const questions = timedQuestions((await loadWorld()).questions, ONE_OF);
    return ROUGH_SECONDS * questions.length * METHODS.length * jobs().length;
  },
  run: (context): Promise<ExperimentResults> => runTiming(context),
};
