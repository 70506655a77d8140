/** Reads a run's folder, also during training. */
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { range } from 'd3-array';
import { readJson, readLines } from '../../io/files.js';
import { RUN_FILE, TRAIN_CONFIG_FILE } from '../../policy/folder-settings.js';
import { parseTrajectory } from '../../rollout/recorded.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { parseModelName } from '../../training/models.js';
import { trainConfigSchema, trainingPreset, type TrainConfig } from '../../training/config.js';
import type { RunDescription } from '../../training/run.js';

export interface StepMetrics {
  step: number;
  metrics: Readonly<Record<string, number>>;
}

export interface RunState {
  /** Changes with the folder's contents. */
  version: string;
  steps: StepMetrics[];
  /** The rollouts of some steps, in order, the newest step among them. */
  rollouts: Map<number, Trajectory[]>;
}

/** Bytes read from a file's end: far more than all metrics or a step's rollouts. */
const TAIL_BYTES = 16e6;

const fileSize = async (file: string): Promise<number> =>
  existsSync(file) ? (await stat(file)).size : 0;

/** Whether the last line of a file is complete, also without a line feed. */
function isComplete(line: string): boolean {
  try {
    return JSON.parse(line) !== null;
  } catch {
    return false; // Being written.
  }
}

/** The complete lines at the end of a file, if it exists; the last may be unfinished. */
export async function readTail<T>(file: string): Promise<T[]> {
  if (!existsSync(file)) return [];
  const start = Math.max(0, (await fileSize(file)) - TAIL_BYTES);
  const lines = (await text(createReadStream(file, { start }))).split('\n');
  if (!isComplete(lines.at(-1)!)) lines.pop();
  const complete = lines.slice(start === 0 ? 0 : 1).filter((line) => line.trim() !== '');
  return complete.map((line) => parseLine(file, line) as T);
}

function parseLine(file: string, line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // reported below
  }
  throw new Error(
    `Expected the lines of ${file} to be JSON objects, but got ${line.slice(0, 60)}. Remove it.`,
  );
}

export async function readSteps(folder: string): Promise<StepMetrics[]> {
  type Line = { step: number; alarms: string[] } & Record<string, number>;
  const lines = await readTail<Line>(path.join(folder, 'metrics.jsonl'));
  return lines.map(({ step, alarms: _, ...metrics }) => ({ step, metrics }));
}

/** Changes with every step; cheap to compute. */
export async function runVersion(folder: string): Promise<string> {
  const files = ['metrics.jsonl', 'trajectories.jsonl'].map((name) => path.join(folder, name));
  return (await Promise.all(files.map(fileSize))).join('-');
}

/**
 * The description of a run. One that was recorded without `run.json` has the
 * configuration of its adapter and the preset of its method; null without either.
 */
export async function readDescription(folder: string): Promise<RunDescription | null> {
  const file = path.join(folder, RUN_FILE);
  if (existsSync(file)) {
    const { data, ...run } = (await readJson(file)) as RunDescription;
    return data === undefined ? run : { ...run, data: path.resolve(folder, data) };
  }
  const adapters = [path.join(folder, 'adapter'), folder];
  const configs = adapters.map((adapter) => path.join(adapter, TRAIN_CONFIG_FILE));
  const configFile = configs.find((name) => existsSync(name));
  if (!configFile) return null;
  // A run of another library has a configuration of its own.
  const { data: config } = trainConfigSchema.safeParse(await readJson(configFile));
  return config ? { config, preset: usualConfig(config), provenance: {} } : null;
}

/** The preset, as far as the configuration alone tells it. */
const usualConfig = ({ method, model, seed, rollout }: TrainConfig): TrainConfig =>
  trainingPreset(method, model, seed, {
    scale: parseModelName(model) ? 'embedded' : 'language-model',
    promptForm: rollout.promptForm,
  });

const rolloutsFile = (folder: string): string => path.join(folder, 'trajectories.jsonl');

/** The rollouts of some steps, by step; those of other steps are not parsed. */
export async function readRollouts(
  folder: string,
  steps: readonly number[],
): Promise<Map<number, Trajectory[]>> {
  const file = rolloutsFile(folder);
  const rollouts = new Map(steps.map((step): [number, Trajectory[]] => [step, []]));
  if (!existsSync(file)) return new Map();
  let line = '';
  const add = (): void => {
    const step = Number(/"step":\s*(\d+)\s*[,}]/.exec(line)?.[1]);
    rollouts.get(step)?.push(parseTrajectory(parseLine(file, line)));
  };
  for await (const next of readLines(createReadStream(file))) {
    add();
    line = next.text;
  }
  if (isComplete(line)) add();
  return new Map([...rollouts].filter(([, { length }]) => length > 0));
}

/** At most `count` steps, evenly spaced up to the newest. */
export const sampleSteps = (steps: readonly StepMetrics[], count: number): number[] => {
  const every = Math.max(1, (steps.length - 1) / Math.max(1, count - 1));
  const shown = range(Math.min(count, steps.length)).map((i) => Math.round(i * every));
  return (count === 1 ? [steps.length - 1] : shown).flatMap((i) => steps[i]?.step ?? []);
};

/** Metrics, and rollouts of at most `numSteps` steps; empty before the first step. */
export async function readRun(folder: string, { numSteps = 1 } = {}): Promise<RunState> {
  const version = await runVersion(folder);
  const steps = await readSteps(folder);
  const rollouts = await readRollouts(folder, sampleSteps(steps, numSteps));
  return { version, steps, rollouts };
}
