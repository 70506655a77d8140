/**
 * What goes into the playground: the trained policies, the small world, the tensor
 * library.
 */
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, posix } from 'node:path';
import { methodTitle, rolloutConfigOf } from '../../methods/index.js';
import { least, sum } from 'd3-array';
import {
  dataSetFiles,
  formatPassages,
  formatQuestions,
  loadPassages,
  loadQuestions,
} from '../../data/flashrag.js';
import {
  adapterBase,
  adapterFolder,
  DEFAULT_METHOD,
  isTrained,
  modelNameOf,
  runName,
  trainConfigOf,
  weightFolders,
  type PolicyRun,
} from '../../methods/checkpoints.js';
import { keptSteps, stepFolder } from '../../experiments/runs.js';
import { evaluatedQuestions, type Question, type SubQuestion } from '../../data/question.js';
import { loadTrajectories, type TrajectoryLine } from '../../experiments/trajectories.js';
import { CHECKPOINTS } from '../../io/paths.js';
import { requireFolders } from '../../policy/model-files.js';
import { listed } from '../../text/listed.js';
import { DEFAULT_ANALYZER } from '../../retrieval/words.js';
import { TITLE_WEIGHT } from '../../retrieval/retrievers.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  type PlaygroundSetup,
} from './setup.js';

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

const MODEL_FILES = ['config.json', 'tokenizer.json', 'model.safetensors'];
const ADAPTER_FILES = ['adapter_config.json', 'adapter_model.safetensors'];

/**
 * Each model with the adapters of both methods before, in the course of and at the end of
 * training; their files go into `files`.
 */
async function addCheckpoints(
  files: PlaygroundFiles,
  root: string,
): Promise<PlaygroundSetup['checkpoints']> {
  const checkpoints: PlaygroundSetup['checkpoints'] = [];
  const addFolder = async (name: string, parts: readonly string[]): Promise<void> => {
    requireFolders([join(root, name)]);
    for (const part of parts) files.set(`${name}/${part}`, await readFile(join(root, name, part)));
  };
  for (const kind of MODELS) {
    const runs = runsFrom(kind);
    const model = modelNameOf(runs[0]);
    if (!runs.every((run) => isTrained(run, root))) continue;
    await addFolder(model, MODEL_FILES);
    checkpoints.push({ id: model, title: `${model}, before GRPO`, model, adapters: {} });
    const { grpo } = (await trainConfigOf(adapterFolder(runs[0], root)))!;
    for (const numSteps of [...keptSteps(runs[0]), grpo.steps]) {
      const part = numSteps === grpo.steps ? '' : stepFolder(numSteps);
      const adapters = Object.fromEntries(
        runs.map((run) => [run.method, posix.join(runName(run), part)]),
      );
      const folders = Object.values(adapters);
      if (!folders.every((folder) => existsSync(join(root, folder)))) continue;
      for (const folder of folders) await addFolder(folder, ADAPTER_FILES);
      const title = part ? `${model}, after ${numSteps} steps of GRPO` : `${model}, after GRPO`;
      checkpoints.push({ id: `${model}-step-${numSteps}`, title, model, adapters });
    }
  }
  return checkpoints;
}

/** Things compared in the question that the page begins with. */
const FIRST_SIZE = 3;

/**
 * A question to begin with, of those that ParallelSearch is on record with: it asked
 * for each part once, all in one turn, read them rightly and answered rightly. As near as
 * can be to {@link FIRST_SIZE} parts; undefined where there is none.
 */
export function clearQuestion(
  lines: readonly Pick<
    TrajectoryLine,
    'questionId' | 'question' | 'segments' | 'searchTurns' | 'rewards'
  >[],
  questions: readonly Question[],
): string | undefined {
  const graphs = new Map(questions.map(({ id, metadata }) => [id, metadata.graph ?? []]));
  const clear = lines.filter(({ questionId, segments, searchTurns, rewards }) => {
    const graph = graphs.get(questionId) ?? [];
    const [{ queries }] = [...searchTurns, { queries: [] }];
    const read = segments.findLast(({ kind }) => kind === 'policy')?.text ?? '';
    const isClear = ({ entity, answers }: SubQuestion): boolean =>
      queries.filter((query) => query.includes(entity)).length === 1 &&
      answers.some((answer) => read.includes(`${entity} = ${answer}`));
    const isWhole = graph.length > 1 && searchTurns.length === 1 && queries.length === graph.length;
    return isWhole && rewards.outcome === 1 && graph.every(isClear);
  });
  return least(clear, ({ questionId }) => Math.abs(graphs.get(questionId)!.length - FIRST_SIZE))
    ?.question;
}

/**
 * What the trained policy that the page begins with is on record with; nothing where it
 * is on none.
 */
async function recordedLines(): Promise<readonly TrajectoryLine[]> {
  const { lines } = await loadTrajectories().catch(() => ({ lines: [] }));
  const name = runName(runsFrom(MODELS[0])[0]);
  return lines.filter(({ run }) => runName(run) === name);
}

/** What stands in the place of the committed policies and the small world. */
export interface OwnParts {
  /** A folder in the FlashRAG layout. */
  data?: string;
  /** The folder of an adapter, which names its model. */
  adapter?: string;
}

/**
 * The committed policies of both methods. @throws Error naming weights that are missing
 */
async function committedPolicies(files: PlaygroundFiles, root: string): Promise<PlaygroundSetup> {
  const checkpoints = await addCheckpoints(files, root);
  if (checkpoints.length === 0)
    requireFolders(runsFrom(MODELS[0]).flatMap((run) => weightFolders(run, root)));
  const [{ model: first }] = checkpoints;
  const trained = checkpoints.findLast(({ model }) => model === first)!;
  const config = await trainConfigOf(join(root, trained.adapters.parallelsearch));
  return {
    methods: PLAYGROUND_METHODS.map((name) => {
      return { name, title: methodTitle(name), rollout: rolloutConfigOf(name) };
    }),
    checkpoints,
    firstCheckpoint: trained.id,
    titleWeight: config!.titleWeight,
    analyzer: config!.analyzer ?? DEFAULT_ANALYZER,
  };
}

/** An adapter of one's own and its model, asked as it was trained. */
async function ownPolicy(
  files: PlaygroundFiles,
  adapter: string,
  root: string,
): Promise<PlaygroundSetup> {
  const model = await adapterBase(adapter, root);
  const trained = await trainConfigOf(adapter);
  requireSmall([join(model, 'model.safetensors'), join(adapter, 'adapter_model.safetensors')]);
  for (const name of MODEL_FILES) files.set(`model/${name}`, await readFile(join(model, name)));
  for (const name of ADAPTER_FILES)
    files.set(`adapter/${name}`, await readFile(join(adapter, name)));
  const name = trained?.method ?? DEFAULT_METHOD;
  const title = basename(model);
  return {
    methods: [
      { name, title: methodTitle(name), rollout: trained?.rollout ?? rolloutConfigOf(name) },
    ],
    checkpoints: [
      { id: 'before', title: `${title}, before training`, model: 'model', adapters: {} },
      {
        id: 'after',
        title: `${title}, after training`,
        model: 'model',
        adapters: { [name]: 'adapter' },
      },
    ],
    firstCheckpoint: 'after',
    titleWeight: trained?.titleWeight ?? TITLE_WEIGHT,
    analyzer: trained?.analyzer ?? DEFAULT_ANALYZER,
  };
}

/**
 * Bytes of weights and passages that a page may carry: a browser unpacks them all at
 * once.
 */
const MOST_BYTES = 100e6;

/**
 * @throws Error naming the sizes of files that are too large for a page together, and the
 * remedy
 */
function requireSmall(files: readonly string[]): void {
  const sizes = files.map((file) => statSync(file).size);
  if (sum(sizes) <= MOST_BYTES) return;
  const told = files.map((file, i) => `${file} has ${(sizes[i] / 1e6).toFixed(0)} MB`);
  throw new Error(
    `Expected at most ${MOST_BYTES / 1e6} MB for a page, but ${listed(told)}. Take fewer passages or a smaller model, or ask in the ` +
      'terminal, where size does not matter: parallelsearch ask "QUESTION".',
  );
}

/**
 * Reads everything that the page carries: the policies (of both methods, before, in the
 * course of and at the end of training, or one's own), all passages, the questions that
 * are evaluated, and the WebAssembly of the tensor library.
 * @param root the folder of the checkpoints
 * @throws Error naming weights that are missing, or what is too large
 */
export async function readPlayground(
  root = CHECKPOINTS,
  { data, adapter }: OwnParts = {},
): Promise<PlaygroundFiles> {
  const { passages, questions } = dataSetFiles(data);
  if (passages) requireSmall([passages]);
  const files: PlaygroundFiles = new Map();
  const setup = await (adapter === undefined
    ? committedPolicies(files, root)
    : ownPolicy(files, adapter, root));
  const all = questions.length > 0 ? await loadQuestions(data) : [];
  const asked = evaluatedQuestions(all);
  files.set(QUESTIONS_FILE, formatQuestions(asked.length > 0 ? asked : all));
  if (data === undefined && adapter === undefined)
    setup.firstQuestion = clearQuestion(await recordedLines(), asked);
  files.set(PASSAGES_FILE, formatPassages(await loadPassages(data)));
  const wasm = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  files.set(WASM_FILE, await readFile(join(dirname(wasm), WASM_FILE)));
  return files.set(SETUP_FILE, JSON.stringify(setup));
}
