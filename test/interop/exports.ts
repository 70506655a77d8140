/** A small training to export: the tiny world's questions and a committed model. */
import path from 'node:path';
import type { TrainingExport } from '../../lib/interop/export.js';
import { CHECKPOINTS } from '../../lib/io/paths.js';
import { QUESTIONS } from '../training/tiny.js';

export const MODEL = path.join(CHECKPOINTS, 'instruct-1');

export const trainingExport = (change: Partial<TrainingExport> = {}): TrainingExport => ({
  questions: ['train', 'test'].flatMap((split) =>
    QUESTIONS.map((question) => ({ ...question, id: `${split}-${question.id}`, split })),
  ),
  method: 'parallelsearch',
  model: MODEL,
  retriever: 'http://127.0.0.1:8000/retrieve',
  promptForm: 'short',
  topK: 3,
  rewardTest: { recorded: [], numDrawn: 100 },
  ...change,
});

/** For an audit without the chat template that `separators` needs. */
export const CLEAN = {
  prefix: null,
  mask_length: null,
  token_ids: null,
  information: null,
  log_probs: null,
};
