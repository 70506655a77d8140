/** What goes into the playground: the trained policies, the mini-wiki, the tensor library. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { parseTrainConfig } from '../../methods/config.js';
import { methodTitle, rolloutConfigOf } from '../../methods/index.js';
import { formatQuestions, readQuestions } from '../../data/flashrag.js';
import { commitOf } from '../../io/provenance.js';
import {
  adapterFolder,
  INITIAL_MODELS,
  keptSteps,
  modelFolder,
  runName,
  stepFolder,
  type InitialModelName,
  type PolicyRun,
} from '../../experiments/runs.js';
import { CHECKPOINTS, MINI_WIKI } from '../../io/paths.js';
import { readJson } from '../../io/files.js';
import { requireFolders } from '../../policy/model-folder.js';
import { TRAIN_CONFIG_FILE } from '../../training/run.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  type PlaygroundCheckpoint,
  type PlaygroundSetup,
} from './setup.js';

/** The methods that stand side by side. */
const PLAYGROUND_METHODS = ['parallelsearch', 'search-r1'] as const;
const SEED = 1;
const runsOf = (model: InitialModelName): PolicyRun[] =>
  PLAYGROUND_METHODS.map((method) => ({ method, model, seed: SEED }));

/** A file's name in the page and its content. */
export type PlaygroundFiles = Map<string, string | Uint8Array>;

/** Puts files of a folder into `files`, under the folder's name in the page. */
async function addFolder(files: PlaygroundFiles, folder: string, name: string, parts: readonly string[]) {
  requireFolders([folder]);
  for (const part of parts) files.set(`${name}/${part}`, await readFile(join(folder, part)));
}

/** Puts the adapters of one point of the training into `files`, each out of the run's folder or a part of it. */
async function addAdapters(
  files: PlaygroundFiles,
  {
    model,
    numSteps,
    root,
    part = '',
  }: { model: InitialModelName; numSteps: number; root: string; part?: string },
): Promise<PlaygroundCheckpoint> {
  const adapters: Record<string, string> = {};
  for (const run of runsOf(model)) {
    const name = posix.join(runName(run), part);
    await addFolder(files, join(root, name), name, ['adapter_config.json', 'adapter_model.safetensors']);
    adapters[run.method] = name;
  }
  const title = `${model}, after ${numSteps} steps of GRPO (seed ${SEED})`;
  return { id: `${model}-step-${numSteps}`, title, model, adapters };
}

/** Puts a model and its methods' adapters into `files`. Returns its checkpoints in the order of training. */
async function addModel(
  files: PlaygroundFiles,
  model: InitialModelName,
  root: string,
): Promise<PlaygroundCheckpoint[]> {
  const parts = ['config.json', 'tokenizer.json', 'model.safetensors'];
  await addFolder(files, modelFolder(model, root), model, parts);
  const checkpoints = [
    { id: model, title: `${model}, before GRPO`, model, adapters: {} },
  ] as PlaygroundCheckpoint[];
  const folders = runsOf(model).map((run) => adapterFolder(run, root));
  for (const numSteps of keptSteps(runsOf(model)[0])) {
    const part = stepFolder(numSteps);
    if (folders.every((folder) => existsSync(join(folder, part))))
      checkpoints.push(await addAdapters(files, { model, numSteps, root, part }));
  }
  requireFolders(folders);
  const { grpo } = parseTrainConfig(await readJson(join(folders[0], TRAIN_CONFIG_FILE)));
  return [...checkpoints, await addAdapters(files, { model, numSteps: grpo.steps, root })];
}

/** Instruct before base: it is the one that answers better. */
const MODELS = [...INITIAL_MODELS].reverse();

/**
 * Reads everything that the page carries: each model with the adapters of both methods at the end of training and at the
 * steps that were kept, all passages, the test questions, and the WebAssembly of the tensor library.
 * @param root the folder of the checkpoints
 * @throws Error naming weights that are missing
 */
export async function readPlayground(root = CHECKPOINTS): Promise<PlaygroundFiles> {
  const files: PlaygroundFiles = new Map();
  const checkpoints: PlaygroundCheckpoint[] = [];
  for (const model of MODELS) checkpoints.push(...(await addModel(files, model, root)));
  const trained = checkpoints.findLast(({ model }) => model === MODELS[0])!;
  const config = await readJson(join(root, trained.adapters.parallelsearch, TRAIN_CONFIG_FILE));
  const setup: PlaygroundSetup = {
    methods: PLAYGROUND_METHODS.map((name) => {
      return { name, title: methodTitle(name), rollout: rolloutConfigOf(name) };
    }),
    ...{ checkpoints, firstCheckpoint: trained.id },
    titleWeight: parseTrainConfig(config).titleWeight,
    commit: commitOf(),
  };
  const questions = await readQuestions(join(MINI_WIKI, 'questions.jsonl'));
  files.set(QUESTIONS_FILE, formatQuestions(questions.filter(({ split }) => split === 'test')));
  files.set(PASSAGES_FILE, await readFile(join(MINI_WIKI, 'passages.jsonl')));
  const wasm = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  files.set(WASM_FILE, await readFile(join(dirname(wasm), WASM_FILE)));
  return files.set(SETUP_FILE, JSON.stringify(setup));
}
