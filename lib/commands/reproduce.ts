import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { evaluateRuns, recordRuns } from '../experiments/evaluate-runs.js';
import { EXPERIMENTS_FOLDER, experimentState } from '../experiments/experiment.js';
import { EXPERIMENTS } from '../experiments/experiments.js';
import { mainRuns } from '../experiments/main-results/runs.js';
import { recallExperiment, recordExperiment } from '../experiments/recorded.js';
import { estimateRetraining, finishRetraining, retrainEverything } from '../mini-wiki/retrain.js';
import { packagePath } from '../io/paths.js';
import { exportPlayground } from '../pages/playground/html.js';
import { exportReport, writeIndex } from '../experiments/export.js';
import { exportTrajectories } from '../pages/viewer/report.js';
import { sideBySide } from '../io/side-by-side.js';
import type { BackendName, BackendReport } from '../tensor/backend.js';
import { describeDuration, runExperiments } from './experiment.js';
import { announceBackend, backendOption, interruptSignal, parseCount } from './options.js';

/** Seconds of evaluation in `npm start`; with start-up and notebooks it stays within five minutes on two cores. */
const BUDGET_SECONDS = 90;
/** A notebook keeps little more than one core busy. */
const NOTEBOOKS_AT_ONCE = 2;
const EVALUATION = packagePath('runs', 'evaluation');
const REPORTS = packagePath('reports');

interface ReproduceSettings {
  retrain?: boolean;
  maxSteps?: number;
  full?: boolean;
  fresh?: boolean;
  record?: boolean;
  backend: BackendName | 'auto';
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** `main-results` of `01-main-results.ipynb`, and so on, by number: the first steps first. */
async function notebookReports(): Promise<{ name: string; notebook: string }[]> {
  const folder = packagePath('notebooks');
  const files = (await readdir(folder)).sort();
  return files.flatMap((file) => {
    const name = /^\d\d-(.+)\.ipynb$/.exec(file)?.[1];
    return name ? [{ name, notebook: join(folder, file) }] : [];
  });
}

/** Where a training keeps its checkpoints; one that is cut short has a folder of its own, lest its weights pass for others. */
const retrainingFolder = (maxSteps?: number): string =>
  packagePath('runs', maxSteps === undefined ? 'retrain' : `retrain-${maxSteps}-steps`);

/** Trains everything again, having said how long that takes. */
async function retrain(backend: BackendReport, signal: AbortSignal, maxSteps?: number): Promise<void> {
  const seconds = await estimateRetraining();
  say(
    seconds > 0
      ? `Training everything again took ${describeDuration(seconds)} on the native backend with 2 cores; wasm takes several times as long.`
      : 'How long this takes is not known: data/checkpoints holds no metrics of an earlier training.',
  );
  if (maxSteps !== undefined)
    say(
      `At most ${maxSteps} steps of each stage and run now: the weights will be of no use, and take the place of those in ` +
        'data/checkpoints (git restore data/checkpoints brings them back).',
    );
  await retrainEverything({ backend, folder: retrainingFolder(maxSteps), maxSteps, signal, log: say });
}

/** Has the results of every experiment computed, or takes recorded ones where there are any. */
async function provideExperiments(isFull: boolean, backend: BackendName, signal: AbortSignal): Promise<void> {
  if (isFull) await runExperiments('all', { out: EXPERIMENTS_FOLDER, backend, signal });
  else for (const [name, experiment] of Object.entries(EXPERIMENTS)) await recallExperiment(name, experiment);
}

/** Whole lines of a notebook's log, with its name before each: two notebooks run at once. */
function prefixedLog(name: string): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach((line) => say(`[${name}] ${line}`));
  };
}

/** Whether what a report shows is there, and of the weights and data of now; says what is missing where it is not. */
async function hasResults(name: string): Promise<boolean> {
  if (!(name in EXPERIMENTS)) return true;
  const { isDone, isRecorded } = await experimentState(name, EXPERIMENTS[name]);
  if (isDone || isRecorded) return true;
  say(
    `${name}: left out, since its experiment has not been run with these weights: npx parallelsearch experiment ${name}`,
  );
  return false;
}

/** Executes the notebooks and writes their reports, the trajectories, the playground and the index. */
async function exportReports(signal: AbortSignal): Promise<void> {
  await sideBySide(await notebookReports(), NOTEBOOKS_AT_ONCE, async ({ name, notebook }) => {
    signal.throwIfAborted();
    if (!(await hasResults(name))) return;
    const report = await exportReport({ notebook, name, outDir: REPORTS, log: prefixedLog(name) });
    say(`Report: ${[report.html, report.json].filter(Boolean).join(', ')}`);
  });
  signal.throwIfAborted();
  if (await hasResults('trajectories')) {
    const folder = join(EXPERIMENTS_FOLDER, 'trajectories');
    say(`Report: ${await exportTrajectories({ folder, outDir: REPORTS })}`);
  }
  say(`Report: ${await exportPlayground({ outDir: REPORTS, log: say })}`);
  await writeIndex(REPORTS);
  say(`Open ${join('reports', 'index.html')} in a browser.`);
}

/** Evaluates, executes the notebooks and exports the reports. */
export async function runReproduce(settings: ReproduceSettings): Promise<number> {
  const backend = await announceBackend(settings.backend);
  const signal = interruptSignal('Stopping; the same command goes on from here.');
  const isFull = Boolean(settings.full || settings.retrain || settings.record);
  if (settings.fresh) {
    for (const folder of [EVALUATION, EXPERIMENTS_FOLDER]) await rm(folder, { recursive: true, force: true });
  }
  try {
    if (settings.retrain) await retrain(backend, signal, settings.maxSteps);
    const budgetSeconds = isFull ? Infinity : BUDGET_SECONDS;
    await evaluateRuns(mainRuns(), { backend, folder: EVALUATION, budgetSeconds, signal });
    await provideExperiments(isFull, backend.name, signal);
    signal.throwIfAborted();
    if (settings.record) {
      await recordRuns(mainRuns());
      for (const [name, experiment] of Object.entries(EXPERIMENTS)) await recordExperiment(name, experiment);
    }
    await exportReports(signal);
    if (settings.retrain) await finishRetraining(retrainingFolder(settings.maxSteps));
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    return 130;
  }
}

/** The `reproduce` command: what `npm start` runs. */
export function reproduceCommand(): Command {
  return new Command('reproduce')
    .description('evaluate the committed weights, execute the notebooks and export the reports (npm start)')
    .option('--retrain', 'train everything again first; says beforehand how long that takes')
    .option(
      '--max-steps <n>',
      'with --retrain: at most so many steps of each stage and run, to try all of it; replaces data/checkpoints, so do it in a copy of the project',
      parseCount,
    )
    .option('--full', 'evaluate every run and run every experiment from the weights, however long it takes')
    .option('--fresh', 'forget earlier evaluations and experiments')
    .option('--record', 'keep the results beside the weights (implies --full)')
    .addOption(backendOption())
    .action(async (settings: ReproduceSettings, command: Command) => {
      if (settings.maxSteps !== undefined && !settings.retrain)
        command.error('error: --max-steps shortens a training: give --retrain too');
      process.exitCode = await runReproduce(settings);
    });
}
