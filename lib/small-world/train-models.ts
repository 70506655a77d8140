/**
 * Trains the initial models, `base` and then `instruct` of each seed, two seeds side by side: `node dist/small-world/train-models.js [folder] [seeds]`, by
 * default into data/checkpoints with seeds 1, 2 and 3. About 50 minutes a seed on one core with the native backend; goes on where it was stopped.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadDataSet } from '../data/flashrag.js';
import { writeFileSafely } from '../io/files.js';
import { CHECKPOINTS, packagePath, SMALL_WORLD } from '../io/paths.js';
import { sideBySide } from '../io/side-by-side.js';
import { useBackend } from '../tensor/backend.js';
import { trainInProcess } from './training-process.js';
import { writeModelCard } from './warm-up/model-card.js';
import { recipeOf, WARM_UP_NAMES, type WarmUpName } from './warm-up/recipes.js';
import { trainInitialModel } from './warm-up/train-model.js';

const NUM_PROCESSES = 2;
const REPORT_EVERY = 50;

/** Name of an initial model's folder, such as `instruct-2`. */
export const initialModelName = (name: WarmUpName, seed: number): string => `${name}-${seed}`;

/** One line of the metrics in so many goes beside the weights. */
const PUBLISH_EVERY = 20;

async function publishMetrics(from: string, to: string): Promise<void> {
  const lines = (await readFile(join(from, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  const some = lines.filter((_, i) => (i + 1) % PUBLISH_EVERY === 0);
  await writeFileSafely(join(to, 'metrics.jsonl'), some.map((line) => `${line}\n`).join(''));
}

async function trainSeed(seed: number, models: string): Promise<void> {
  const backend = await useBackend('auto');
  const world = await loadDataSet(SMALL_WORLD);
  for (const [i, name] of WARM_UP_NAMES.entries()) {
    const own = join(models, initialModelName(name, seed));
    if (existsSync(join(own, 'README.md'))) continue;
    const folder = packagePath('runs', 'warm-up', initialModelName(name, seed));
    await trainInitialModel(name, {
      ...{ seed, folder, backend: backend.name },
      from: i > 0 ? join(models, initialModelName(WARM_UP_NAMES[i - 1], seed)) : undefined,
      to: own,
      onStep: ({ step, loss, seconds, numTokens }, total) => {
        if ((step + 1) % REPORT_EVERY > 0) return;
        const speed = (numTokens / seconds).toFixed(0);
        console.error(
          `${name} ${seed}: step ${step + 1} of ${total}, loss ${loss.toFixed(3)}, ${speed} tokens/s`,
        );
      },
    });
    await publishMetrics(folder, own);
    await writeModelCard(own, world, { name, seed, recipe: recipeOf(name) });
  }
}

async function main([models = CHECKPOINTS, seeds = '1,2,3', own]: string[]): Promise<void> {
  if (own === 'here') return trainSeed(Number(seeds), models);
  await sideBySide(seeds.split(','), NUM_PROCESSES, (seed) =>
    trainInProcess(import.meta.url, [models, seed, 'here']),
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
