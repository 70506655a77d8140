/** Trains everything again: both starts, then every run of the main comparison, two at a time. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { METHODS, START_NAMES, type StartName } from '../config.js';
import { packagePath } from '../paths.js';
import type { BackendReport } from '../tensor/backend.js';
import { retrainEncoder } from './encoder.js';
import { lambdaRuns } from './lambda-ablation.js';
import { mainRuns } from './main-results.js';
import { writeAdapterCard } from './model-card.js';
import { trainStart } from './starts.js';
import { adapterFolder, CHECKPOINTS, loadWorld, runName, startFolder, type PolicyRun } from './world.js';

const NUM_PROCESSES = 2;
const WARM_UP_SEED = 1;

/** The runs that training makes: those of the main comparison first. */
export function trainedRuns(): PolicyRun[] {
  return [...mainRuns(), ...lambdaRuns()].filter(({ method }) => METHODS[method].trainedBy === method);
}

/** Sum of a recorded metric over the lines of a file; 0 without one. */
async function recordedSeconds(path: string, names: readonly string[]): Promise<number> {
  if (!existsSync(path)) return 0;
  const lines = (await readFile(path, 'utf8')).split('\n').filter(Boolean);
  const secondsOf = (line: string): number => {
    const metrics = JSON.parse(line) as Record<string, number>;
    return names.reduce((sum, name) => sum + (metrics[name] ?? 0), 0);
  };
  return lines.reduce((sum, line) => sum + secondsOf(line), 0);
}

/** Seconds that the recorded training took, as its metrics say; it ran on the native backend with 2 cores. */
export async function estimateRetraining(): Promise<number> {
  const starts = START_NAMES.map((start) =>
    recordedSeconds(join(startFolder(start), 'metrics.jsonl'), ['seconds']),
  );
  const runs = trainedRuns().map((run) =>
    recordedSeconds(join(adapterFolder(run), 'metrics.jsonl'), ['rollout_seconds', 'update_seconds']),
  );
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  // A run that has no metrics yet counts as much as the mean of those that have.
  const known = (await Promise.all(runs)).filter((seconds) => seconds > 0);
  const ofRuns = known.length === 0 ? 0 : (sum(known) / known.length) * runs.length;
  return sum(await Promise.all(starts)) + ofRuns / NUM_PROCESSES;
}

interface RetrainOptions {
  backend: BackendReport;
  /** Where runs keep their checkpoints. */
  folder: string;
  signal: AbortSignal;
  log: (line: string) => void;
}

async function retrainStart(start: StartName, options: RetrainOptions): Promise<void> {
  const folder = join(options.folder, `warm-up-${start}`);
  const done = join(folder, 'finished');
  if (existsSync(done)) return options.log(`${start}: finished before`);
  await trainStart(start, await loadWorld(), {
    seed: WARM_UP_SEED,
    folder,
    backend: options.backend.name,
    signal: options.signal,
    onStep: ({ step, loss }, total) => {
      if ((step + 1) % 20 === 0) options.log(`${start}: step ${step + 1}/${total}, loss ${loss.toFixed(3)}`);
    },
  });
  await copyFile(join(folder, 'metrics.jsonl'), join(startFolder(start), 'metrics.jsonl'));
  await mkdir(done);
}

/** One run in a process of its own, with this package's own command line. */
async function retrainRun(run: PolicyRun, options: RetrainOptions): Promise<void> {
  const name = runName(run);
  const folder = join(options.folder, name);
  if (!existsSync(join(folder, 'adapter', 'adapter_config.json'))) {
    options.log(`${name}: training`);
    await train(run, folder, options);
  }
  const target = adapterFolder(run, CHECKPOINTS);
  await mkdir(`${target}.partial`, { recursive: true });
  for (const file of ['adapter_model.safetensors', 'adapter_config.json', 'train_config.json']) {
    await copyFile(join(folder, 'adapter', file), join(`${target}.partial`, file));
  }
  await copyFile(join(folder, 'metrics.jsonl'), join(`${target}.partial`, 'metrics.jsonl'));
  await writeAdapterCard(run, `${target}.partial`);
  await rm(target, { recursive: true, force: true });
  await rename(`${target}.partial`, target);
  options.log(`${name}: finished`);
}

function train(run: PolicyRun, folder: string, options: RetrainOptions): Promise<void> {
  const { method, start, seed, lambdas } = run;
  const args = ['train', '--method', method, '--start', start, '--seed', String(seed), '--out', folder];
  if (lambdas) args.push('--lambda-d', String(lambdas.lambdaD), '--lambda-s', String(lambdas.lambdaS));
  const child = spawn(
    process.execPath,
    [packagePath('dist', 'cli.js'), ...args, '--backend', options.backend.name],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      // One thread each: the processes share the cores already.
      env: { ...process.env, TF_NUM_INTRAOP_THREADS: '1' },
    },
  );
  const stop = (): void => void child.kill('SIGTERM');
  options.signal.addEventListener('abort', stop, { once: true });
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => {
      options.signal.removeEventListener('abort', stop);
      if (code === 0) resolve();
      else
        reject(
          options.signal.aborted
            ? (options.signal.reason as Error)
            : new Error(`Training into ${folder} ended with code ${code}.`),
        );
    });
  });
}

/**
 * Trains what is not finished in `folder` and puts the weights into `data/checkpoints`. Goes on where it was stopped; when
 * all is done, `folder` moves aside, and the next call begins anew.
 */
export async function retrainEverything(options: RetrainOptions): Promise<void> {
  if (!existsSync(join(options.folder, 'encoder-finished'))) {
    options.log('encoder: training');
    await retrainEncoder(await loadWorld());
    await mkdir(join(options.folder, 'encoder-finished'), { recursive: true });
  }
  for (const start of START_NAMES) await retrainStart(start, options);
  const runs = trainedRuns();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < runs.length; i = next++) await retrainRun(runs[i], options);
  };
  await Promise.all(Array.from({ length: NUM_PROCESSES }, work));
  const finished = `${options.folder}-finished`;
  await rm(finished, { recursive: true, force: true });
  await rename(options.folder, finished);
}
