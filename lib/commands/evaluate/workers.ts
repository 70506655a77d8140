/** Processes that share the batches of `evaluate`. */
import type { Question } from '../../data/question.js';
import { answerBatch, type AnswerBatch } from '../../evaluation/evaluate.js';
import { serve, startWorker, withWorkers } from '../../io/processes.js';
import { createSearchCache } from '../../retrieval/search.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import type { PolicySpec } from '../common/options.js';
import { openRetriever, type Setup } from '../common/setup.js';

/** A batch, and what a worker loads before its first one. */
type Task = Pick<Setup, 'backend' | 'folders' | 'search' | 'rollout'> &
  Pick<PolicySpec, 'data' | 'index' | 'force'> & { questions: readonly Question[] };

/** Runs `work` with helpers, which end with it or on the signal. */
export async function withHelpers(
  numHelpers: number,
  { setup, settings, signal }: { setup: Setup; settings: PolicySpec; signal: AbortSignal },
  work: (helpers: AnswerBatch[]) => Promise<unknown>,
): Promise<void> {
  const { backend, folders, search, rollout } = setup;
  const { data, index, force } = settings;
  const task = { backend, folders, search, rollout, data, index, force };
  const start = () => startWorker<Task, Trajectory[]>(import.meta.url);
  await withWorkers({ signal, start }, async (send) => {
    const helper: AnswerBatch = (questions) => send({ ...task, questions });
    await work(new Array<AnswerBatch>(numHelpers).fill(helper));
  });
}

async function openHelper(task: Task): Promise<AnswerBatch> {
  const { useBackend } = await import('../../tensor/backend.js');
  const { loadLocalPolicy } = await import('../../policy/folders/model-folder.js');
  await useBackend(task.backend);
  const { model, adapter } = task.folders!;
  const policy = await loadLocalPolicy(model, { adapter, force: task.force });
  const { retriever } = await openRetriever(task, task.search);
  const options = { ...task.rollout, temperature: 0, cache: createSearchCache() };
  return (questions) => answerBatch(policy, retriever, questions, options);
}

let helper: Promise<AnswerBatch> | undefined;

serve<Task, Trajectory[]>(import.meta.url, async (task) => {
  helper ??= openHelper(task);
  return (await helper)(task.questions);
});
