/**
 * `parallelsearch export tensorboard RUN...`: training metrics as TensorBoard event
 * files.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { encodeEvents, type ScalarEvent } from '../interop/tensorboard.js';
import { shortNames } from '../pages/compare/runs.js';
import { readSteps, type StepMetrics } from '../pages/run/folder.js';
import { log } from './cli-utils.js';

/** A fixed name, so that a later export replaces an earlier one. */
const EVENT_FILE = 'events.out.tfevents.0000000000.parallelsearch';
/** Prefix of training metrics in Hugging Face's trainer and TRL. */
const TAG_PREFIX = 'train/';

/**
 * A run's metrics with the time of each step (seconds since 1970): the file's time less
 * the duration of later steps.
 * @throws Error for a folder without metrics
 */
export async function readTimedSteps(
  folder: string,
): Promise<(StepMetrics & { wallTime: number })[]> {
  const file = path.join(folder, 'metrics.jsonl');
  if (!existsSync(file))
    throw new Error(
      `Expected ${folder} to be an output folder of \`train\`, but it has no metrics.jsonl.`,
    );
  const steps = await readSteps(folder);
  let wallTime = (await stat(file)).mtimeMs / 1000;
  const timed = steps.toReversed().map(({ step, metrics }) => {
    const one = { step, metrics, wallTime };
    wallTime -= (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0);
    return one;
  });
  return timed.reverse();
}

/** A run's metrics as events. */
async function readEvents(folder: string): Promise<ScalarEvent[]> {
  const steps = await readTimedSteps(folder);
  return steps.map(({ step, wallTime, metrics }) => {
    const scalars = Object.entries(metrics).map(([name, value]) => [TAG_PREFIX + name, value]);
    return { step, wallTime, scalars: Object.fromEntries(scalars) as Record<string, number> };
  });
}

/**
 * Writes an event file per run, into its folder or a folder in `out`; returns the files.
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
    const events = await readEvents(run);
    await writeFileSafely(files[i], encodeEvents(events));
    log(`${events.length} steps of ${run}: ${files[i]}`);
  }
  return files;
}

/** The `tensorboard` command below `export`. */
export const tensorBoardCommand = (): Command =>
  new Command('tensorboard')
    .description('write training metrics as TensorBoard event files')
    .argument('<runs...>', 'output folders of `train`')
    .option('-o, --out <folder>', 'folder for the event files (default: in each run’s folder)')
    .action(async (runs: string[], settings: { out?: string }) => {
      await runTensorBoard(runs, settings);
    });
