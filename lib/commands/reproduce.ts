/**
 * `parallelsearch reproduce` (npm start): answers anew what there is time for, executes
 * the notebooks, exports the reports.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { runJobs, recordResults } from '../experiments/jobs.js';
import type { Experiment } from '../experiments/experiment.js';
import { EXPERIMENTS } from '../experiments/list.js';
import { mainResults } from '../experiments/main-results.js';
import { realModel } from '../experiments/real-model/experiment.js';
import { exportReport, writeIndex } from '../experiments/reports.js';
import { computeResult, resultFile } from '../experiments/result.js';
import { RESULTS, readRecords } from '../experiments/records.js';
import { writeReadme } from '../experiments/readme.js';
import { packagePath, requireClone } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { estimateRetraining, finishRetraining, retrainEverything } from '../experiments/retrain.js';
import { exportPlayground, PLAYGROUND } from '../pages/playground/page.js';
import { exportTrajectories, TRAJECTORIES } from '../pages/viewer/report.js';
import type { BackendName, BackendReport } from '../tensor/backend.js';
import { COMPUTED, runExperiments } from './experiment.js';
import { describeDuration, interruptible, parseCount, log } from './cli-utils.js';
import { announceBackend, backendOption } from './setup.js';
import { runConcurrently } from '../io/processes.js';

/**
 * Seconds for which `npm start` re-evaluates experiments: with start-up and notebooks it
 * stays within five minutes on two cores. A language model answers about twenty
 * questions.
 */
const LIVE_BUDGETS: readonly {
  experiment: Experiment;
  budgetSeconds: number;
  isOptional?: boolean;
}[] = [
  { experiment: mainResults, budgetSeconds: 60 },
  { experiment: realModel, budgetSeconds: 40, isOptional: true },
];
/** A notebook keeps little more than one core busy. */
const NOTEBOOKS_AT_ONCE = 2;
const REPORTS = packagePath('reports');

interface ReproduceSettings {
  retrain?: boolean;
  maxSteps?: number;
  full?: boolean;
  fresh?: boolean;
  record?: boolean;
  backend: BackendName | 'auto';
}

/**
 * `main-results` of `01-main-results.ipynb`, and so on, by number: the first steps first.
 */
async function notebookReports(): Promise<{ name: string; notebook: string }[]> {
  const folder = packagePath('notebooks');
  const files = (await readdir(folder)).sort();
  return files.flatMap((file) => {
    const name = /^\d\d-(.+)\.ipynb$/.exec(file)?.[1];
    return name ? [{ name, notebook: join(folder, file) }] : [];
  });
}

/**
 * Where a training keeps its checkpoints; one that is cut short has a folder of its own,
 * lest its weights pass for others.
 */
const retrainingFolder = (maxSteps?: number): string =>
  packagePath('runs', maxSteps === undefined ? 'retrain' : `retrain-${maxSteps}-steps`);

/** Trains everything again, having said how long that takes. */
async function trainEverything(
  backend: BackendReport,
  signal: AbortSignal,
  maxSteps?: number,
): Promise<void> {
  const seconds = await estimateRetraining();
  log(
    seconds > 0
      ? `Training everything again took ${describeDuration(seconds)} on the native backend with 2 cores; wasm takes several times as long.`
      : 'How long this takes is not known: data/checkpoints holds no metrics of an earlier training.',
  );
  if (maxSteps !== undefined)
    log(
      `At most ${maxSteps} steps of each stage and run now: the weights will be of no use, and take the place of those in ` +
        'data/checkpoints (git restore data/checkpoints brings them back).',
    );
  await retrainEverything({
    backend: backend.name,
    folder: retrainingFolder(maxSteps),
    maxSteps,
    signal,
    log: log,
  });
}

/**
 * Re-evaluates an experiment for up to `budgetSeconds`; recorded answers stand in for the
 * rest. Without recorded answers it evaluates everything, or nothing if the experiment is
 * optional. Skips an experiment whose requirements this machine lacks.
 */
async function answerForAWhile(
  { experiment, budgetSeconds, isOptional }: (typeof LIVE_BUDGETS)[number],
  backend: BackendReport,
  signal: AbortSignal,
): Promise<void> {
  const results = await readRecords(experiment);
  const isBudgeted = results.every(({ done }) => done !== null);
  if (results.length === 0 || (isOptional && !isBudgeted)) return;
  const missing = experiment.computation?.missing?.();
  if (missing) return log(`${experiment.name}: recorded answers only, since ${missing}`);
  if (isBudgeted) log(`${experiment.name}: questions are answered anew for ${budgetSeconds} s.`);
  const [start, bar] = [performance.now(), startProgress('Evaluating', 100)];
  const onProgress = (fraction: number, note: string): void => {
    const elapsed = (performance.now() - start) / 1000 / budgetSeconds;
    bar.update(Math.floor(100 * (isBudgeted ? Math.min(1, elapsed) : fraction)), note);
  };
  const options = { backend, signal, budgetSeconds, onProgress };
  await runJobs(experiment, options).finally(() => bar.stop());
}

/**
 * Whole lines of a notebook's log, with its name before each: two notebooks run at once.
 */
function prefixedLog(name: string): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach((line) => log(`[${name}] ${line}`));
  };
}

/** Whether an experiment has been computed, with the weights and data of now. */
async function isComputed(experiment: Experiment): Promise<boolean> {
  const results = await readRecords(experiment);
  return results.length > 0 && results.every(({ done }) => done !== null);
}

/**
 * Tells whether all that a report shows is there, and says what is missing where it is
 * not; looks once at what several reports read.
 */
function lookForResults(): (name: string) => Promise<boolean> {
  const known = new Map<Experiment, Promise<boolean>>();
  return async (name) => {
    const experiment = EXPERIMENTS.find((one) => one.name === name);
    const wanted = experiment?.reads ?? (experiment ? [name] : []);
    for (const one of EXPERIMENTS.filter((other) => wanted.includes(other.name))) {
      if (!known.has(one)) known.set(one, isComputed(one));
      if (await known.get(one)) continue;
      const command = `npx parallelsearch experiment ${one.name}`;
      log(
        `${name}: left out, since ${one.name} has not been computed with these weights: ${command}`,
      );
      return false;
    }
    return true;
  };
}

/**
 * Executes the notebooks and writes their reports, the trajectories, the playground and
 * the index.
 */
async function exportReports(signal: AbortSignal): Promise<void> {
  const hasResults = lookForResults();
  const computed = EXPERIMENTS.filter(({ result }) => result);
  await runConcurrently(computed, NOTEBOOKS_AT_ONCE, async ({ name }) => {
    signal.throwIfAborted();
    if (!(await hasResults(name))) return;
    await computeResult(name);
    log(`Result: ${resultFile(name)}`);
  });
  await runConcurrently(await notebookReports(), NOTEBOOKS_AT_ONCE, async ({ name, notebook }) => {
    signal.throwIfAborted();
    if (!(await hasResults(name))) return;
    const page = await exportReport({ notebook, name, outDir: REPORTS, log: prefixedLog(name) });
    log(`Report: ${page}`);
  });
  signal.throwIfAborted();
  const pages = [PLAYGROUND];
  if (await hasResults('trajectories')) {
    log(`Report: ${await exportTrajectories({ outDir: REPORTS })}`);
    pages.push(TRAJECTORIES);
  }
  log(`Report: ${await exportPlayground({ outDir: REPORTS, log: log })}`);
  await writeIndex(REPORTS, pages);
  await writeReadme(REPORTS);
  log(`Open ${join('reports', 'index.html')} in a browser.`);
}

/** Evaluates, executes the notebooks and exports the reports. */
async function runReproduce(settings: ReproduceSettings): Promise<number> {
  const backend = await announceBackend(settings.backend);
  const { retrain, maxSteps, full, fresh, record } = settings;
  if (fresh) await rm(RESULTS, { recursive: true, force: true });
  return interruptible('Stopping. Ctrl-C again stops at once.', async (signal) => {
    if (retrain) await trainEverything(backend, signal, maxSteps);
    if (full || retrain || record)
      await runExperiments(COMPUTED, { out: RESULTS, train: false, backend, signal });
    else for (const one of LIVE_BUDGETS) await answerForAWhile(one, backend, signal);
    signal.throwIfAborted();
    if (record) for (const experiment of COMPUTED) await recordResults(experiment);
    log('Notebooks are executed now, which takes two to three minutes.');
    await exportReports(signal);
    if (retrain) await finishRetraining(retrainingFolder(maxSteps));
  });
}

/** The `reproduce` command: what `npm start` runs. */
export function reproduceCommand(): Command {
  return new Command('reproduce')
    .description(
      'evaluate the committed weights, execute the notebooks and export the reports (npm start)',
    )
    .option('--retrain', 'retrain everything first; prints an estimate')
    .option(
      '--max-steps <n>',
      'with --retrain: at most this many steps of each stage and run, as a trial; replaces data/checkpoints, so use a copy of the project',
      parseCount,
    )
    .option('--full', 'evaluate every run and compute every experiment without a time limit')
    .option('--fresh', 'ignore earlier evaluations and experiments')
    .option('--record', 'store the results in data/results (implies --full)')
    .addOption(backendOption())
    .action(async (settings: ReproduceSettings, command: Command) => {
      requireClone('reproduce');
      if (settings.maxSteps !== undefined && !settings.retrain)
        command.error('error: --max-steps shortens a training: give --retrain too');
      process.exitCode = await runReproduce(settings);
    });
}
