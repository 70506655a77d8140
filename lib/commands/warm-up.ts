/** `parallelsearch warm-up`: supervised training of a language model before RL. */
import { Command } from 'commander';
import { parseCount } from './common/cli-utils.js';
import { withModelOptions, type ModelSettings } from './common/options.js';
import { runTrain } from './train.js';

interface WarmUpSettings extends ModelSettings {
  model: string;
  seed: number;
  steps?: number;
  out?: string;
}

const WARM_UP_METHOD = 'demonstrations';

export function warmUpCommand(): Command {
  const command = new Command('warm-up')
    .description(
      'train an adapter by supervision before RL, on demonstrations from --data with dependency graphs; resumes if interrupted\n' +
        'Initial models of the small world are trained in a clone: npm run tools -- warm-up base',
    )
    .option('--seed <n>', 'random seed', parseCount, 1)
    .option('--steps <n>', 'training steps, of ten questions each (default: 120)', parseCount)
    .option('--out <folder>', 'folder for metrics and checkpoints');
  return withModelOptions(command).action(async (settings: WarmUpSettings) => {
    if (!settings.model) command.error("error: required option '--model <name>' not specified");
    process.exitCode = await runTrain({ ...settings, method: WARM_UP_METHOD });
  });
}
