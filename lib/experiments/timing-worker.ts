/** A process that times answers: with one thread and without oneDNN, as those that evaluate. */
import type { MethodName, StartName } from '../config.js';
import type { TimedAnswer } from '../evaluation/timing.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../worker.js';
import { GENERATING_SIDE_BY_SIDE, type WorkerMemory } from './renewed-worker.js';
import { timeAnswers, timedQuestions } from './timing-answers.js';
import { loadPolicy, loadWorld, type World } from './world.js';

/** Methods of one start and seed, to be timed against each other. */
export interface TimingJob {
  methods: readonly MethodName[];
  start: StartName;
  seed: number;
  oneOf: number;
  backend: BackendName;
}
interface Timed extends WorkerMemory {
  answers: TimedAnswer[];
}
/** Share of the answers that have been timed. */
type Fraction = number;

export function startTimingWorker(): Worker<TimingJob, Timed, Fraction> {
  return startWorker(import.meta.url, GENERATING_SIDE_BY_SIDE);
}

let world: World | null = null;
serve<TimingJob, Timed, Fraction>(import.meta.url, async (job, note) => {
  const { methods, start, seed, oneOf, backend } = job;
  if (!world) await useBackend(backend);
  world ??= await loadWorld();
  const questions = timedQuestions(world.questions, oneOf);
  const contestants = [];
  for (const method of methods) {
    const run = { method, start, seed };
    contestants.push({ run, policy: await loadPolicy(run) });
  }
  const total = questions.length * methods.length;
  const answers = await timeAnswers(contestants, world.retriever, questions, {
    onAnswer: (done) => note(done / total),
  });
  contestants.forEach(({ policy }) => policy.dispose());
  return { answers, residentBytes: process.memoryUsage().rss };
});
