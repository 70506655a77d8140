/**
 * What verl writes into `trainer.rollout_data_dir` and `validation_data_dir`: a file
 * `STEP.jsonl` for each step.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ambiguity, splitTranscript } from '../text/response.js';
import { truthSchema, type RecordedRollout, type RecordedStep } from './import.js';
import { streamJsonLines } from '../io/files.js';

const lineSchema = z
  .object({ input: z.string(), output: z.string(), gts: truthSchema, score: z.number() })
  .transform(({ input, output, gts, score }): RecordedRollout => {
    const segments = splitTranscript(output);
    return { prompt: input, segments, truth: gts, score, ambiguous: ambiguity(segments) };
  });

/** Names of the files, the first step first. */
export const verlRolloutFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^\d+\.jsonl$/.test(name))
    .sort((a, b) => parseInt(a) - parseInt(b));

/** @throws Error naming the line that is none of verl's */
export async function* readVerlRollouts(folder: string): AsyncGenerator<RecordedStep> {
  for (const name of verlRolloutFiles(folder)) {
    const rollouts: RecordedRollout[] = [];
    for await (const line of streamJsonLines(path.join(folder, name), (value) =>
      lineSchema.parse(value),
    )) {
      if ('complaint' in line)
        throw new Error(
          `Expected rollouts of verl with input, output, gts and score, but: ${line.complaint}`,
        );
      rollouts.push(line.value);
    }
    yield { step: parseInt(name), rollouts };
  }
}
