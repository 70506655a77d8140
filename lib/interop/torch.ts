/**
 * Exports a training setup for one GPU that only needs PyTorch: questions, demonstrations
 * as token ids, the Python package, and a script that runs SFT, then GRPO, and answers
 * questions.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { questionType, type Question } from '../data/question.js';
import { jsonLine, writeFileSafely, writeJson } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { readTokenizer } from '../policy/folders/limited-tokenizer.js';
import { createRandom } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { rewardConstants } from '../rewards/presets.js';
import { rollOut } from '../rollout/rollout.js';
import type { TrainConfig } from '../training/config.js';
import { toSequence } from '../training/sequences.js';
import { demonstrationPolicies, isDemonstration } from '../training/supervised.js';
import {
  PLAIN_TEMPLATE,
  pythonOptions,
  requireExportable,
  rewardKeywords,
  writeExport,
  type TrainingExport,
} from './export.js';

/** Maximum tokens of context and continuation. */
const MAX_LENGTH = 2048;
/** Loss weight of the last turn's tokens, where facts are compared; others weigh 1. */
const FINAL_WEIGHT = 3;
/** Number of demonstrations rolled out at a time. */
const BATCH_SIZE = 256;

interface TorchExport extends Omit<TrainingExport, 'topK' | 'promptForm' | 'method'> {
  /** Method, limits of the rollout and rewards; the trainer has its own options. */
  config: TrainConfig;
  /** Questions with dependency graphs; a retriever that finds what the server finds. */
  demonstrations?: { questions: readonly Question[]; retriever: Retriever };
}

/** Writes the folder. Returns the numbers of questions and demonstrations. */
export async function writeTorch(
  folder: string,
  training: TorchExport,
): Promise<{ train: number; val: number; demonstrations: number }> {
  const { config, demonstrations } = training;
  const { method, rollout } = config;
  const { promptForm, topK } = rollout;
  const numbers = await writeExport(folder, { ...training, method, promptForm, topK });
  for (const name of ['train.py', 'llama.py', 'README.md'])
    await cp(packagePath('data', 'templates', 'torch', name), path.join(folder, name));
  const { rewards } = requireExportable(method);
  const search = {
    model: training.model,
    chat_template: promptForm === 'chat' ? null : PLAIN_TEMPLATE,
    max_length: MAX_LENGTH,
    retriever: training.retriever,
    timeout_seconds: rollout.retrievalTimeoutMs / 1000,
    rollout: pythonOptions(rollout),
    reward_kwargs: rewardKeywords(rewardConstants(rewards), rollout),
    train_config: config,
  };
  await writeJson(path.join(folder, 'search.json'), search);
  if (!demonstrations) return { ...numbers, demonstrations: 0 };
  const lines = await demonstrate(training, demonstrations);
  const file = path.join(folder, 'data', 'demonstrations.jsonl.gz');
  await writeFileSafely(file, gzipSync(lines.map(jsonLine).join('')));
  return { ...numbers, demonstrations: lines.length };
}

/** Token ids of an expert's rollouts, and the loss weight of each. */
async function demonstrate(
  { model, config: { rollout, seed } }: TorchExport,
  { questions, retriever }: NonNullable<TorchExport['demonstrations']>,
): Promise<{ tokenIds: readonly number[]; weights: number[] }[]> {
  const tokenizer = await readTokenizer(model);
  const lines: { tokenIds: readonly number[]; weights: number[] }[] = [];
  const options = { tokenizer, questions, maxLength: MAX_LENGTH };
  const demonstrators = demonstrationPolicies({
    ...options,
    querySeparator: rollout.querySeparator,
  });
  for (const [number, { policy, rollout: changes }] of Object.entries(demonstrators))
    for (let start = 0; start < questions.length; start += BATCH_SIZE) {
      const part = questions.slice(start, start + BATCH_SIZE);
      const random = createRandom(seed).fork(`${number}, ${start}`);
      const { trajectories } = await rollOut(policy, retriever, part, {
        ...rollout,
        ...changes,
        temperature: 1,
        randoms: part.map((_, i) => random.fork(i)),
      });
      for (const [i, trajectory] of trajectories.entries()) {
        if (!isDemonstration(trajectory, part[i])) continue;
        const { tokenIds, lossMask } = toSequence(trajectory);
        const lastTurn = tokenIds.length - trajectory.segments.at(-1)!.tokenIds.length;
        const isCompared = questionType(part[i]) !== 'single_hop';
        const weight = (t: number): number => (isCompared && t >= lastTurn ? FINAL_WEIGHT : 1);
        lines.push({ tokenIds, weights: lossMask.map((one, t) => one * weight(t)) });
      }
    }
  return lines;
}
