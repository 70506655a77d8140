/** A small training to export: the tiny world's questions and a committed model. */
import { mkdirSync, writeFileSync } from 'node:fs';
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

/** A trace of verifiers with these messages, each the next one's parent. */
export const traceOf = (
  messages: readonly { role: string; [field: string]: unknown }[],
  rewards: object = {},
) => ({
  task: { type: 'T', data: { idx: 0, prompt: 'Who?', answer: 'Bo' } },
  nodes: messages.map((message, i) => ({
    message,
    sampled: message.role === 'assistant',
    ...(i > 0 && { parent: i - 1 }),
  })),
  rewards,
});

/** Makes a folder with verifiers' file of episodes. */
export function writeEpisodes(folder: string, ...episodes: object[]): void {
  mkdirSync(folder);
  const lines = episodes.map((one) => `${JSON.stringify(one)}\n`);
  writeFileSync(path.join(folder, 'traces.jsonl'), lines.join(''));
}
