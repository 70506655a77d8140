import { Argument, Command } from 'commander';
import {
  experimentState,
  EXPERIMENTS_FOLDER,
  runExperiment,
  type Experiment,
  type ExperimentState,
} from '../experiments/experiment.js';
import { EXPERIMENTS } from '../experiments/experiments.js';
import { startProgress, type Progress } from '../io/progress.js';
import type { BackendName } from '../tensor/backend.js';
import { backendOption, interruptSignal } from './options.js';

export interface ExperimentSettings {
  force?: boolean;
  out: string;
  backend: BackendName | 'auto';
}

interface RunOptions extends ExperimentSettings {
  signal: AbortSignal;
  experiments?: Readonly<Record<string, Experiment>>;
  /** Lines for people; default stderr. */
  say?: (line: string) => void;
  startProgress?: (title: string, total: number) => Progress;
}

interface Planned extends ExperimentState {
  name: string;
  experiment: Experiment;
  isWanted: boolean;
  /** What is to be done, where it is wanted and the experiment says it. */
  work: string;
  /** About how long it takes; 0 where it is not wanted. */
  seconds: number;
}

const sayOnStderr = (line: string): void => void process.stderr.write(`${line}\n`);

/** A duration as one says it, such as `12 min` or `2.1 h`. */
export function describeDuration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** What is to be done for `name`, or for all. */
async function planOf(name: string, options: RunOptions): Promise<Planned[]> {
  const { experiments = EXPERIMENTS, out, force = false } = options;
  const names = name === 'all' ? Object.keys(experiments) : [name];
  const plan: Planned[] = [];
  for (const one of names) {
    const experiment = experiments[one];
    const state = await experimentState(one, experiment, out);
    const isWanted = force || !state.isDone;
    const seconds = isWanted ? await experiment.estimateSeconds() : 0;
    const work = isWanted ? ((await experiment.plan?.()) ?? '') : '';
    plan.push({ ...state, name: one, experiment, isWanted, work, seconds });
  }
  return plan;
}

function describePlan({ name, experiment, isWanted, isRecorded, work, seconds, hash }: Planned): string {
  if (!isWanted) return `${name}: ${experiment.title}: is there (hash ${hash})`;
  const replaced = isRecorded ? 'instead of the recorded results ' : '';
  return `${name}: ${experiment.title}: ${replaced}${work && `${work}, `}about ${describeDuration(seconds)}`;
}

/**
 * Runs one experiment, or `all`, and says beforehand what is there already and how long the rest takes.
 * @returns the exit code: 130 when it was stopped; the same command then goes on
 */
export async function runExperiments(name: string, options: RunOptions): Promise<number> {
  const { signal, say = sayOnStderr, startProgress: start = startProgress } = options;
  const plan = await planOf(name, options);
  plan.forEach((planned) => say(describePlan(planned)));
  const wanted = plan.filter(({ isWanted }) => isWanted);
  const total = Math.ceil(wanted.reduce((sum, { seconds }) => sum + seconds, 0));
  const progress = wanted.length > 0 ? start('Experiments', Math.max(1, total)) : null;
  try {
    let before = 0;
    for (const { name: one, experiment, seconds } of wanted) {
      const onProgress = (fraction: number, note?: string): void =>
        progress?.update(Math.floor(before + fraction * seconds), note ? `${one}: ${note}` : one);
      const { out: root, force, backend } = options;
      await runExperiment(one, experiment, { root, force, backend, signal, onProgress });
      onProgress(1);
      before += seconds;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    say('Stopped. The same command goes on from here.');
    return 130;
  } finally {
    progress?.stop();
  }
  plan.forEach(({ name: one, file }) => say(`${one}: ${file}`));
  return 0;
}

/** The `experiment` command. */
export function experimentCommand(): Command {
  const list = Object.entries(EXPERIMENTS).map(([name, { title }]) => `  ${name.padEnd(22)} ${title}`);
  return new Command('experiment')
    .description(
      'compute what a notebook reads; skips what was computed here, goes on where an earlier run stopped',
    )
    .addArgument(
      new Argument('<name>', 'an experiment, or all').choices([...Object.keys(EXPERIMENTS), 'all']),
    )
    .option('--force', 'compute again what is there')
    .option('--out <folder>', 'holds a folder of results for each experiment', EXPERIMENTS_FOLDER)
    .addOption(backendOption())
    .addHelpText('after', `\nExperiments:\n${list.join('\n')}`)
    .action(async (name: string, settings: ExperimentSettings) => {
      const signal = interruptSignal('Stopping; what is finished stays. Ctrl-C again stops at once.');
      process.exitCode = await runExperiments(name, { ...settings, signal });
    });
}
