/** Reads a run's folder, even during training. */
import { createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { range, sort } from 'd3-array';
import { z } from 'zod';
import { readJson, readLines } from '../io/files.js';
import { fileSize, isComplete, parseLogLine, readLog } from '../io/logs.js';
import {
  METRICS_FILE,
  RUN_FILE,
  TRAIN_CONFIG_FILE,
  TRAJECTORIES_FILE,
} from '../policy/folders/files.js';
import { parseTrajectory } from '../rollout/recorded.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { trainConfigSchema, type TrainConfig } from './config.js';
import { trainingPreset } from './presets.js';
import { parseModelName } from './models.js';
import type { RunDescription } from './run.js';

export interface StepMetrics {
  step: number;
  metrics: Readonly<Record<string, number>>;
}

export interface RunState {
  /** Changes with the folder's contents. */
  version: string;
  steps: StepMetrics[];
  /** The rollouts of some steps, in order, including the newest step. */
  rollouts: Map<number, Trajectory[]>;
}

/** Bytes read from a file's end: far more than all metrics or a step's rollouts. */
export const TAIL_BYTES = 16e6;

/**
 * Metrics in the order of steps, which another program may not have written in order.
 * @throws Error for a step that is missing or repeated
 */
export async function readSteps(folder: string): Promise<StepMetrics[]> {
  type Line = { step: number } & Record<string, unknown>;
  const file = path.join(folder, METRICS_FILE);
  // `export torch` also records answers to validation questions.
  const log = (await readLog<Line>(file, TAIL_BYTES)).filter(({ validation }) => !validation);
  const lines = sort(log, ({ step }) => step);
  const wrong = lines.find(({ step }, i) => !Number.isFinite(step) || lines[i - 1]?.step === step);
  if (wrong)
    throw new Error(
      `Expected a line per step in ${file}, but ${Number.isFinite(wrong.step) ? `step ${wrong.step} has several` : `got ${JSON.stringify(wrong).slice(0, 60)}`}. Keep one run per file.`,
    );
  // Besides alarms, drops null, which stands for NaN.
  const isMetric = (entry: [string, unknown]): entry is [string, number] =>
    typeof entry[1] === 'number';
  return lines.map(({ step, ...metrics }) => ({
    step,
    metrics: Object.fromEntries(Object.entries(metrics).filter(isMetric)),
  }));
}

/** Changes with every step; cheap to compute. */
export async function runVersion(folder: string): Promise<string> {
  const files = [METRICS_FILE, TRAJECTORIES_FILE].map((name) => path.join(folder, name));
  return (await Promise.all(files.map(fileSize))).join('-');
}

/** Other programs write files of this name, too. */
const describedSchema = z.object({
  config: z.object({ method: z.string(), model: z.string(), seed: z.number() }),
});

/**
 * Reads the description of a run. A run recorded without `run.json` has the configuration
 * of its adapter and the preset of its method; null without either.
 */
export async function readDescription(folder: string): Promise<RunDescription | null> {
  const file = path.join(folder, RUN_FILE);
  const json = existsSync(file) ? await readJson(file) : undefined;
  if (describedSchema.safeParse(json).success) {
    const { data, ...run } = json as RunDescription;
    return data === undefined ? run : { ...run, data: path.resolve(folder, data) };
  }
  const adapters = [path.join(folder, 'adapter'), folder];
  const configs = adapters.map((adapter) => path.join(adapter, TRAIN_CONFIG_FILE));
  const configFile = configs.find((name) => existsSync(name));
  if (!configFile) return null;
  // A run of another library has its own kind of configuration.
  const { data: config } = trainConfigSchema.safeParse(await readJson(configFile));
  return config ? { config, preset: usualConfig(config), provenance: {} } : null;
}

/** The preset, as far as the configuration determines it. */
const usualConfig = ({ method, model, seed, rollout }: TrainConfig): TrainConfig =>
  trainingPreset(method, model, seed, {
    scale: parseModelName(model) ? 'embedded' : 'language-model',
    promptForm: rollout.promptForm,
  });

/** The rollouts of some steps, by step; other steps are not parsed. */
export async function readRollouts(
  folder: string,
  steps: readonly number[],
): Promise<Map<number, Trajectory[]>> {
  const file = path.join(folder, TRAJECTORIES_FILE);
  const rollouts = new Map(steps.map((step): [number, Trajectory[]] => [step, []]));
  if (!existsSync(file)) return new Map();
  let line = '';
  const add = (): void => {
    const step = Number(/"step":\s*(\d+)\s*[,}]/.exec(line)?.[1]);
    rollouts.get(step)?.push(parseTrajectory(parseLogLine(file, line)));
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
