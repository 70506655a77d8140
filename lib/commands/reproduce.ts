import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { evaluateRuns, recordRuns } from '../experiments/evaluate-runs.js';
import { EXPERIMENTS_FOLDER } from '../experiments/experiment.js';
import { EXPERIMENTS } from '../experiments/experiments.js';
import { mainRuns } from '../experiments/main-results.js';
import { estimateRetraining, retrainEverything } from '../experiments/retrain.js';
import { packagePath } from '../paths.js';
import { exportPlayground } from '../playground/html.js';
import { exportReport, writeIndex } from '../report/export.js';
import type { BackendName } from '../tensor/backend.js';
import { announceBackend, backendOption, interruptSignal } from './options.js';

/** Seconds of evaluation in `npm start`; with start-up and notebooks it stays within five minutes on two cores. */
const BUDGET_SECONDS = 90;
const EVALUATION = packagePath('runs', 'evaluation');
const REPORTS = packagePath('reports');

interface ReproduceSettings {
  retrain?: boolean;
  full?: boolean;
  fresh?: boolean;
  record?: boolean;
  backend: BackendName | 'auto';
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function describeHours(seconds: number): string {
  return seconds < 5400 ? `${Math.round(seconds / 60)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;
}

/** `main-results` of `01-main-results.ipynb`, and so on, by number: the first steps first. */
async function notebookReports(): Promise<{ name: string; notebook: string }[]> {
  const folder = packagePath('notebooks');
  const files = (await readdir(folder)).sort();
  return files.flatMap((file) => {
    const name = /^\d\d-(.+)\.ipynb$/.exec(file)?.[1];
    return name ? [{ name, notebook: join(folder, file) }] : [];
  });
}

/** Evaluates, executes the notebooks and exports the reports. */
export async function runReproduce(settings: ReproduceSettings): Promise<number> {
  const backend = await announceBackend(settings.backend);
  const signal = interruptSignal('Stopping; the same command goes on from here.');
  if (settings.fresh) await rm(EVALUATION, { recursive: true, force: true });
  try {
    if (settings.retrain) {
      const estimate = describeHours(await estimateRetraining());
      say(
        `Training everything again took ${estimate} on the native backend with 2 cores; wasm takes several times as long.`,
      );
      await retrainEverything({ backend, folder: packagePath('runs', 'retrain'), signal, log: say });
    }
    const budgetSeconds = settings.full || settings.retrain || settings.record ? Infinity : BUDGET_SECONDS;
    await evaluateRuns(mainRuns(), { backend, folder: EVALUATION, budgetSeconds, signal });
    if (settings.record) await recordRuns(mainRuns());
    for (const { name, notebook } of await notebookReports()) {
      signal.throwIfAborted();
      if (name in EXPERIMENTS && !existsSync(join(EXPERIMENTS_FOLDER, name, 'results.json'))) {
        say(
          `${name}: left out, since its experiment has not been run: npx parallelsearch experiment ${name}`,
        );
        continue;
      }
      const report = await exportReport({
        notebook,
        name,
        outDir: REPORTS,
        log: (text) => void process.stderr.write(text),
      });
      say(`Report: ${[report.html, report.json].filter(Boolean).join(', ')}`);
    }
    signal.throwIfAborted();
    say(`Report: ${await exportPlayground({ outDir: REPORTS, log: say })}`);
    writeIndex(REPORTS);
    say(`Open ${join('reports', 'index.html')} in a browser.`);
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
    .option('--full', 'evaluate every run from its weights, however long it takes')
    .option('--fresh', 'forget earlier evaluations')
    .option('--record', 'keep the results beside the weights (implies --full)')
    .addOption(backendOption())
    .action(async (settings: ReproduceSettings) => {
      process.exitCode = await runReproduce(settings);
    });
}
