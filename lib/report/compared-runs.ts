/** Reads runs to compare, and computes their final figures. */
import { existsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { mean, range } from 'd3-array';
import { percentileInterval, type Interval } from '../evaluation/estimate.js';
import { completeMeasures } from '../evaluation/metrics.js';
import { answersInCommon, parseMeasurement, type Measurement } from '../evaluation/measurement.js';
import { summariseResults, type TidyResults } from '../evaluation/table.js';
import { readJsonLines } from '../io/files.js';
import { readLog } from '../io/logs.js';
import { TRAJECTORIES_FILE } from '../policy/folders/files.js';
import { createRandom } from '../random.js';
import { parseTrajectory } from '../rollout/recorded.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { plural } from '../text/english.js';
import { flatten } from '../training/overrides.js';
import {
  readDescription,
  readSteps,
  TAIL_BYTES,
  type StepMetrics,
} from '../training/run-folder.js';

/** What was recorded for a run; missing parts are empty. */
export interface ComparedRun {
  name: string;
  /** The configuration by dotted names such as `grpo.steps`. */
  settings: Record<string, string>;
  steps: StepMetrics[];
  answers: Measurement[];
  /** In the order written. */
  trajectories: Trajectory[];
  /** What answers took, by title; absent if not measured. */
  costs?: Record<string, string>;
  /** The data folder that a training run recorded. */
  data?: string;
}

/** A part of a run: a training folder, or a file of answers or trajectories. */
export interface RunSource {
  name: string;
  path: string;
}

/** The shortest ends of paths that distinguish them. */
export function shortNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => resolve(path.replace(/\.jsonl$/, '')).split(/[\\/]/));
  const longest = Math.max(...parts.map(({ length }) => length));
  const ends = range(1, longest + 1).map((length) =>
    parts.map((names) => names.slice(-length).join('/')),
  );
  return ends.find((names) => new Set(names).size === names.length) ?? ends[0];
}

/** Parses `PATH` or `NAME=PATH`; an existing path has no name. */
export function parseSource(text: string): Partial<RunSource> & { path: string } {
  const [, name, path] = existsSync(text) ? [] : (/^([^=]+)=(.+)$/.exec(text) ?? []);
  return { name, path: path ?? text };
}

export function parseSources(texts: readonly string[]): RunSource[] {
  const sources = texts.map(parseSource);
  const short = shortNames(sources.filter(({ name }) => !name).map(({ path }) => path));
  return sources.map(({ name = short.shift()!, path }) => ({ name, path }));
}

/**
 * Reads runs; sources with the same name form one run.
 * @throws Error naming a path that is not a run, a second training of a name, or a line
 * that is neither an answer nor a trajectory
 */
export async function readComparedRuns(sources: readonly RunSource[]): Promise<ComparedRun[]> {
  const runs = new Map<string, ComparedRun>();
  for (const { name, path } of sources) {
    const run = runs.get(name) ?? { name, settings: {}, steps: [], answers: [], trajectories: [] };
    runs.set(name, run);
    if (!existsSync(path))
      throw new Error(
        `Expected a folder of \`train\` or a file of \`evaluate --out\`, but ${path} does not exist.`,
      );
    const read = statSync(path).isDirectory() ? addFolder : addLines;
    await read(path, run);
  }
  return [...runs.values()].map((run) => ({
    ...run,
    settings: { ...answerSettings(run.answers), ...run.settings },
  }));
}

async function addFolder(folder: string, run: ComparedRun): Promise<void> {
  const { steps, settings, data } = await readTraining(folder);
  const answers = join(folder, 'answers.jsonl');
  if (steps.length === 0 && !existsSync(answers))
    throw new Error(
      `Expected ${folder} to contain steps in metrics.jsonl, or answers.jsonl, but it has neither. ` +
        'Name a folder of `train`, or a file of `evaluate --out`.',
    );
  if (run.steps.length > 0 && steps.length > 0)
    throw new Error(
      `Expected one training run under the name ${run.name}, but ${folder} is another. Name them, as in a=FOLDER b=OTHER.`,
    );
  run.steps = run.steps.concat(steps);
  const lines = await readLog(join(folder, TRAJECTORIES_FILE), TAIL_BYTES);
  run.trajectories = run.trajectories.concat(lines.map(parseTrajectory));
  Object.assign(run, { data: data ?? run.data, settings: { ...run.settings, ...settings } });
  if (existsSync(answers)) await addLines(answers, run);
}

export async function readTraining(
  folder: string,
): Promise<Pick<ComparedRun, 'settings' | 'steps' | 'data'>> {
  const steps = await readSteps(folder);
  const { config, data } = (await readDescription(folder)) ?? {};
  // Includes rewards from files, which the configuration does not name.
  const components = Object.keys(steps.at(-1)?.metrics ?? {})
    .filter((name) => name.startsWith('rewards/'))
    .map((name) => name.slice('rewards/'.length));
  const settings = {
    ...(config && describeSettings(config)),
    ...(data && { data: basename(data) }),
    'reward components': components.join(', '),
  };
  return { steps, data, settings };
}

/** Settings as texts by dotted names. */
const describeSettings = (settings: object): Record<string, string> =>
  Object.fromEntries(
    flatten(settings).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );

type RecordedAnswer = Measurement & { method?: string; model?: string; seed?: number };

async function addLines(file: string, run: ComparedRun): Promise<void> {
  const parse = (value: unknown): RecordedAnswer | Trajectory => {
    const { em, segments } = (value ?? {}) as { em?: unknown; segments?: unknown };
    return em !== undefined && segments === undefined
      ? parseMeasurement(value)
      : parseTrajectory(value);
  };
  const expected = 'answers or trajectories of `evaluate`';
  let numLines = 0;
  for await (const line of readJsonLines(file, parse, expected)) {
    numLines++;
    if ('segments' in line) run.trajectories.push(line);
    else run.answers.push(line);
  }
  if (numLines === 0) throw new Error(`Expected ${expected} in ${file}, but it is empty.`);
}

/** What produced the answers; several values if they differ. */
function answerSettings(answers: readonly RecordedAnswer[]): ComparedRun['settings'] {
  const list = (name: 'method' | 'model' | 'seed'): string =>
    [...new Set(answers.flatMap((answer) => answer[name] ?? []))].join(', ');
  const settings = { method: list('method'), model: list('model'), seed: list('seed') };
  return settings.method === '' ? {} : settings;
}

/** Final figures are means over this fraction of steps, at least `MIN_STEPS`. */
const FINAL_FRACTION = 0.1;
const MIN_STEPS = 5;
const RESAMPLES = 1000;

/** Training metrics with a chart and a final figure. */
export const FINAL_METRICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'decomposition_ratio',
  'kl',
  'entropy',
  'completions/mean_length',
];

type TrainedRun = Pick<ComparedRun, 'steps' | 'name'>;

/** The mean over the last steps, with its bootstrap samples; null if missing. */
function finalEstimate({ steps, name }: TrainedRun, metric: string) {
  const last = steps.slice(-Math.max(MIN_STEPS, Math.round(FINAL_FRACTION * steps.length)));
  const values = last.flatMap(({ metrics }) => metrics[metric] ?? []);
  if (values.length === 0) return null;
  const random = createRandom(`final figures/${name}/${metric}`);
  const samples = Float64Array.from(
    range(RESAMPLES),
    () => mean(values, () => random.choice(values))!,
  );
  return { value: mean(values)!, samples, numSteps: values.length };
}

/** The mean over the last steps with a 95 % bootstrap interval; null if missing. */
export function finalFigure(
  run: TrainedRun,
  metric: string,
): (Interval & { numSteps: number }) | null {
  const estimate = finalEstimate(run, metric);
  return estimate && { ...percentileInterval(estimate), numSteps: estimate.numSteps };
}

/** A run's final figure minus another's; resamples the steps of both. */
function finalDifference(run: TrainedRun, against: TrainedRun, metric: string): Interval | null {
  const [minuend, subtrahend] = [finalEstimate(run, metric), finalEstimate(against, metric)];
  if (!minuend || !subtrahend) return null;
  return percentileInterval({
    value: minuend.value - subtrahend.value,
    samples: minuend.samples.map((sample, i) => sample - subtrahend.samples[i]),
  });
}

/**
 * Figures over the questions that all runs with answers have answered, and paired
 * differences from the first run; null without a common question. Measures without a
 * value for some question are left out.
 */
export function answerFigures(
  runs: readonly ComparedRun[],
): (TidyResults & { numQuestions: number }) | null {
  const answered = runs.filter(({ answers }) => answers.length > 0);
  if (answered.length === 0) return null;
  const common = answersInCommon(
    Object.fromEntries(answered.map(({ name, answers }) => [name, answers])),
  );
  if (common.length === 0) return null;
  // Counts every question, whatever its benchmark.
  const results = common.map((result) => ({ ...result, benchmark: `asked: ${result.benchmark}` }));
  const tidy = summariseResults(results, {
    measures: completeMeasures(results),
    filter: ({ benchmark, subset }) => benchmark === 'all' && subset === 'all',
    // Finer strata would hold one question each if there are few, and so no spread.
    stratum: ({ benchmark }) => benchmark,
    pairs: answered.slice(1).map(({ name }) => [name, answered[0].name] as const),
    resamples: RESAMPLES,
  });
  return { ...tidy, numQuestions: common.length / answered.length };
}

/** With fewer, a 95 % bootstrap interval covers the right value in less than 90 %. */
const MIN_QUESTIONS = 10;

/** A warning if intervals come from few questions, else null. */
export const fewQuestionsWarning = (numQuestions: number): string | null =>
  numQuestions < MIN_QUESTIONS
    ? `Intervals from ${plural(numQuestions, 'question')} are too narrow. Compare more questions.`
    : null;

/** A final figure of a run, and its difference from the first run that has one. */
export interface FinalFigure {
  source: 'answers' | 'training';
  metric: string;
  /** Number of questions that all runs answered, or of last training steps. */
  n: number;
  run: string;
  figure: Interval;
  /** Null for the first run. */
  difference: Interval | null;
}

/** Metrics of answers that decide a comparison; the page has all metrics. */
const DECISIVE_METRICS = ['em', 'f1', 'model_calls', 'turns', 'decomposition_ratio'];

const interval = ({ value, low, high }: Interval): Interval => ({ value, low, high });

/** Final figures by metric and run: of answers, then of the last training steps. */
export function finalFigures(runs: readonly ComparedRun[]): FinalFigure[] {
  const answers = answerFigures(runs);
  const differences = answers?.contrasts.filter(({ kind }) => kind === 'difference') ?? [];
  const answered = DECISIVE_METRICS.flatMap((metric) =>
    (answers?.rows ?? [])
      .filter((row) => row.metric === metric)
      .map((row): FinalFigure => {
        const { method: run } = row;
        const other = differences.find((one) => one.metric === metric && one.method === run);
        const figure = interval(row);
        const difference = other ? interval(other) : null;
        return { source: 'answers', metric, n: answers!.numQuestions, run, figure, difference };
      }),
  );
  const trained = runs.filter(({ steps }) => steps.length > 0);
  const ends = FINAL_METRICS.flatMap((metric) =>
    trained.flatMap((run, i): FinalFigure[] => {
      const end = finalFigure(run, metric);
      if (!end) return [];
      const difference = i === 0 ? null : finalDifference(run, trained[0], metric);
      const figure = interval(end);
      return [{ source: 'training', metric, n: end.numSteps, run: run.name, figure, difference }];
    }),
  );
  return [...answered, ...ends];
}
