/** `parallelsearch playground`: both trained policies and the small world as one HTML file to try them in. */
import { Command } from 'commander';
import { exportPlayground } from '../pages/playground/html.js';
import { packagePath } from '../io/paths.js';
import { say } from './frame.js';

/** The `playground` command. */
export function playgroundCommand(): Command {
  return new Command('playground')
    .description('write the trained policies and the small world into one HTML file that answers questions')
    .option('--out-dir <folder>', 'gets playground.html', packagePath('reports'))
    .option('--checkpoints <folder>', 'models and adapters in the layout of data/checkpoints')
    .action(async (settings: { outDir: string; checkpoints?: string }) =>
      say(await exportPlayground({ ...settings, log: say })),
    );
}
