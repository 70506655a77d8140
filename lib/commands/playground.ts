/** `parallelsearch playground`: writes policies and passages as one HTML file. */
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { CHECKPOINTS, outputPath } from '../io/paths.js';
import { exportPlayground, type ExportPlaygroundOptions } from '../pages/playground/page.js';
import { adapterBase, DEFAULT_MODEL } from '../training/models.js';
import { log } from './common/cli-utils.js';
import { requireKnownData } from './common/setup.js';

/** Commands for any data, because a language model is too large for a page. */
const INSTEAD =
  '`ask "QUESTION" --model smollm2-parallelsearch` in the terminal, or `evaluate --trajectories FILE` and `view FILE`';

async function runPlayground(settings: ExportPlaygroundOptions): Promise<void> {
  const { adapter, checkpoints = CHECKPOINTS } = settings;
  const model =
    adapter === undefined
      ? join(checkpoints, DEFAULT_MODEL)
      : await adapterBase(adapter, checkpoints);
  await requireKnownData(model, settings, INSTEAD);
  log(await exportPlayground({ ...settings, log }));
}

export function playgroundCommand(): Command {
  return new Command('playground')
    .description(
      'write a playground: one HTML file that answers questions (default: the committed policies and the small world)',
    )
    .addOption(
      new Option('--out-dir <folder>', 'folder for playground.html').default(
        outputPath('reports'),
        'reports',
      ),
    )
    .option('--checkpoints <folder>', 'folder of models and adapters, laid out as data/checkpoints')
    .option('--data <folder>', 'your passages (see `data check`) and, optionally, questions')
    .option(
      '--adapter <folder>',
      'your adapter (see `train`), compared with its model before training',
    )
    .option('--force', 'accept policies that were not trained for the data')
    .action(runPlayground);
}
