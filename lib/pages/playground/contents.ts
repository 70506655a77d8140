/** What goes into the playground: the trained policies, the small world, the tensor library. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { parseTrainConfig, type TrainConfig } from '../../methods/config.js';
import { methodTitle, rolloutConfigOf } from '../../methods/index.js';
import { formatQuestions, readQuestions } from '../../data/flashrag.js';
import {
  adapterFolder,
  isTrained,
  keptSteps,
  modelNameOf,
  runName,
  stepFolder,
  weightFolders,
  type PolicyRun,
} from '../../experiments/runs.js';
import { evaluatedQuestions } from '../../experiments/world.js';
import { CHECKPOINTS, SMALL_WORLD } from '../../io/paths.js';
import { readJson } from '../../io/files.js';
import { requireFolders } from '../../policy/model-folder.js';
import { TRAIN_CONFIG_FILE } from '../../training/run.js';
import { PASSAGES_FILE, QUESTIONS_FILE, SETUP_FILE, WASM_FILE, type PlaygroundSetup } from './setup.js';

/** The methods that stand side by side. */
const PLAYGROUND_METHODS = ['parallelsearch', 'search-r1'] as const;
const SEED = 1;
/** Instruct before base: it is the one that answers better. */
const MODELS = ['instruct', 'base'] as const;

/** A file's name in the page and its content. */
export type PlaygroundFiles = Map<string, string | Uint8Array>;

/** The runs that stand side by side. */
const runsFrom = (model: PolicyRun['model']): PolicyRun[] =>
  PLAYGROUND_METHODS.map((method) => ({ method, model, warmUp: SEED, seed: SEED }));

const trainConfig = async (folder: string): Promise<TrainConfig> =>
  parseTrainConfig(await readJson(join(folder, TRAIN_CONFIG_FILE)));

/** Each model with the adapters of both methods before, in the course of and at the end of training; their files go into `files`. */
async function addCheckpoints(files: PlaygroundFiles, root: string): Promise<PlaygroundSetup['checkpoints']> {
  const checkpoints: PlaygroundSetup['checkpoints'] = [];
  const addFolder = async (name: string, parts: readonly string[]): Promise<void> => {
    requireFolders([join(root, name)]);
    for (const part of parts) files.set(`${name}/${part}`, await readFile(join(root, name, part)));
  };
  for (const kind of MODELS) {
    const runs = runsFrom(kind);
    const model = modelNameOf(runs[0]);
    if (!runs.every((run) => isTrained(run, root))) continue;
    await addFolder(model, ['config.json', 'tokenizer.json', 'model.safetensors']);
    checkpoints.push({ id: model, title: `${model}, before GRPO`, model, adapters: {} });
    const { grpo } = await trainConfig(adapterFolder(runs[0], root));
    for (const numSteps of [...keptSteps(runs[0]), grpo.steps]) {
      const part = numSteps === grpo.steps ? '' : stepFolder(numSteps);
      const adapters = Object.fromEntries(runs.map((run) => [run.method, posix.join(runName(run), part)]));
      const folders = Object.values(adapters);
      if (!folders.every((folder) => existsSync(join(root, folder)))) continue;
      for (const folder of folders)
        await addFolder(folder, ['adapter_config.json', 'adapter_model.safetensors']);
      const title = part ? `${model}, after ${numSteps} steps of GRPO` : `${model}, after GRPO`;
      checkpoints.push({ id: `${model}-step-${numSteps}`, title, model, adapters });
    }
  }
  return checkpoints;
}

/**
 * Reads everything that the page carries: each model with the adapters of both methods at the end of training and at the
 * steps that were kept, all passages, the test questions, and the WebAssembly of the tensor library.
 * @param root the folder of the checkpoints
 * @throws Error naming weights that are missing
 */
export async function readPlayground(root = CHECKPOINTS): Promise<PlaygroundFiles> {
  const files: PlaygroundFiles = new Map();
  const checkpoints = await addCheckpoints(files, root);
  if (checkpoints.length === 0)
    requireFolders(runsFrom(MODELS[0]).flatMap((run) => weightFolders(run, root)));
  const [{ model: first }] = checkpoints;
  const trained = checkpoints.findLast(({ model }) => model === first)!;
  const setup: PlaygroundSetup = {
    methods: PLAYGROUND_METHODS.map((name) => {
      return { name, title: methodTitle(name), rollout: rolloutConfigOf(name) };
    }),
    ...{ checkpoints, firstCheckpoint: trained.id },
    titleWeight: (await trainConfig(join(root, trained.adapters.parallelsearch))).titleWeight,
  };
  const questions = await readQuestions(join(SMALL_WORLD, 'questions.jsonl'));
  files.set(QUESTIONS_FILE, formatQuestions(evaluatedQuestions(questions)));
  files.set(PASSAGES_FILE, await readFile(join(SMALL_WORLD, 'passages.jsonl')));
  const wasm = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  files.set(WASM_FILE, await readFile(join(dirname(wasm), WASM_FILE)));
  return files.set(SETUP_FILE, JSON.stringify(setup));
}
