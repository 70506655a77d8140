/** `parallelsearch experiment NAME`: computes what notebooks read. */
import { sum } from 'd3-array';
import { Argument, Command } from 'commander';
import type { Experiment } from '../experiments/experiment.js';
import { runJobs, type RunJobsOptions } from '../experiments/jobs.js';
import { EXPERIMENTS } from '../experiments/list.js';
import { RESULTS, readRecords } from '../experiments/records.js';
import { requireClone } from '../io/paths.js';
import { startProgress, type Progress } from '../io/progress.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { describeDuration, interruptible, log as printLine } from './cli-utils.js';
import { backendOption } from './setup.js';

interface ExperimentSettings {
  force?: boolean;
  /**
   * Whether runs that are missing are trained first; otherwise those that there are
   * count. Default true.
   */
  train?: boolean;
  out: string;
  backend: BackendName | 'auto';
}

interface RunOptions
  extends
    Omit<ExperimentSettings, 'backend'>,
    Pick<RunJobsOptions, 'start' | 'backend' | 'signal'> {
  /** Lines for people; default stderr. */
  log?: (line: string) => void;
  startProgress?: (title: string, total: number) => Progress;
}

/** Experiments that compute something of their own. */
export const COMPUTED: readonly Experiment[] = EXPERIMENTS.filter(({ computation }) => computation);

interface Planned {
  experiment: Experiment;
  /** About how long it takes; 0 where all is there. */
  seconds: number;
  isPrepared: boolean;
  line: string;
}

/** What is to be done for an experiment, and about how long that takes. */
async function planOf(
  experiment: Experiment,
  { out, force, train = true }: RunOptions,
): Promise<Planned> {
  const planned = (isPrepared: boolean, seconds: number, ...words: string[]): Planned => {
    if (seconds > 0) words.push(`about ${describeDuration(seconds)}`);
    const line = `${experiment.name}: ${experiment.title}: ${words.join(', ')}`;
    return { experiment, isPrepared, seconds, line };
  };
  const { prepare, processes = 2 } = experiment.computation!;
  const lacks = experiment.computation!.missing?.();
  const preparation = train ? await prepare?.plan() : null;
  if (preparation && lacks) return planned(true, 0, preparation.work, `left out: ${lacks}`);
  // Jobs are not known before what they need is there.
  if (preparation)
    return planned(false, Math.max(1, preparation.seconds), preparation.work, 'then its jobs');
  const results = await readRecords(experiment, out);
  if (results.length === 0) return planned(true, 0, 'left out: its runs have not been trained');
  const open = results.filter(({ done }) => force || !done?.isOwn);
  if (open.length === 0) return planned(true, 0, 'is there');
  const instead = open.every(({ done }) => done !== null) ? ' in place of recorded results' : '';
  const work = `${open.length} of ${results.length} jobs${instead}`;
  if (lacks) return planned(true, 0, work, `left out: ${lacks}`);
  return planned(true, sum(open, ({ job }) => job.seconds) / processes, work);
}

/**
 * Runs experiments and says beforehand what is there already and how long the rest takes.
 * @throws the signal's reason when it was stopped; the same call then goes on
 */
export async function runExperiments(
  experiments: readonly Experiment[],
  options: RunOptions,
): Promise<void> {
  const {
    signal,
    backend,
    log = printLine,
    startProgress: start = startProgress,
    out: folder,
    force,
  } = options;
  const plan: Planned[] = [];
  for (const experiment of experiments) plan.push(await planOf(experiment, options));
  plan.forEach(({ line }) => log(line));
  const wanted = plan.filter(({ seconds }) => seconds > 0);
  if (wanted.length === 0) return;
  const progress = start(
    'Experiments',
    Math.max(1, Math.ceil(sum(wanted, ({ seconds }) => seconds))),
  );
  let before = 0;
  try {
    for (const { experiment, isPrepared, seconds } of wanted) {
      const report = (fraction: number, note: string): void =>
        progress.update(Math.floor(before + fraction * seconds), `${experiment.name}: ${note}`);
      if (!isPrepared) {
        const onProgress = (fraction: number): void => report(fraction, 'training');
        await experiment.computation!.prepare!.run({ backend: backend.name, signal, onProgress });
      }
      const onProgress = (fraction: number, note: string): void =>
        report(isPrepared ? fraction : 1, note);
      await runJobs(experiment, {
        backend,
        folder,
        force,
        signal,
        onProgress,
        start: options.start,
      });
      before += seconds;
    }
  } finally {
    progress.stop();
  }
}

/** The `experiment` command. */
export function experimentCommand(): Command {
  const list = COMPUTED.map(({ name, title }) => `  ${name.padEnd(22)} ${title}`);
  return new Command('experiment')
    .description(
      'compute the results that notebooks read; keeps what is done and resumes if interrupted',
    )
    .addArgument(
      new Argument('<name>', 'an experiment, or all').choices([
        ...COMPUTED.map(({ name }) => name),
        'all',
      ]),
    )
    .option('--force', 'recompute existing results')
    .option('--no-train', 'use only runs that are trained already')
    .option('--out <folder>', 'where results are stored', RESULTS)
    .addOption(backendOption())
    .addHelpText('after', `\nExperiments:\n${list.join('\n')}`)
    .action(async (name: string, { backend: requested, ...settings }: ExperimentSettings) => {
      requireClone('experiment');
      const backend = await useBackend(requested);
      const wanted = COMPUTED.filter((experiment) => name === 'all' || experiment.name === name);
      process.exitCode = await interruptible(
        'Stopping; what is finished stays. Ctrl-C again stops at once.',
        (signal) => runExperiments(wanted, { ...settings, backend, signal }),
      );
    });
}
