/** Processes that answer the sample of questions with different retrievers and numbers of passages. */
import type { TopKAnswer, TopKConfig, TopKSetting } from './measures.js';
import type { BackendName } from '../../tensor/backend.js';
import { serveGenerating, startGeneratingWorker, type GeneratingWorker } from '../generating-worker.js';
import { answerWith, loadRetrievers, sampleQuestions, type Retrievers } from './answers.js';
import { loadPolicy, type PolicyRun } from '../runs.js';

/** One evaluation. */
export interface TopKJob {
  config: TopKConfig;
  run: PolicyRun;
  setting: TopKSetting;
  backend: BackendName;
}
interface Answered {
  answers: TopKAnswer[];
}

export const startTopKWorker = (): GeneratingWorker<TopKJob, Answered> =>
  startGeneratingWorker(import.meta.url);

let retrievers: Retrievers | null = null;
serveGenerating<TopKJob, Answered>(import.meta.url, async ({ config, run, setting }, world, onFraction) => {
  retrievers ??= await loadRetrievers(world);
  const questions = sampleQuestions(world.questions, config.oneOf);
  const policy = await loadPolicy(run);
  const onBatch = (done: number): void => onFraction(done / questions.length);
  const retriever = retrievers[setting.retriever];
  const answers = await answerWith(policy, retriever, questions, { run, setting, config, onBatch });
  policy.dispose();
  return { answers };
});
