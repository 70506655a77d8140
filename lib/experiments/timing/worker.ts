/** Processes that time answers, under the same conditions as those that evaluate. */
import type { InitialModelName } from '../runs.js';
import type { TimedAnswer } from './measures.js';
import type { BackendName } from '../../tensor/backend.js';
import { serveGenerating, startGeneratingWorker, type GeneratingWorker } from '../generating-worker.js';
import { timeAnswers, timedQuestions } from './answers.js';
import { loadPolicy } from '../runs.js';

/** Methods of one model and seed, to be timed against each other. */
export interface TimingJob {
  methods: readonly string[];
  model: InitialModelName;
  seed: number;
  oneOf: number;
  backend: BackendName;
}
interface Timed {
  answers: TimedAnswer[];
}

export const startTimingWorker = (): GeneratingWorker<TimingJob, Timed> =>
  startGeneratingWorker(import.meta.url);

serveGenerating<TimingJob, Timed>(import.meta.url, async (job, world, onFraction) => {
  const { methods, model, seed, oneOf } = job;
  const questions = timedQuestions(world.questions, oneOf);
  const contestants = [];
  for (const method of methods) {
    const run = { method, model, seed };
    contestants.push({ run, policy: await loadPolicy(run) });
  }
  const total = questions.length * methods.length;
  const answers = await timeAnswers(contestants, world.retriever, questions, {
    onAnswer: (done) => onFraction(done / total),
  });
  contestants.forEach(({ policy }) => policy.dispose());
  return { answers };
});
