/**
 * What TRL writes for `log_completions`: `completions/completions_STEP.parquet`, with the
 * columns that `train.py` of the export adds.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { readParquet } from '../io/parquet.js';
import { truthSchema, type RecordedRollout, type RecordedStep } from './import.js';

const json = z.string().transform((text): unknown => JSON.parse(text));
const segmentSchema = z
  .tuple([z.enum(['policy', 'information', 'notice']), z.string()])
  .transform(([kind, text]) => ({ kind, text }));
const rowSchema = z
  .object({
    prompt: z.array(z.object({ content: z.string() })).min(1),
    segments: json.pipe(z.array(segmentSchema)),
    ground_truth: json.pipe(truthSchema),
    reward: z.number(),
    advantage: z.number(),
  })
  .transform(
    ({ prompt, segments, ground_truth: truth, reward: score, advantage }): RecordedRollout => {
      return { prompt: prompt.at(-1)!.content, segments, truth, score, advantage };
    },
  );

/** Names of the files, the first step first. */
export const trlRolloutFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^completions_\d+\.parquet$/.test(name))
    .sort((a, b) => stepOf(a) - stepOf(b));
const stepOf = (name: string): number => Number(/\d+/.exec(name)![0]);

/**
 * The rollouts of each generation; further updates with the same ones are left out.
 * @throws Error naming the file that is another's
 */
export async function* readTrlRollouts(folder: string): AsyncGenerator<RecordedStep> {
  let before = '';
  for (const name of trlRolloutFiles(folder)) {
    const parsed = z.array(rowSchema).safeParse(await readParquet(path.join(folder, name)));
    if (!parsed.success)
      throw new Error(
        `Expected ${name} to have the columns that the exported train.py logs, but ${z.prettifyError(parsed.error)}`,
      );
    const rollouts = parsed.data;
    const now = JSON.stringify(rollouts);
    if (now !== before) yield { step: stepOf(name), rollouts };
    before = now;
  }
}
