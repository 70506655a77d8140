/** Collects what the playground carries: policies, passages, questions and tfjs' wasm. */
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, posix } from 'node:path';
import { least, sum } from 'd3-array';
import { dataSetFiles, formatPassages, loadPassages, loadQuestions } from '../../data/flashrag.js';
import { evaluatedQuestions, type Question, type SubQuestion } from '../../data/question.js';
import {
  adapterFolder,
  isTrained,
  modelNameForRun,
  runName,
  weightFolders,
  type PolicyRun,
} from '../../experiments/running/policy-runs.js';
import { keptSteps, stepFolder } from '../../experiments/running/runs.js';
import { loadTrajectories, type TrajectoryLine } from '../../experiments/trajectories.js';
import { CHECKPOINTS } from '../../io/paths.js';
import { requireBase } from '../../policy/folders/adapter-base.js';
import { ADAPTER_WEIGHTS, MODEL_WEIGHTS } from '../../policy/folders/files.js';
import { readTokenizer } from '../../policy/folders/limited-tokenizer.js';
import {
  listFolders,
  readModelConfig,
  requireFolders,
} from '../../policy/folders/policy-folders.js';
import { DEFAULT_ANALYZER } from '../../retrieval/analyzers.js';
import { TITLE_WEIGHT } from '../../retrieval/retrievers.js';
import type { RolloutConfig } from '../../rollout/options.js';
import { formatList } from '../../text/english.js';
import { trainerSettings } from '../../training/config.js';
import { BOTH_METHODS, methodTitle, resolveRollout } from '../../training/methods.js';
import {
  adapterBase,
  DEFAULT_METHOD,
  isSmallWorldModel,
  readTrainConfig,
} from '../../training/models.js';
import {
  ADAPTER_FILES,
  MODEL_FILES,
  PASSAGES_FILE,
  SETUP_FILE,
  WASM_FILE,
  type PlaygroundSetup,
} from './setup.js';

type PlaygroundFiles = Map<string, string | Uint8Array>;
type Policies = Omit<PlaygroundSetup, 'questions'>;

/** Policies and data that replace the committed ones. */
export interface CustomParts {
  data?: string;
  /** The folder of an adapter, which names its model. */
  adapter?: string;
  /** Accepts an adapter that was trained from another model. */
  force?: boolean;
}

const SEED = 1;
/** Instruct first, because it answers better. */
const MODELS = ['instruct', 'base'] as const;
/** Limit for weights and for passages: a browser unpacks them all at once. */
const MAX_BYTES = 100e6;

/**
 * Reads everything that the page carries.
 * @param root folder of the checkpoints
 * @throws Error naming missing weights, or files too large for a page
 */
export async function readPlayground(
  root = CHECKPOINTS,
  { data, adapter, force = false }: CustomParts = {},
): Promise<PlaygroundFiles> {
  const dataFiles = dataSetFiles(data);
  if (dataFiles.passages) requireSmall([dataFiles.passages]);
  const files: PlaygroundFiles = new Map();
  const policies =
    adapter === undefined
      ? await addCommittedPolicies(files, root)
      : await addAdapter(files, adapter, { root, force });
  const questions = dataFiles.questions.length > 0 ? await loadQuestions(data) : [];
  const evaluated = evaluatedQuestions(questions);
  const setup: PlaygroundSetup = {
    ...policies,
    questions: evaluated.length > 0 ? evaluated : questions,
    firstQuestion:
      data === undefined && adapter === undefined
        ? exampleQuestion(await recordedLines(), evaluated)
        : undefined,
  };
  files.set(PASSAGES_FILE, formatPassages(await loadPassages(data)));
  const wasm = createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm');
  files.set(WASM_FILE, await readFile(join(dirname(wasm), WASM_FILE)));
  return files.set(SETUP_FILE, JSON.stringify(setup));
}

async function addFolder(
  files: PlaygroundFiles,
  name: string,
  folder: string,
  parts: readonly string[],
): Promise<void> {
  requireFolders([folder]);
  for (const part of parts) files.set(`${name}/${part}`, await readFile(join(folder, part)));
}

const runsFrom = (model: PolicyRun['model']): PolicyRun[] =>
  BOTH_METHODS.map((method) => ({ method, model, initSeed: SEED, seed: SEED }));

/** Adds both methods from each initial model: before, during and after training. */
async function addCommittedPolicies(files: PlaygroundFiles, root: string): Promise<Policies> {
  const checkpoints: Policies['checkpoints'] = [];
  for (const runs of MODELS.map(runsFrom)) {
    if (!runs.every((run) => isTrained(run, root))) continue;
    const model = modelNameForRun(runs[0]);
    await addFolder(files, model, join(root, model), MODEL_FILES);
    checkpoints.push({ id: model, title: `${model}, before GRPO`, model, adapters: {} });
    const { steps } = trainerSettings((await readTrainConfig(adapterFolder(runs[0], root)))!);
    for (const numSteps of [...keptSteps(runs[0]), steps]) {
      const isLast = numSteps === steps;
      const adapterPath = (run: PolicyRun): string =>
        posix.join(runName(run), isLast ? '' : stepFolder(numSteps));
      const adapters = Object.fromEntries(runs.map((run) => [run.method, adapterPath(run)]));
      const folders = Object.values(adapters);
      if (!folders.every((folder) => existsSync(join(root, folder)))) continue;
      for (const folder of folders)
        await addFolder(files, folder, join(root, folder), ADAPTER_FILES);
      const title = `${model}, after ${isLast ? '' : `${numSteps} steps of `}GRPO`;
      checkpoints.push({ id: `${model}-step-${numSteps}`, title, model, adapters });
    }
  }
  if (checkpoints.length === 0)
    requireFolders(runsFrom(MODELS[0]).flatMap((run) => listFolders(weightFolders(run, root))));
  const trained = checkpoints.findLast(({ model }) => model === checkpoints[0].model)!;
  const config = (await readTrainConfig(join(root, trained.adapters.parallelsearch)))!;
  return {
    methods: BOTH_METHODS.map((name) => {
      return { name, title: methodTitle(name), rollout: resolveRollout(name, 'small-world') };
    }),
    checkpoints,
    firstCheckpoint: trained.id,
    titleWeight: config.titleWeight,
    analyzer: config.analyzer ?? DEFAULT_ANALYZER,
  };
}

/** Adds an adapter and its model, before and after training. */
async function addAdapter(
  files: PlaygroundFiles,
  adapter: string,
  { root, force }: { root: string; force: boolean },
): Promise<Policies> {
  const model = await adapterBase(adapter, root);
  if (!force) await requireBase(adapter, model);
  const config = await readTrainConfig(adapter);
  requireSmall([join(model, MODEL_WEIGHTS), join(adapter, ADAPTER_WEIGHTS)]);
  await addFolder(files, 'model', model, MODEL_FILES);
  await addFolder(files, 'adapter', adapter, ADAPTER_FILES);
  const name = config?.method ?? DEFAULT_METHOD;
  const checkpoint = (when: 'before' | 'after', adapters: Record<string, string>) => {
    return { id: when, title: `${basename(model)}, ${when} training`, model: 'model', adapters };
  };
  const rollout = config?.rollout ?? (await ownRollout(name, model));
  return {
    methods: [{ name, title: methodTitle(name), rollout }],
    checkpoints: [checkpoint('before', {}), checkpoint('after', { [name]: 'adapter' })],
    firstCheckpoint: 'after',
    titleWeight: config?.titleWeight ?? TITLE_WEIGHT,
    analyzer: config?.analyzer ?? DEFAULT_ANALYZER,
  };
}

/** The rollout settings for an adapter of unknown training. */
async function ownRollout(method: string, model: string): Promise<RolloutConfig> {
  if (await isSmallWorldModel(model)) return resolveRollout(method, 'small-world');
  const { maxPositionEmbeddings } = await readModelConfig(model);
  const tokenizer = await readTokenizer(model);
  return resolveRollout(method, { maxLength: maxPositionEmbeddings, tokenizer });
}

function requireSmall(files: readonly string[]): void {
  const sizes = files.map((file) => statSync(file).size);
  if (sum(sizes) <= MAX_BYTES) return;
  const described = files.map((file, i) => `${file} has ${(sizes[i] / 1e6).toFixed(0)} MB`);
  throw new Error(
    `Expected at most ${MAX_BYTES / 1e6} MB for a page, but ${formatList(described)}. ` +
      'Use fewer passages or a smaller model, or ask in the terminal: npx parallelsearch ask "QUESTION".',
  );
}

/** The number of entities that the first question compares, if possible. */
const EXAMPLE_SIZE = 3;

/**
 * Picks a good first question: one that ParallelSearch answers correctly, with one
 * sub-query per entity, all in one turn, and every entity's value repeated correctly in
 * its thoughts.
 */
export function exampleQuestion(
  lines: readonly Pick<
    TrajectoryLine,
    'questionId' | 'question' | 'segments' | 'searchTurns' | 'rewards'
  >[],
  questions: readonly Question[],
): string | undefined {
  const graphs = new Map(questions.map(({ id, metadata }) => [id, metadata.graph ?? []]));
  const examples = lines.filter(({ questionId, segments, searchTurns, rewards }) => {
    const graph = graphs.get(questionId) ?? [];
    const queries = searchTurns.flatMap((turn) => turn.queries);
    const lastText = segments.findLast(({ kind }) => kind === 'policy')?.text ?? '';
    const isSolved = ({ entity, answers }: SubQuestion): boolean =>
      queries.filter((query) => query.includes(entity)).length === 1 &&
      answers.some((answer) => lastText.includes(`${entity} = ${answer}`));
    const isOneTurn = searchTurns.length === 1 && queries.length === graph.length;
    return graph.length > 1 && isOneTurn && rewards.outcome === 1 && graph.every(isSolved);
  });
  return least(examples, ({ questionId }) =>
    Math.abs(graphs.get(questionId)!.length - EXAMPLE_SIZE),
  )?.question;
}

/** Recorded trajectories of the initially selected policy, if any. */
async function recordedLines(): Promise<readonly TrajectoryLine[]> {
  const { lines } = await loadTrajectories().catch(() => ({ lines: [] }));
  const name = runName(runsFrom(MODELS[0])[0]);
  return lines.filter(({ run }) => runName(run) === name);
}
