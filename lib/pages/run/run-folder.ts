/** What a run's folder tells while the run writes to it. */
import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
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

/** Bytes read from the end of a file: far more than the metrics of all steps or the rollouts of one take. */
const TAIL_BYTES = 16e6;

const sizeOf = async (file: string): Promise<number> => (existsSync(file) ? (await stat(file)).size : 0);

/** The last bytes of a file, if there is one, as text, from the beginning of a line on. */
async function readTail(file: string): Promise<string> {
  if (!existsSync(file)) return '';
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
    const text = buffer.toString('utf8', 0, bytesRead);
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } finally {
    await handle.close();
  }
}

/** The values of whole lines; the last one may be in the middle of being written. */
function wholeLines(text: string): unknown[] {
  const end = text.lastIndexOf('\n');
  return text
    .slice(0, Math.max(0, end))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

function stepMetrics(line: unknown): StepMetrics {
  const { step, alarms: _, ...metrics } = line as { step: number; alarms: string[] } & Record<string, number>;
  return { step, metrics };
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
  const [metrics, trajectories] = await Promise.all(filesOf(folder).map(readTail));
  const lines = wholeLines(trajectories) as { step?: number }[];
  const newest = lines.at(-1)?.step;
  return {
    version,
    steps: wholeLines(metrics).map(stepMetrics),
    rollouts: lines.filter(({ step }) => step === newest).map(parseTranscript),
  };
}
