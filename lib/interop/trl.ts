/**
 * A training on TRL's GRPOTrainer: Parquet files, rewards, rollout function and
 * configuration in one folder.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { rewardOptions } from '../rewards/presets.js';
import {
  PLAIN_TEMPLATE,
  pythonRollout,
  requireTraining,
  writeExport,
  type TrainingExport,
} from './export.js';
import { rewardKeywords } from './python.js';

/** The longest context with its continuation (App. A.4), tokens. */
const MAX_LENGTH = 4096;

/**
 * Writes the folder. Returns the numbers of questions. @throws Error for a method that is
 * not trained by GRPO, or where the questions do not suffice
 */
export async function writeTrl(
  folder: string,
  handOver: TrainingExport,
): Promise<{ train: number; val: number }> {
  const { algorithm, rewards } = requireTraining(handOver.method);
  if (algorithm !== 'grpo')
    throw new RangeError(
      `Expected a method that is trained by grpo, but ${handOver.method} is by ${algorithm}. Export it for verl.`,
    );
  const numbers = await writeExport(folder, handOver);
  for (const name of ['train.py', 'config.yaml', 'README.md'])
    await cp(packagePath('data', 'templates', 'trl', name), path.join(folder, name));
  const search = {
    model: handOver.model,
    chat_template: handOver.promptForm === 'chat' ? null : PLAIN_TEMPLATE,
    max_length: MAX_LENGTH,
    ...pythonRollout(handOver),
    reward_kwargs: rewardKeywords(rewardOptions(rewards)),
  };
  await writeFileSafely(path.join(folder, 'search.json'), `${JSON.stringify(search, null, 2)}\n`);
  return numbers;
}
