/** Runs to be compared: folders of training, and files of answers or of trajectories. */
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { range } from 'd3-array';
import { parseMeasurement, type Measurement } from '../../evaluation/result.js';
import { readJson } from '../../io/files.js';
import { streamJsonLines } from '../../io/json-lines.js';
import { parseTranscript, type RecordedRun } from '../../rollout/recorded.js';
import { TRAIN_CONFIG_FILE } from '../../training/run.js';
import type { StepMetrics } from '../run/charts.js';
import { readSteps, readTail } from '../run/folder.js';

/** All that is known of a run; a part that nobody recorded is empty. */
export interface ComparedRun {
  name: string;
  /** The fields of its configuration by dotted names, such as `grpo.steps`. */
  settings: Record<string, string>;
  steps: StepMetrics[];
  answers: Measurement[];
  /** In the order in which they were written. */
  trajectories: RecordedRun[];
}

/** The ends of paths, as short as tells them apart. */
export function shortNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => resolve(path.replace(/\.jsonl$/, '')).split(/[\\/]/));
  const longest = Math.max(...parts.map(({ length }) => length));
  const ends = range(1, longest + 1).map((length) =>
    parts.map((own) => own.slice(-length).join('/')),
  );
  return ends.find((names) => new Set(names).size === names.length) ?? ends[0];
}

/**
 * A part of a run: the folder of its training, or a file of its answers or trajectories.
 */
export interface RunSource {
  name: string;
  path: string;
}

/** What the command line names: `PATH` or `NAME=PATH`. */
export function parseSources(texts: readonly string[]): RunSource[] {
  const named = texts.map((text) => {
    const [, name, path] = existsSync(text) ? [] : (/^([^=]+)=(.+)$/.exec(text) ?? []);
    return { name, path: path ?? text };
  });
  const short = shortNames(named.filter(({ name }) => !name).map(({ path }) => path));
  return named.map(({ name = short.shift()!, path }) => ({ name, path }));
}

/**
 * Reads runs; parts of one name are one run, such as the folder of a training and the
 * answers of its adapter.
 * @throws Error naming the path that is no run, or the line that is neither an answer nor
 * a trajectory
 */
export async function readComparedRuns(sources: readonly RunSource[]): Promise<ComparedRun[]> {
  const runs = new Map<string, ComparedRun>();
  for (const { name, path } of sources) {
    if (!runs.has(name))
      runs.set(name, { name, settings: {}, steps: [], answers: [], trajectories: [] });
    await (existsSync(path) && statSync(path).isDirectory() ? readFolder : readLines)(
      path,
      runs.get(name)!,
    );
  }
  return [...runs.values()];
}

async function readFolder(folder: string, run: ComparedRun): Promise<void> {
  const steps = await readSteps(folder);
  const answers = join(folder, 'answers.jsonl');
  if (steps.length === 0 && !existsSync(answers))
    throw new Error(
      `Expected ${folder} to be the folder of a training with metrics.jsonl, or to hold answers.jsonl, but it has neither. ` +
        'Name a folder of `train`, or a file of `evaluate --out`.',
    );
  run.steps.push(...steps);
  const lines = await readTail(join(folder, 'trajectories.jsonl'));
  run.trajectories.push(...lines.map(parseTranscript));
  const configs = [join(folder, 'adapter', TRAIN_CONFIG_FILE), join(folder, TRAIN_CONFIG_FILE)];
  const config = configs.find((file) => existsSync(file));
  const components = Object.keys(steps.at(-1)?.metrics ?? {}).filter((name) =>
    name.startsWith('rewards/'),
  );
  Object.assign(run.settings, config ? flattened(await readJson(config)) : {}, {
    // Also those of files, of which the configuration knows nothing.
    'reward components': components.map((name) => name.slice('rewards/'.length)).join(', '),
  });
  if (existsSync(answers)) await readLines(answers, run);
}

/** The values in an object by dotted names; lists are values. */
function flattened(value: unknown, name = ''): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { [name]: typeof value === 'string' ? value : JSON.stringify(value) };
  const inner = Object.entries(value).map(([key, own]) =>
    flattened(own, name ? `${name}.${key}` : key),
  );
  return Object.assign({}, ...inner) as Record<string, string>;
}

type Answer = Measurement & { method?: string; model?: string; seed?: number };

async function readLines(file: string, run: ComparedRun): Promise<void> {
  const parse = (value: unknown): Answer | RecordedRun => {
    const { questionId, em } = (value ?? {}) as Partial<Answer>;
    return typeof questionId === 'string' && typeof em === 'number'
      ? parseMeasurement(value)
      : parseTranscript(value);
  };
  for await (const line of streamJsonLines(file, parse)) {
    if ('complaint' in line)
      throw new Error(
        `Expected answers or trajectories, but: ${line.complaint} Name a file of \`evaluate\`.`,
      );
    if ('segments' in line.value) run.trajectories.push(line.value);
    else run.answers.push(line.value);
  }
  const { method, model, seed } = (run.answers[0] ?? {}) as Partial<Answer>;
  run.settings = { ...(method && flattened({ method, model, seed })), ...run.settings };
}
