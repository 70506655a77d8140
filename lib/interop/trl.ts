/** TRL: exports a training setup as one folder, and reads the completions TRL logs. */
import { readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { writeJson } from '../io/files.js';
import { jsonText, parseAs, parseJson } from '../io/json.js';
import { readParquet } from '../io/parquet.js';
import { packagePath } from '../io/paths.js';
import { rewardConstants } from '../rewards/presets.js';
import {
  exportedRollout,
  PLAIN_TEMPLATE,
  pythonRollout,
  requireExportable,
  rewardKeywords,
  writeExport,
  type TrainingExport,
} from './export.js';
import { truthSchema, type RecordedRollout, type RecordedStep } from './import.js';

/** Maximum tokens of a context and its continuation (App. A.4). */
const MAX_LENGTH = 4096;

/**
 * Writes Parquet files, rewards, rollout function and configuration. Returns the numbers
 * of questions.
 * @throws RangeError for a method not trained by GRPO
 */
export async function writeTrl(
  folder: string,
  training: TrainingExport,
): Promise<{ train: number; val: number }> {
  const { algorithm, rewards } = requireExportable(training.method);
  if (algorithm !== 'grpo')
    throw new RangeError(
      `Expected a method trained by grpo, but ${training.method} is trained by ${algorithm}. Export it for verl.`,
    );
  const numbers = await writeExport(folder, training);
  for (const name of ['train.py', 'config.yaml', 'README.md'])
    await cp(packagePath('data', 'templates', 'trl', name), path.join(folder, name));
  const search = {
    model: training.model,
    chat_template: training.promptForm === 'chat' ? null : PLAIN_TEMPLATE,
    max_length: MAX_LENGTH,
    ...pythonRollout(training),
    reward_kwargs: rewardKeywords(rewardConstants(rewards), exportedRollout(training)),
  };
  await writeJson(path.join(folder, 'search.json'), search);
  return numbers;
}

const segmentSchema = z
  .tuple([z.enum(['policy', 'information', 'notice']), z.string()])
  .transform(([kind, text]) => ({ kind, text }));
const rowSchema = z
  .object({
    prompt: z.array(z.object({ content: z.string() })).min(1),
    segments: jsonText(parseJson).pipe(z.array(segmentSchema)),
    ground_truth: jsonText(parseJson).pipe(truthSchema),
    reward: z.number(),
    advantage: z.number(),
  })
  .transform(
    ({ prompt, segments, ground_truth: truth, reward: score, advantage }): RecordedRollout => {
      return { prompt: prompt.at(-1)!.content, segments, truth, score, advantage };
    },
  );

const stepNumber = (name: string): number => Number(/\d+/.exec(name)![0]);

/** The files `completions_STEP.parquet` of `log_completions`, in the order of steps. */
export const trlRolloutFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^completions_\d+\.parquet$/.test(name))
    .sort((a, b) => stepNumber(a) - stepNumber(b));

/**
 * Reads the rollouts of each generation, with the columns that the exported `train.py`
 * adds. Further updates with the same rollouts are skipped.
 * @throws Error naming a file without these columns
 */
export async function* readTrlRollouts(folder: string): AsyncGenerator<RecordedStep> {
  let previous = '';
  for (const name of trlRolloutFiles(folder)) {
    const rows = await readParquet(path.join(folder, name));
    const expected = `${name} to have the columns that the exported train.py logs`;
    const rollouts = parseAs(z.array(rowSchema), rows, expected);
    const current = JSON.stringify(rollouts);
    if (current !== previous) yield { step: stepNumber(name), rollouts };
    previous = current;
  }
}
