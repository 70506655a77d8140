import { join } from 'node:path';
import { Argument, Command } from 'commander';
import {
  initialModelName,
  recipeOf,
  WARM_UP_NAMES,
  type WarmUpName,
} from '../../tools/warm-up/recipes.js';
import { totalSteps } from '../../tools/warm-up/run-warm-up.js';
import { trainInitialModel } from '../../tools/warm-up/train-model.js';
import { CHECKPOINTS } from '../io/paths.js';
import { startProgress, type Progress } from '../io/progress.js';
import { CHECKPOINT_NOTICE, interruptible, parseCount, log } from './cli-utils.js';
import { announceBackend, withPolicyOptions, type PolicySettings } from './options.js';
import { runTrain } from './train.js';

interface WarmUpSettings extends PolicySettings {
  seed: number;
  steps?: number;
  out?: string;
  checkpoints: string;
}

/** The method that a language model is warmed up with. */
const WARM_UP_METHOD = 'demonstrations';

/**
 * Trains a model of the small world; the exit code is 130 after Ctrl-C, with a checkpoint
 * to go on from.
 */
async function runWarmUp(name: WarmUpName, settings: WarmUpSettings): Promise<number> {
  await announceBackend(settings.backend);
  const { seed, checkpoints } = settings;
  const before = WARM_UP_NAMES[WARM_UP_NAMES.indexOf(name) - 1] as WarmUpName | undefined;
  const folder = settings.out ?? join('runs', `warm-up-${initialModelName(name, seed)}`);
  log(
    `${initialModelName(name, seed)} into ${folder}: makes its exercises, then takes ${totalSteps(recipeOf(name).stages)} steps.`,
  );
  let progress: Progress | undefined;
  return interruptible(CHECKPOINT_NOTICE, async (signal) => {
    await trainInitialModel(name, {
      seed,
      folder,
      from: before && join(checkpoints, initialModelName(before, seed)),
      to: join(checkpoints, initialModelName(name, seed)),
      signal,
      onStep: ({ step, loss }, total) => {
        progress ??= startProgress(`Warming up ${name}`, total, step);
        progress.update(step + 1, `loss ${loss.toFixed(3)}`);
      },
    }).finally(() => progress?.stop());
    log(`The model is in ${join(checkpoints, initialModelName(name, seed))}.`);
  });
}

/** The `warm-up` command. */
export function warmUpCommand(): Command {
  const command = new Command('warm-up')
    .description(
      'train a model by supervision, before reinforcement: one of the small world by name, or the adapter of a language model ' +
        '(--model) on demonstrations from data with dependency graphs (--data); goes on where an earlier run stopped',
    )
    .addArgument(
      new Argument('[name]', 'of the small world; each goes on from the one before').choices(
        WARM_UP_NAMES,
      ),
    )
    .option('--seed <n>', 'seed of everything random', parseCount, 1)
    .option(
      '--steps <n>',
      'steps of a language model, of eight demonstrations each (default: 60)',
      parseCount,
    )
    .option('--out <folder>', 'where metrics and checkpoint go')
    .option(
      '--checkpoints <folder>',
      'where a finished model of the small world goes',
      CHECKPOINTS,
    );
  return withPolicyOptions(command, () => '').action(
    async (name: WarmUpName | undefined, settings: WarmUpSettings) => {
      const { model, data } = settings;
      if (name ? model || data : !model)
        throw new Error(
          `Expected the name of a model of the small world (${WARM_UP_NAMES.join(', ')}), or --model and --data. ` +
            'See `warm-up --help`.',
        );
      process.exitCode = name
        ? await runWarmUp(name, settings)
        : await runTrain({ ...settings, method: WARM_UP_METHOD });
    },
  );
}
