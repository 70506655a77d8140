/** Processes that answer the sample of questions side by side: tfjs uses one core for a small policy, so each has its own. */
import type { TopKAnswer, TopKConfig, TopKSetting } from '../evaluation/top-k.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { serve, startWorker, type Worker } from '../worker.js';
import { GENERATING_SIDE_BY_SIDE, type WorkerMemory } from './renewed-worker.js';
import { answerWith, loadRetrievers, sampleQuestions, type Retrievers } from './top-k-answers.js';
import { loadPolicy, loadWorld, type PolicyRun, type World } from './world.js';

/** One evaluation. */
export interface TopKJob {
  config: TopKConfig;
  run: PolicyRun;
  setting: TopKSetting;
  backend: BackendName;
}
interface Answered extends WorkerMemory {
  answers: TopKAnswer[];
}
/** Share of the questions that are answered. */
type Fraction = number;

export function startTopKWorker(): Worker<TopKJob, Answered, Fraction> {
  return startWorker(import.meta.url, GENERATING_SIDE_BY_SIDE);
}

let loaded: { world: World; retrievers: Retrievers } | null = null;

async function load(backend: BackendName): Promise<NonNullable<typeof loaded>> {
  await useBackend(backend);
  const world = await loadWorld();
  return { world, retrievers: await loadRetrievers(world) };
}

serve<TopKJob, Answered, Fraction>(import.meta.url, async ({ backend, ...job }, note) => {
  loaded ??= await load(backend);
  const questions = sampleQuestions(loaded.world.questions, job.config.oneOf);
  const policy = await loadPolicy(job.run);
  const onBatch = (done: number): void => note(done / questions.length);
  const retriever = loaded.retrievers[job.setting.retriever];
  const answers = await answerWith(policy, retriever, questions, { ...job, onBatch });
  policy.dispose();
  return { answers, residentBytes: process.memoryUsage().rss };
});
