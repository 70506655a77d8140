/** `parallelsearch playground`: policies and passages as one HTML file to try them in. */
import { Command } from 'commander';
import { exportPlayground, type ExportPlaygroundOptions } from '../pages/playground/page.js';
import { outputPath } from '../io/paths.js';
import { log } from './cli-utils.js';

/** The `playground` command. */
export function playgroundCommand(): Command {
  return new Command('playground')
    .description(
      'write policies and passages, by default the committed ones and the small world, into one HTML file that answers questions',
    )
    .option('--out-dir <folder>', 'gets playground.html', outputPath('reports'))
    .option('--checkpoints <folder>', 'models and adapters in the layout of data/checkpoints')
    .option(
      '--data <folder>',
      'passages of your own (see `data check`), and questions where there are any',
    )
    .option(
      '--adapter <folder>',
      'an adapter of your own and its model (see `train`), before and after training',
    )
    .action(async (settings: ExportPlaygroundOptions) =>
      log(await exportPlayground({ ...settings, log })),
    );
}
