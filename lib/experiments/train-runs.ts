/** Trains runs into `data/checkpoints`, two at a time, each in a process of its own. Goes on where it was stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mean, sum } from 'd3-array';
import { trainingPreset } from '../methods/config.js';
import { contentHash } from '../io/hash.js';
import { packagePath, CHECKPOINTS } from '../io/paths.js';
import { sideBySide } from '../io/side-by-side.js';
import { readJson, writeFileSafely } from '../io/files.js';
import type { BackendName } from '../tensor/backend.js';
import { keptAdapter, TRAIN_CONFIG_FILE } from '../training/run.js';
import { writeAdapterCard } from './adapter-card.js';
import type { Preparation } from './experiment.js';
import { adapterFolder, keptSteps, modelFolder, runName, stepFolder, type PolicyRun } from './runs.js';

const NUM_PROCESSES = 2;
const PROGRESS_INTERVAL_MS = 5000;

export interface TrainRunsOptions {
  backend: BackendName;
  /** Where runs keep their checkpoints, a folder each. */
  folder: string;
  /** Most GRPO steps of a run. */
  maxSteps?: number;
  signal: AbortSignal;
  /** What the processes say, a line at a time. */
  log: (line: string) => void;
  /** @param fraction of the steps that were to be done, those of an earlier call left out */
  onProgress?: (fraction: number) => void;
}

/** GRPO steps of a run. */
export function stepsOf({ method, model, seed, lambdas }: PolicyRun, maxSteps = Infinity): number {
  return Math.min(maxSteps, trainingPreset(method, model, seed, lambdas).grpo.steps);
}

async function linesOf(path: string): Promise<string[]> {
  return existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter(Boolean) : [];
}

/** Sum of recorded metrics over the lines of a file; 0 without one. */
export async function recordedSeconds(path: string, names: readonly string[]): Promise<number> {
  const steps = (await linesOf(path)).map((line) => JSON.parse(line) as Record<string, number>);
  return sum(steps, (metrics) => sum(names, (name) => metrics[name] ?? 0));
}

/**
 * Seconds that training takes, as the metrics of trained runs say; those were trained on the native backend with 2 cores. A run
 * that has no metrics yet counts as much as the mean of `known` runs that have; 0 where none has.
 */
export async function estimateTraining(
  runs: readonly PolicyRun[],
  known: readonly PolicyRun[] = runs,
): Promise<number> {
  const secondsOf = (run: PolicyRun): Promise<number> =>
    recordedSeconds(join(adapterFolder(run), 'metrics.jsonl'), ['rollout_seconds', 'update_seconds']);
  const usual = mean((await Promise.all(known.map(secondsOf))).filter((seconds) => seconds > 0)) ?? 0;
  return sum(await Promise.all(runs.map(secondsOf)), (seconds) => seconds || usual) / NUM_PROCESSES;
}

/**
 * Trains what is not finished in the folder and puts adapters, metrics and cards into `data/checkpoints`.
 * @throws Error when a process fails, or the signal's reason; the same call then goes on
 */
export async function trainRuns(runs: readonly PolicyRun[], options: TrainRunsOptions): Promise<void> {
  const { folder, maxSteps, onProgress } = options;
  const [before, total] = [await countSteps(runs, folder), sum(runs, (run) => stepsOf(run, maxSteps))];
  const report = async (): Promise<void> =>
    onProgress?.(((await countSteps(runs, folder)) - before) / Math.max(1, total - before));
  const timer = setInterval(() => void report(), PROGRESS_INTERVAL_MS);
  try {
    await sideBySide(runs, NUM_PROCESSES, (run) => trainRun(run, options));
  } finally {
    clearInterval(timer);
  }
}

/** Training of those runs that an experiment needs and that have not been trained yet. */
export function trainingOf(runs: () => readonly PolicyRun[]): Preparation {
  const hasAdapter = (run: PolicyRun): boolean => existsSync(adapterFolder(run));
  const untrained = (): PolicyRun[] => runs().filter((run) => !hasAdapter(run));
  return {
    plan: async () => {
      const open = untrained();
      if (open.length === 0) return null;
      const steps = sum(open, (run) => stepsOf(run));
      return {
        work: `${open.length} of ${runs().length} runs to train (${steps} GRPO steps)`,
        seconds: await estimateTraining(open, runs().filter(hasAdapter)),
      };
    },
    run: async (options) => {
      const models = [...new Set(untrained().map(({ model }) => modelFolder(model)))];
      // Checkpoints of another model are of no use.
      const hash = await contentHash(models.map((folder) => join(folder, 'model.safetensors')));
      const folder = packagePath('runs', 'training', hash);
      await trainRuns(untrained(), { ...options, folder, log: () => undefined });
    },
  };
}

/** Steps that were done: every step writes a line of metrics. */
async function countSteps(runs: readonly PolicyRun[], folder: string): Promise<number> {
  const counts = runs.map(async (run) => (await linesOf(join(folder, runName(run), 'metrics.jsonl'))).length);
  return sum(await Promise.all(counts));
}

/** Whether a run's folder holds all adapters that it is to make. */
const isTrained = (run: PolicyRun, folder: string, maxSteps?: number): boolean =>
  ['adapter', ...keptSteps(run, maxSteps).map(keptAdapter)].every((name) =>
    existsSync(join(folder, name, 'adapter_config.json')),
  );

async function trainRun(run: PolicyRun, options: TrainRunsOptions): Promise<void> {
  const name = runName(run);
  const folder = join(options.folder, name);
  if (!isTrained(run, folder, options.maxSteps)) {
    options.log(`${name}: training`);
    await trainInProcess(run, folder, options);
  }
  await publishRun(run, folder, { maxSteps: options.maxSteps });
  options.log(`${name}: finished`);
}

/** Puts the adapters of a finished run, its metrics and its card into `root` in place of those that are there. */
export async function publishRun(
  run: PolicyRun,
  folder: string,
  { root = CHECKPOINTS, maxSteps }: { root?: string; maxSteps?: number } = {},
): Promise<void> {
  const target = adapterFolder(run, root);
  const aside = `${target}.partial`;
  await mkdir(aside, { recursive: true });
  await publishAdapter(join(folder, 'adapter'), aside, `../${run.model}`);
  await copyFile(join(folder, 'adapter', TRAIN_CONFIG_FILE), join(aside, TRAIN_CONFIG_FILE));
  await copyFile(join(folder, 'metrics.jsonl'), join(aside, 'metrics.jsonl'));
  for (const step of keptSteps(run, maxSteps))
    await publishAdapter(
      join(folder, keptAdapter(step)),
      join(aside, stepFolder(step)),
      `../../${run.model}`,
    );
  await writeAdapterCard(run, aside);
  await rm(target, { recursive: true, force: true });
  await rename(aside, target);
}

/** Copies an adapter to where it is kept, and says so in its path to the model. */
async function publishAdapter(from: string, to: string, base: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await copyFile(join(from, 'adapter_model.safetensors'), join(to, 'adapter_model.safetensors'));
  const name = 'adapter_config.json';
  const config = (await readJson(join(from, name))) as object;
  await writeFileSafely(
    join(to, name),
    `${JSON.stringify({ ...config, base_model_name_or_path: base }, null, 2)}\n`,
  );
}

/** The command line that trains a run. */
export function trainArguments(run: PolicyRun, folder: string, maxSteps?: number): string[] {
  const { method, model, seed, lambdas } = run;
  const args = ['train', '--method', method, '--model', model, '--seed', String(seed), '--out', folder];
  if (lambdas) args.push('--lambda-d', String(lambdas.lambdaD), '--lambda-s', String(lambdas.lambdaS));
  if (maxSteps !== undefined) args.push('--steps', String(stepsOf(run, maxSteps)));
  const kept = keptSteps(run, maxSteps);
  return kept.length > 0 ? [...args, '--keep-steps', kept.join()] : args;
}

/** One run with this package's own command line. */
async function trainInProcess(run: PolicyRun, folder: string, options: TrainRunsOptions): Promise<void> {
  const { backend, log, maxSteps, signal } = options;
  signal.throwIfAborted();
  const args = [
    packagePath('dist', 'cli.js'),
    ...trainArguments(run, folder, maxSteps),
    '--backend',
    backend,
  ];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // One thread each: the processes share the cores already.
    env: { ...process.env, TF_NUM_INTRAOP_THREADS: '1' },
  });
  let last = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.trim()) last = line;
    log(`${runName(run)}: ${line}`);
  });
  // It ends by itself, with a checkpoint.
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const [code] = (await once(child, 'close')) as [number | null];
  signal.removeEventListener('abort', stop);
  if (code === 0) return;
  signal.throwIfAborted();
  throw new Error(`Training into ${folder} ended with code ${code}: ${last}`);
}
