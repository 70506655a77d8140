import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { initialModelName, WARM_UP_NAMES, type WarmUpName } from '../small-world/warm-up/recipes.js';
import { trainInitialModel } from '../small-world/warm-up/train-model.js';
import { CHECKPOINTS } from '../io/paths.js';
import { startProgress, type Progress } from '../io/progress.js';
import type { BackendName } from '../tensor/backend.js';
import { CHECKPOINT_NOTICE, interruptible, parseCount, say } from './frame.js';
import { announceBackend, backendOption } from './options.js';

interface WarmUpSettings {
  seed: number;
  out?: string;
  checkpoints: string;
  backend: BackendName | 'auto';
}

/** Trains a model; the exit code is 130 after Ctrl-C, with a checkpoint to go on from. */
async function runWarmUp(name: WarmUpName, settings: WarmUpSettings): Promise<number> {
  const backend = await announceBackend(settings.backend);
  const { seed, checkpoints } = settings;
  const before = WARM_UP_NAMES[WARM_UP_NAMES.indexOf(name) - 1] as WarmUpName | undefined;
  let progress: Progress | undefined;
  return interruptible(CHECKPOINT_NOTICE, async (signal) => {
    await trainInitialModel(name, {
      seed,
      folder: settings.out ?? join('runs', `warm-up-${initialModelName(name, seed)}`),
      backend: backend.name,
      from: before && join(checkpoints, initialModelName(before, seed)),
      to: join(checkpoints, initialModelName(name, seed)),
      signal,
      onStep: ({ step, loss }, total) => {
        progress ??= startProgress(`Warming up ${name}`, total, step);
        progress.update(step + 1, `loss ${loss.toFixed(3)}`);
      },
    }).finally(() => progress?.stop());
    say(`The model is in ${join(checkpoints, initialModelName(name, seed))}.`);
  });
}

/** The `warm-up` command. */
export function warmUpCommand(): Command {
  return new Command('warm-up')
    .description('train a model by supervision; goes on where an earlier run stopped')
    .addArgument(new Argument('<name>', 'each goes on from the one before').choices(WARM_UP_NAMES))
    .option('--seed <n>', 'seed of everything random', parseCount, 1)
    .option('--out <folder>', 'where metrics and checkpoint go')
    .option('--checkpoints <folder>', 'where the finished model goes', CHECKPOINTS)
    .addOption(backendOption())
    .action(async (name: WarmUpName, settings: WarmUpSettings) => {
      process.exitCode = await runWarmUp(name, settings);
    });
}
