/** `parallelsearch playground`: policies and passages as one HTML file. */
import { Command } from 'commander';
import { outputPath } from '../io/paths.js';
import { exportPlayground, type ExportPlaygroundOptions } from '../pages/playground/page.js';
import { log } from './cli-utils.js';

/** The `playground` command. */
export function playgroundCommand(): Command {
  return new Command('playground')
    .description(
      'write a playground: one HTML file that answers questions (default: the committed policies and the small world)',
    )
    .option('--out-dir <folder>', 'folder for playground.html', outputPath('reports'))
    .option('--checkpoints <folder>', 'folder of models and adapters, laid out as data/checkpoints')
    .option('--data <folder>', 'your passages (see `data check`) and, optionally, questions')
    .option(
      '--adapter <folder>',
      'your adapter (see `train`), compared with its model before training',
    )
    .action(async (settings: ExportPlaygroundOptions) =>
      log(await exportPlayground({ ...settings, log })),
    );
}
