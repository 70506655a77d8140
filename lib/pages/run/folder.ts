/** What a run's folder tells while the run writes to it. */
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { StepMetrics } from './charts.js';
import { parseTranscript, type RecordedRun } from '../../rollout/recorded.js';

export interface RunState {
  /** Changes with what is in the folder. */
  version: string;
  /** One a step, in order. */
  steps: StepMetrics[];
  /** The rollouts of the newest step, those of a group side by side. */
  rollouts: RecordedRun[];
}

/**
 * Bytes read from the end of a file: far more than the metrics of all steps or the
 * rollouts of one take.
 */
const TAIL_BYTES = 16e6;

const sizeOf = async (file: string): Promise<number> =>
  existsSync(file) ? (await stat(file)).size : 0;

/**
 * The values of the whole lines at the end of a file, if there is one; the last line may
 * be in the middle of being written.
 */
export async function readTail<T>(file: string): Promise<T[]> {
  if (!existsSync(file)) return [];
  const start = Math.max(0, (await sizeOf(file)) - TAIL_BYTES);
  const lines = (await text(createReadStream(file, { start }))).split('\n');
  const whole = lines.slice(start === 0 ? 0 : 1, -1).filter((line) => line !== '');
  return whole.map((line) => parseLine(file, line) as T);
}

function parseLine(file: string, line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // said below
  }
  throw new Error(
    `Expected the lines of ${file} to be JSON objects, but got ${line.slice(0, 60)}. Remove it.`,
  );
}

type MetricsLine = { step: number; alarms: string[] } & Record<string, number>;

/** The metrics of every step that is done. */
export async function readSteps(folder: string): Promise<StepMetrics[]> {
  const lines = await readTail<MetricsLine>(path.join(folder, 'metrics.jsonl'));
  return lines.map(({ step, alarms: _, ...metrics }) => ({ step, metrics }));
}

const filesOf = (folder: string): string[] =>
  ['metrics.jsonl', 'trajectories.jsonl'].map((name) => path.join(folder, name));

/** A text that changes with every step; cheap to ask for. */
export async function runVersion(folder: string): Promise<string> {
  return (await Promise.all(filesOf(folder).map(sizeOf))).join('-');
}

/** Reads metrics and the newest rollouts; a run that has not begun has none. */
export async function readRun(folder: string): Promise<RunState> {
  const version = await runVersion(folder);
  const steps = await readSteps(folder);
  const lines = await readTail<{ step?: number }>(path.join(folder, 'trajectories.jsonl'));
  const newest = lines.at(-1)?.step;
  return {
    version,
    steps,
    rollouts: lines.filter(({ step }) => step === newest).map(parseTranscript),
  };
}
