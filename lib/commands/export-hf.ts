/**
 * `parallelsearch export hf FOLDER`: a policy as a folder that vLLM, transformers and
 * PEFT load.
 */
import { Command, Option } from 'commander';
import { CHECKPOINTS } from '../io/paths.js';
import { exportModel } from '../policy/model-folder.js';
import { useBackend } from '../tensor/backend.js';
import { parseCount, log } from './cli-utils.js';
import { policyFolders } from './setup.js';

type ExportHfSettings = Parameters<typeof policyFolders>[0] & { dtype: 'float32' | 'float16' };

/** Writes the merged model and, beside it, its adapter; says what was written. */
export async function runExportHf(folder: string, settings: ExportHfSettings): Promise<void> {
  const weights = await policyFolders(settings);
  await useBackend('auto');
  await exportModel(folder, weights, settings.dtype === 'float32' ? 'F32' : 'F16');
  log(
    `${weights.join(' with ')}: ${folder}${weights.length > 1 ? ', the adapter alone in its folder adapter' : ''}`,
  );
}

/** The `export hf` command. */
export const exportHfCommand = (): Command =>
  new Command('hf')
    .description(
      'write a policy as a folder in Hugging Face format, its adapter merged and, by itself, in PEFT’s format',
    )
    .argument('<folder>')
    .option('--model <name>', 'as in `evaluate`: a committed initial model, or a folder')
    .option('--adapter <folder>', 'an adapter (PEFT format) instead of the committed one')
    .option('--method <name>', 'whose committed adapter')
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .addOption(
      new Option('--dtype <name>', 'of the merged weights')
        .choices(['float32', 'float16'])
        .default('float32'),
    )
    .action(runExportHf);
