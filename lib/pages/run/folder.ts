/** Reads a run's folder, also during training. */
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { parseTrajectory } from '../../rollout/recorded.js';
import type { Trajectory } from '../../rollout/trajectory.js';

/** The metrics of one step by name. */
export interface StepMetrics {
  step: number;
  metrics: Readonly<Record<string, number>>;
}

export interface RunState {
  /** Changes with the folder's contents. */
  version: string;
  steps: StepMetrics[];
  /** The rollouts of the newest step, grouped by question. */
  rollouts: Trajectory[];
}

/** Bytes read from a file's end: far more than all metrics or a step's rollouts. */
const TAIL_BYTES = 16e6;

const fileSize = async (file: string): Promise<number> =>
  existsSync(file) ? (await stat(file)).size : 0;

/** The complete lines at the end of a file, if it exists; the last may be unfinished. */
export async function readTail<T>(file: string): Promise<T[]> {
  if (!existsSync(file)) return [];
  const start = Math.max(0, (await fileSize(file)) - TAIL_BYTES);
  const lines = (await text(createReadStream(file, { start }))).split('\n');
  const complete = lines.slice(start === 0 ? 0 : 1, -1).filter((line) => line !== '');
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

/** The metrics of all finished steps. */
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

/** Metrics and newest rollouts; empty before the first step. */
export async function readRun(folder: string): Promise<RunState> {
  const version = await runVersion(folder);
  const steps = await readSteps(folder);
  const lines = await readTail<{ step?: number }>(path.join(folder, 'trajectories.jsonl'));
  const newest = lines.at(-1)?.step;
  const rollouts = lines.filter(({ step }) => step === newest).map(parseTrajectory);
  return { version, steps, rollouts };
}
