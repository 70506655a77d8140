/**
 * `parallelsearch export tensorboard RUN...`: the metrics of trainings as event files of
 * TensorBoard.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { printEvents, type ScalarEvent } from '../interop/tensorboard.js';
import { shortNames } from '../pages/compare/runs.js';
import { readSteps } from '../pages/run/folder.js';
import { log } from './cli-utils.js';

/** One name, so that a later export takes the place of an earlier one. */
const EVENT_FILE = 'events.out.tfevents.0000000000.parallelsearch';
/**
 * What Hugging Face's trainer, and so TRL, puts before the names of the metrics of
 * training.
 */
const TAG_PREFIX = 'train/';

/**
 * The metrics of a run; when a step ended follows from the file's time and from how long
 * the later steps took.
 */
async function eventsOf(folder: string): Promise<ScalarEvent[]> {
  const file = path.join(folder, 'metrics.jsonl');
  if (!existsSync(file))
    throw new Error(
      `Expected ${folder} to be the folder of a training, but it has no metrics.jsonl. Name one of \`train\`.`,
    );
  const steps = await readSteps(folder);
  let wallTime = (await stat(file)).mtimeMs / 1000;
  const events = steps.toReversed().map(({ step, metrics }) => {
    const scalars = Object.entries(metrics).map(([name, value]) => [TAG_PREFIX + name, value]);
    const event = {
      step,
      wallTime,
      scalars: Object.fromEntries(scalars) as Record<string, number>,
    };
    wallTime -= (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0);
    return event;
  });
  return events.reverse();
}

/**
 * Writes an event file for each run, into its folder or into one of its name in `out`.
 * Returns the files' names.
 */
export async function runTensorBoard(
  runs: readonly string[],
  { out }: { out?: string },
): Promise<string[]> {
  const names = shortNames(runs);
  const files = runs.map((run, i) =>
    path.join(out === undefined ? run : path.join(out, names[i]), EVENT_FILE),
  );
  for (const [i, run] of runs.entries()) {
    const events = await eventsOf(run);
    await writeFileSafely(files[i], printEvents(events));
    log(`${events.length} steps of ${run}: ${files[i]}`);
  }
  return files;
}

/** The `tensorboard` command below `export`. */
export const tensorBoardCommand = (): Command =>
  new Command('tensorboard')
    .description('write the metrics of trainings as event files, for `tensorboard --logdir`')
    .argument('<runs...>', 'folders of `train`')
    .option('-o, --out <folder>', 'gets a folder for each run, instead of a file in the run’s own')
    .action(async (runs: string[], settings: { out?: string }) => {
      await runTensorBoard(runs, settings);
    });
