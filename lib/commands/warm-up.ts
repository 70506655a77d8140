import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { WARM_UP_NAMES, type WarmUpName } from '../experiments/runs.js';
import { trainInitialModel } from '../mini-wiki/warm-up/train-model.js';
import { loadWorld } from '../experiments/world.js';
import { CHECKPOINTS } from '../io/paths.js';
import { startProgress, type Progress } from '../io/progress.js';
import type { BackendName } from '../tensor/backend.js';
import { announceBackend, backendOption, interruptSignal, parseCount } from './options.js';

interface WarmUpSettings {
  seed: number;
  out?: string;
  checkpoints: string;
  backend: BackendName | 'auto';
}

/** Trains a model; the exit code is 130 after Ctrl-C, with a checkpoint to go on from. */
export async function runWarmUpCommand(name: WarmUpName, settings: WarmUpSettings): Promise<number> {
  const backend = await announceBackend(settings.backend);
  const signal = interruptSignal('Finishing this step and writing a checkpoint; Ctrl-C again stops at once.');
  let progress: Progress | undefined;
  try {
    await trainInitialModel(name, await loadWorld(), {
      seed: settings.seed,
      folder: settings.out ?? join('runs', `warm-up-${name}-seed${settings.seed}`),
      backend: backend.name,
      checkpoints: settings.checkpoints,
      signal,
      onStep: ({ step, loss }, total) => {
        progress ??= startProgress(`Warming up ${name}`, total, step);
        progress.update(step + 1, `loss ${loss.toFixed(3)}`);
      },
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stderr.write('Stopped. The same command goes on from here.\n');
    return 130;
  } finally {
    progress?.stop();
  }
  process.stderr.write(`The model is in ${join(settings.checkpoints, name)}.\n`);
  return 0;
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
      process.exitCode = await runWarmUpCommand(name, settings);
    });
}
