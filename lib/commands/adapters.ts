/** `parallelsearch adapters`: trained adapters with their recorded figures. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { max } from 'd3-array';
import { type DevPoint } from '../experiments/running/train-runs.js';
import { readJsonIfExists } from '../io/files.js';
import { readLog } from '../io/logs.js';
import { CHECKPOINTS, shortPath } from '../io/paths.js';
import { errorText } from '../io/system-errors.js';
import { readBaseModel } from '../policy/folders/adapter-base.js';
import { ADAPTER_CONFIG, TRAIN_CONFIG_FILE } from '../policy/folders/files.js';
import { readPeftConfig } from '../policy/folders/policy-folders.js';
import { READER, REAL_MODEL, TRAINED_MODELS } from '../policy/folders/trained-models.js';
import type { TrainConfig } from '../training/config.js';
import { exitWith, log } from './common/cli-utils.js';
import { fixed, formatTable } from './common/tables.js';

interface Adapter {
  folder: string;
  /** For `--model`, which also makes the base. */
  name: string | null;
  base: string | null;
  method: string | null;
  seed: number | null;
  trainedOn: string | null;
  /** Means over its greedy answers to dev questions, recorded when it was chosen. */
  dev: { step: number; outcome: number; decomposition: number; modelCalls: number } | null;
}

const TRAINED_ON = [
  { root: READER, data: 'HotpotQA, 2WikiMultiHopQA, MuSiQue' },
  { root: REAL_MODEL, data: 'HotpotQA, 2WikiMultiHopQA, MuSiQue' },
  { root: CHECKPOINTS, data: 'small world' },
];
const RUNS = 'runs';
/** A sweep's adapters are in `runs/SWEEP/POINT/adapter`. */
const MAX_DEPTH = 3;

/** Folders that contain an adapter, shallow ones first; does not search inside them. */
function findAdapters(root: string, depth = MAX_DEPTH): string[] {
  if (existsSync(join(root, ADAPTER_CONFIG))) return [root];
  if (depth === 0 || !existsSync(root)) return [];
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .flatMap((name) => findAdapters(join(root, name), depth - 1));
}

async function readDev(folder: string): Promise<Adapter['dev']> {
  const points = await readLog<DevPoint & { chosen: boolean }>(join(folder, 'dev.jsonl'));
  const chosen = points.find((point) => point.chosen);
  if (!chosen) return null;
  const { step, outcome, decomposition, modelCalls } = chosen;
  return { step, outcome, decomposition, modelCalls };
}

async function readAdapter(folder: string): Promise<Adapter> {
  const path = resolve(folder);
  // As it is: this process may not know its method.
  const config = (await readJsonIfExists(join(folder, TRAIN_CONFIG_FILE))) as Partial<TrainConfig>;
  const base = (await readBaseModel(folder))?.name ?? (await readPeftConfig(folder)).base;
  return {
    folder: shortPath(folder),
    name: TRAINED_MODELS.all().find(({ adapter }) => resolve(adapter) === path)?.name ?? null,
    base: base === undefined ? null : basename(base),
    method: config.method ?? null,
    seed: config.seed ?? null,
    trainedOn: TRAINED_ON.find(({ root }) => resolve(root) === dirname(path))?.data ?? null,
    dev: await readDev(folder),
  };
}

function adapterTable(adapters: readonly Adapter[]): string {
  const width = max(adapters, ({ trainedOn }) => trainedOn?.length ?? 1)!;
  const rows = adapters.map(({ name, folder, method, base, trainedOn, dev }) => [
    name ?? folder,
    `${method ?? '–'} from ${base ?? '–'}`,
    (trainedOn ?? '–').padEnd(width),
    fixed(dev?.outcome),
    fixed(dev?.decomposition),
    fixed(dev?.modelCalls),
  ]);
  const head = ['adapter', 'method and base', 'trained on'.padEnd(width)];
  return formatTable([...head, 'dev EM', 'decomposed', 'calls'], rows);
}

/**
 * Prints the adapters in some folders. Damaged ones are logged; the exit code is then 1.
 * @throws Error if there are none
 */
async function runAdapters(
  roots: readonly string[],
  { json = false }: { json?: boolean } = {},
): Promise<number> {
  const folders = (roots.length > 0 ? roots : [READER, REAL_MODEL, CHECKPOINTS, RUNS]).flatMap(
    (root) => findAdapters(root),
  );
  if (folders.length === 0)
    throw new Error(
      `Expected adapters in ${roots.join(' or ')}, but found no adapter_config.json. \`train\` makes one.`,
    );
  const adapters: Adapter[] = [];
  for (const folder of folders)
    try {
      adapters.push(await readAdapter(folder));
    } catch (error) {
      log(`${shortPath(folder)}: ${errorText(error)}`);
    }
  const text = json
    ? adapters.map((adapter) => JSON.stringify(adapter)).join('\n')
    : `${adapterTable(adapters)}\n\nUse one with --model NAME or --adapter FOLDER. Figures: greedy answers to dev questions after the chosen step.`;
  process.stdout.write(`${text}\n`);
  return adapters.length < folders.length ? 1 : 0;
}

export const adaptersCommand = (): Command =>
  new Command('adapters')
    .description('list adapters: base, method, training data, recorded figures')
    .argument('[folders...]', 'folders to search (default: the committed adapters, and runs)')
    .option('--json', 'print JSON Lines instead of the table')
    .action(exitWith(runAdapters));
