/** What goes into the playground: the trained policies, the mini-wiki, the tensor library. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  parseTrainConfig,
  rolloutConfigOf,
  START_NAMES,
  type MethodName,
  type StartName,
} from '../config.js';
import { formatQuestions, readQuestions } from '../data/flashrag.js';
import { METHOD_TITLES } from '../evaluation/metrics.js';
import { commitOf } from '../experiments/provenance.js';
import {
  adapterFolder,
  CHECKPOINTS,
  MINI_WIKI,
  requireFolders,
  runName,
  startFolder,
} from '../experiments/world.js';
import { readJson } from '../policy/model-folder.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  type PlaygroundCheckpoint,
  type PlaygroundSetup,
} from './setup.js';

/** The methods that stand side by side. */
const PLAYGROUND_METHODS = ['parallelsearch', 'search-r1'] as const satisfies readonly MethodName[];
const SEED = 1;

/** A file's name in the page and its content. */
export type PlaygroundFiles = Map<string, string | Uint8Array>;

async function addFolder(
  files: PlaygroundFiles,
  folder: string,
  name: string,
  parts: readonly string[],
): Promise<void> {
  requireFolders([folder]);
  for (const part of parts) files.set(`${name}/${part}`, await readFile(join(folder, part)));
}

/** Puts a start and its methods' adapters into `files`. Returns the two checkpoints, trained first. */
async function addStart(
  files: PlaygroundFiles,
  start: StartName,
  root: string,
): Promise<PlaygroundCheckpoint[]> {
  await addFolder(files, startFolder(start, root), start, [
    'config.json',
    'tokenizer.json',
    'model.safetensors',
  ]);
  const adapters: Record<string, string> = {};
  let steps = 0;
  for (const method of PLAYGROUND_METHODS) {
    const run = { method, start, seed: SEED };
    const folder = adapterFolder(run, root);
    adapters[method] = runName(run);
    await addFolder(files, folder, adapters[method], ['adapter_config.json', 'adapter_model.safetensors']);
    steps = parseTrainConfig(await readJson(join(folder, 'train_config.json'))).grpo.steps;
  }
  return [
    {
      id: `${start}-trained`,
      title: `${start}, after ${steps} steps of GRPO (seed ${SEED})`,
      start,
      adapters,
    },
    { id: start, title: `${start}, before GRPO`, start, adapters: {} },
  ];
}

/** Instruct before base: it is the one that answers better. */
const STARTS = [...START_NAMES].reverse();

/**
 * Reads everything that the page carries: each start with the adapters of both methods, all passages, the test questions,
 * and the WebAssembly of the tensor library.
 * @param root the folder of the checkpoints
 * @throws Error naming weights that are missing
 */
export async function readPlayground(root = CHECKPOINTS): Promise<PlaygroundFiles> {
  const files: PlaygroundFiles = new Map();
  const checkpoints: PlaygroundCheckpoint[] = [];
  for (const start of STARTS) checkpoints.push(...(await addStart(files, start, root)));
  const [trained] = checkpoints;
  const config = await readJson(join(root, trained.adapters.parallelsearch, 'train_config.json'));
  const setup: PlaygroundSetup = {
    methods: PLAYGROUND_METHODS.map((name) => ({
      name,
      title: METHOD_TITLES[name],
      rollout: rolloutConfigOf(name),
    })),
    checkpoints,
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
