import { expect, it } from 'vitest';
import { plainQuestions, plainQuestionsTable } from '../../examples/experiment.js';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import { runJobs } from '../../lib/experiments/running/jobs.js';
import type { JobWorker } from '../../lib/experiments/running/jobs.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { BackendReport } from '../../lib/tensor/backend.js';
import { temporaryFolder } from '../folder.js';
import { PASSAGES, QUESTIONS } from '../training/tiny.js';

const folder = temporaryFolder();

/** Runs jobs in this process, over a world of a few passages. */
const start = (): JobWorker => ({
  send: async ({ input }) => {
    const questions = QUESTIONS.map((question) => ({ ...question, split: 'test' }));
    const world = { passages: PASSAGES, questions, retriever: createBm25Retriever(PASSAGES) };
    const value = await plainQuestions.computation!.work(input, {
      backend: 'wasm',
      world,
      kept: [],
      until: Infinity,
      onFraction: () => undefined,
      keep: async () => undefined,
    });
    return { value, seconds: 1, residentBytes: 1 };
  },
  stop: () => undefined,
});

it('is registered, computed by the job runner, and shown in a table', async () => {
  expect(EXPERIMENTS).toContain(plainQuestions);
  await expect(plainQuestionsTable(folder)).rejects.toThrow(
    'npx parallelsearch experiment plain-questions',
  );
  const backend = { name: 'wasm', detail: 'made up' } as BackendReport;
  const { signal } = new AbortController();
  await runJobs(plainQuestions, { backend, folder, signal, start, onProgress: () => undefined });
  const { cells } = await plainQuestionsTable(folder);
  expect(cells.columns).toEqual(['Questions', 'Share']);
  // The second hop of a chain is not in the question.
  expect(cells.rows).toEqual([
    ['single hop', '1.000'],
    ['parallelizable', '1.000'],
    ['sequential', '0.500'],
    ['hybrid', '0.500'],
  ]);
});
