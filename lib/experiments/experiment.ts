/**
 * Experiments: what one computes is kept under a hash of its configuration, and computed again only when that changes. A
 * stopped experiment goes on from the parts that it had finished.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { configHash } from '../io/hash.js';
import type { Provenance } from '../evaluation/table.js';
import { packagePath } from '../io/paths.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { describeHardware, type BackendName } from '../tensor/backend.js';
import { commitOf } from '../io/provenance.js';

/** Where notebooks find the results: `NAME/results.json`. */
export const EXPERIMENTS_FOLDER = packagePath('runs', 'experiments');

/** What an experiment finds out, as it goes into `results.json`. */
export interface ExperimentResults {
  /** Seeds, and whatever else the experiment says of itself; commit, hash, hardware and duration are added. */
  provenance: Provenance;
}

export interface Experiment {
  /** What is computed, in a line. */
  title: string;
  /** Everything that the results depend on: settings, and hashes of the data and weights that are read. */
  config(): object | Promise<object>;
  /** About how long what is to be done takes on this machine, seconds. */
  estimateSeconds(): number | Promise<number>;
  /** What there is to be done, in a line. */
  plan?(): string | Promise<string>;
  /** Rejects with the signal's reason when it is stopped. */
  run(context: ExperimentContext): Promise<ExperimentResults>;
}

export interface ExperimentContext {
  /** This configuration's own folder, for checkpoints and parts; it need not exist yet. */
  folder: string;
  /** Where `results.json` goes, and beside it what is too large for it. */
  outputFolder: string;
  backend: BackendName | 'auto';
  signal: AbortSignal;
  /** @param fraction of the whole experiment that is done, 0 to 1 */
  onProgress: (fraction: number, note?: string) => void;
  /** A part's result (JSON): read where a stopped run had finished it, else computed and kept. */
  part: <T>(name: string, compute: () => Promise<T>) => Promise<T>;
}

export interface RunExperimentOptions {
  /** Holds a folder for each experiment; default {@link EXPERIMENTS_FOLDER}. */
  root?: string;
  /** Computes again what is there. */
  force?: boolean;
  /** For experiments that need tensors; default `auto`. */
  backend?: BackendName | 'auto';
  signal?: AbortSignal;
  onProgress?: (fraction: number, note?: string) => void;
}

/** What is known of an experiment before it is run. */
export interface ExperimentState {
  config: object;
  hash: string;
  /** The results' file, there or to be. */
  file: string;
  /** Whether that file holds results of this very configuration, computed here. */
  isDone: boolean;
  /** Whether it holds such results that were taken from the recorded ones. */
  isRecorded: boolean;
}

const resultsSchema = z.object({
  provenance: z.looseObject({ configHash: z.string(), recorded: z.string().optional() }),
});

/** The hash of the configuration that results are of; null where they are none. */
export function hashOfResults(results: unknown): string | null {
  const found = resultsSchema.safeParse(results);
  return found.success ? found.data.provenance.configHash : null;
}

/** Looks whether an experiment's results are there. */
export async function experimentState(
  name: string,
  experiment: Experiment,
  root = EXPERIMENTS_FOLDER,
): Promise<ExperimentState> {
  const config = await experiment.config();
  const hash = configHash({ name, config });
  const file = join(root, name, 'results.json');
  const found = existsSync(file) ? resultsSchema.safeParse(await readJson(file)) : null;
  const isThere = found?.data?.provenance.configHash === hash;
  const isRecorded = isThere && found?.data?.provenance.recorded !== undefined;
  return { config, hash, file, isDone: isThere && !isRecorded, isRecorded };
}

/**
 * Runs an experiment unless its results were computed here before, and writes `results.json`: its configuration, what it has found, and
 * where that comes from. Returns whether anything was computed.
 * @throws the signal's reason when it is stopped; the same call goes on from the parts that were finished
 */
export async function runExperiment(
  name: string,
  experiment: Experiment,
  options: RunExperimentOptions = {},
): Promise<ExperimentState & { isComputed: boolean }> {
  const { root = EXPERIMENTS_FOLDER, force = false, backend = 'auto' } = options;
  const { signal = new AbortController().signal, onProgress = () => undefined } = options;
  const state = await experimentState(name, experiment, root);
  if (state.isDone && !force) return { ...state, isComputed: false };
  const folder = join(root, name, state.hash);
  if (force) await rm(folder, { recursive: true, force: true });
  const start = performance.now();
  signal.throwIfAborted();
  const outputFolder = dirname(state.file);
  const part = partsIn(folder);
  const results = await experiment.run({ folder, outputFolder, backend, signal, onProgress, part });
  // What has been trained meanwhile belongs to the configuration.
  const { config, hash } = await experimentState(name, experiment, root);
  const provenance: Provenance = {
    ...results.provenance,
    commit: commitOf(),
    configHash: hash,
    hardware: describeHardware(),
    node: process.version,
    durationSeconds: Math.round((performance.now() - start) / 1000),
  };
  await writeFileSafely(state.file, `${JSON.stringify({ config, ...results, provenance })}\n`);
  return { ...state, config, hash, isDone: true, isRecorded: false, isComputed: true };
}

/** Parts as files of a folder. */
function partsIn(folder: string): ExperimentContext['part'] {
  return async <T>(name: string, compute: () => Promise<T>): Promise<T> => {
    if (!/^[\w.-]+$/.test(name)) {
      throw new RangeError(
        `Expected a part's name of letters, digits, ".", "_" and "-", but got ${JSON.stringify(name)}.`,
      );
    }
    const file = join(folder, `${name}.json`);
    if (existsSync(file)) return (await readJson(file)) as T;
    const result = await compute();
    await writeFileSafely(file, JSON.stringify(result));
    return result;
  };
}
