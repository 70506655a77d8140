/** `parallelsearch experiment NAME`: computes the records on which results are based. */
import { Argument, Command, Option } from 'commander';
import { sum } from 'd3-array';
import type { Experiment } from '../experiments/experiment.js';
import { EXPERIMENTS } from '../experiments/list.js';
import { runJobs, type RunJobsOptions } from '../experiments/running/jobs.js';
import { RESULTS, readRecords } from '../experiments/running/records.js';
import { requireClone } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { useBackend, type BackendName } from '../tensor/backend.js';
import { describeDuration, interruptible, log as printLine } from './common/cli-utils.js';
import { backendOption } from './common/options.js';

interface ExperimentSettings {
  force?: boolean;
  /** Whether to train missing runs first. Default: true. */
  train?: boolean;
  out: string;
  backend: BackendName | 'auto';
}

type RunOptions = Omit<ExperimentSettings, 'backend'> &
  Pick<RunJobsOptions, 'start' | 'backend' | 'signal'> & {
    log?: (line: string) => void;
    /** @param share of all work that is done */
    onProgress?: (share: number, note: string) => void;
  };

export const COMPUTED: readonly Experiment[] = EXPERIMENTS.filter(({ computation }) => computation);

interface Planned {
  experiment: Experiment;
  /** Estimated seconds; 0 if there is nothing to do. */
  seconds: number;
  isPrepared: boolean;
  line: string;
}

async function planExperiment(
  experiment: Experiment,
  { out, force, train = true }: RunOptions,
): Promise<Planned> {
  const planned = (isPrepared: boolean, seconds: number, ...words: string[]): Planned => {
    if (seconds > 0) words.push(`about ${describeDuration(seconds)}`);
    const line = `${experiment.name}: ${experiment.title}: ${words.join(', ')}`;
    return { experiment, isPrepared, seconds, line };
  };
  const { prepare, processes = 2 } = experiment.computation!;
  const missing = experiment.computation!.missing?.();
  const preparation = train ? await prepare?.plan() : null;
  if (preparation && missing) return planned(true, 0, preparation.work, `skipped: ${missing}`);
  // Jobs are known once the runs are trained.
  if (preparation)
    return planned(false, Math.max(1, preparation.seconds), preparation.work, 'then its jobs');
  const records = await readRecords(experiment, out);
  if (records.length === 0) return planned(true, 0, 'skipped: its runs are not trained');
  const open = records.filter(({ done }) => force || !done?.isOwn);
  if (open.length === 0) return planned(true, 0, 'done');
  const instead = open.every(({ done }) => done !== null) ? ' that have recorded results' : '';
  const work = `${open.length} of ${records.length} jobs${instead}`;
  if (missing) return planned(true, 0, work, `skipped: ${missing}`);
  return planned(true, sum(open, ({ job }) => job.seconds) / processes, work);
}

/**
 * Logs what is done and an estimate of the rest, then runs it. Resumes if interrupted.
 * @throws the signal's reason if stopped
 */
export async function runExperiments(
  experiments: readonly Experiment[],
  options: RunOptions,
): Promise<void> {
  const { signal, backend, log = printLine, out: folder, force, start } = options;
  const plan: Planned[] = [];
  for (const experiment of experiments) plan.push(await planExperiment(experiment, options));
  plan.forEach(({ line }) => log(line));
  const wanted = plan.filter(({ seconds }) => seconds > 0);
  if (wanted.length === 0) return;
  const total = Math.max(1, Math.ceil(sum(wanted, ({ seconds }) => seconds)));
  const progress = startProgress('Experiments', total);
  let before = 0;
  try {
    for (const { experiment, isPrepared, seconds } of wanted) {
      const report = (fraction: number, what: string): void => {
        const [done, note] = [before + fraction * seconds, `${experiment.name}: ${what}`];
        progress.update(Math.floor(done), note);
        options.onProgress?.(done / total, note);
      };
      if (!isPrepared) {
        const onProgress = (fraction: number): void => report(fraction, 'training');
        await experiment.computation!.prepare!.run({ backend: backend.name, signal, onProgress });
      }
      const onProgress = (fraction: number, note: string): void =>
        report(isPrepared ? fraction : 1, note);
      await runJobs(experiment, { backend, folder, force, signal, onProgress, start });
      before += seconds;
    }
  } finally {
    progress.stop();
  }
}

export function experimentCommand(): Command {
  const list = COMPUTED.map(({ name, title }) => `  ${name.padEnd(22)} ${title}`);
  const names = [...COMPUTED.map(({ name }) => name), 'all'];
  return new Command('experiment')
    .description('compute the results that notebooks read; resumes if interrupted')
    .addArgument(new Argument('<name>', 'an experiment, or all').choices(names))
    .option('--force', 'recompute existing results')
    .option('--no-train', 'use only runs that are already trained')
    .addOption(
      new Option('--out <folder>', 'folder of the results').default(RESULTS, 'runs/results'),
    )
    .addOption(backendOption())
    .addHelpText('after', `\nExperiments:\n${list.join('\n')}`)
    .action(async (name: string, { backend: requested, ...settings }: ExperimentSettings) => {
      requireClone('experiment');
      const backend = await useBackend(requested);
      const wanted = COMPUTED.filter((experiment) => name === 'all' || experiment.name === name);
      process.exitCode = await interruptible(
        (signal) => runExperiments(wanted, { ...settings, backend, signal }),
        { stopping: 'Stopping; finished work is kept. Ctrl-C again stops at once.' },
      );
    });
}
