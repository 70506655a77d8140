/**
 * Trains the initial models, `base` and then `instruct` of each seed, two seeds side by
 * side. Goes on where it was stopped.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { trainHere, trainInProcess } from '../../lib/io/child-process.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { CHECKPOINTS, packagePath } from '../../lib/io/paths.js';
import { sideBySide } from '../../lib/io/side-by-side.js';
import { useBackend, type BackendName } from '../../lib/tensor/backend.js';
import { writeModelCard } from './model-card.js';
import { initialModelName, recipeOf, WARM_UP_NAMES } from './recipes.js';
import { trainInitialModel } from './train-model.js';

const NUM_PROCESSES = 2;
const REPORT_EVERY = 50;

/** One line of the metrics in so many goes beside the weights. */
export const PUBLISH_EVERY = 20;

async function publishMetrics(from: string, to: string): Promise<void> {
  const lines = (await readFile(join(from, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  const some = lines.filter((_, i) => (i + 1) % PUBLISH_EVERY === 0);
  await writeFileSafely(join(to, 'metrics.jsonl'), some.map((line) => `${line}\n`).join(''));
}

export interface TrainModelsOptions {
  backend: BackendName | 'auto';
  /** Where the models go. */
  models?: string;
  /** Most steps of each stage. */
  maxSteps?: number;
  signal?: AbortSignal;
  /** What is said of the course of training, a line at a time. */
  log?: (line: string) => void;
}

async function trainSeed(
  seed: number,
  { backend, models = CHECKPOINTS, maxSteps, signal, log }: TrainModelsOptions,
): Promise<void> {
  await useBackend(backend);
  const world = await loadDataSet();
  for (const [i, name] of WARM_UP_NAMES.entries()) {
    const own = join(models, initialModelName(name, seed));
    if (existsSync(join(own, 'README.md'))) continue;
    const short = maxSteps === undefined ? '' : `-${maxSteps}-steps`;
    const folder = packagePath('runs', `warm-up${short}`, initialModelName(name, seed));
    await trainInitialModel(name, {
      seed,
      folder,
      maxSteps,
      signal,
      from: i > 0 ? join(models, initialModelName(WARM_UP_NAMES[i - 1], seed)) : undefined,
      to: own,
      onStep: ({ step, loss, seconds, numTokens }, total) => {
        if ((step + 1) % REPORT_EVERY > 0) return;
        const speed = (numTokens / seconds).toFixed(0);
        log?.(
          `${name} ${seed}: step ${step + 1} of ${total}, loss ${loss.toFixed(3)}, ${speed} tokens/s`,
        );
      },
    });
    await publishMetrics(folder, own);
    await writeModelCard(own, world, { name, seed, recipe: recipeOf(name) });
  }
}

/**
 * Trains the initial models of some seeds.
 * @throws Error when a process fails, or the signal's reason; the same call then goes on
 */
export const trainModels = (
  seeds: readonly number[],
  { signal, log, ...options }: TrainModelsOptions,
): Promise<void> =>
  sideBySide(seeds, NUM_PROCESSES, (seed) =>
    trainInProcess(import.meta.url, { seed, ...options }, { signal, log }),
  );

trainHere<{ seed: number } & TrainModelsOptions>(
  import.meta.url,
  ({ seed, ...options }, training) => trainSeed(seed, { ...options, ...training }),
);
