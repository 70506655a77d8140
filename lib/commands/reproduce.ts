/**
 * `parallelsearch reproduce` (npm start): re-evaluates for a while, computes the results,
 * executes the notebooks and writes the reports.
 */
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import { sort } from 'd3-array';
import pLimit from 'p-limit';
import type { Experiment } from '../experiments/experiment.js';
import { failures } from '../experiments/failures.js';
import { latency } from '../experiments/latency/experiment.js';
import { EXPERIMENTS } from '../experiments/list.js';
import { mainResults } from '../experiments/main-results.js';
import { realModel } from '../experiments/real-model/experiment.js';
import { computeResults, resultFile } from '../experiments/results/result-file.js';
import { runJobs } from '../experiments/running/jobs.js';
import { RESULTS, hasRecords } from '../experiments/running/records.js';
import {
  estimateRetraining,
  finishRetraining,
  retrainEverything,
} from '../experiments/running/retrain.js';
import { runTool } from '../experiments/running/train-runs.js';
import { trajectories } from '../experiments/trajectories.js';
import { packagePath, requireClone, shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { startKernel, type Kernel } from '../notebook/kernel.js';
import { exportReport, readResults } from '../pages/notebook/reports.js';
import type { BackendName, BackendReport } from '../tensor/backend.js';
import { describeDuration, interruptible, parseCount, log } from './common/cli-utils.js';
import { backendOption } from './common/options.js';
import { announceBackend } from './common/setup.js';
import { createStages, verboseStages, type Stages } from './common/stages.js';
import { COMPUTED, runExperiments } from './experiment.js';

/**
 * Seconds for which `npm start` re-evaluates experiments: including start-up and
 * notebooks, it takes at most three minutes on two cores. A language model answers about
 * ten questions. Each result says how many questions were re-evaluated, and how many got
 * the recorded answer again.
 */
const LIVE_BUDGETS: readonly {
  experiment: Experiment;
  budgetSeconds: number;
  isOptional?: boolean;
}[] = [
  { experiment: mainResults, budgetSeconds: 6 },
  { experiment: realModel, budgetSeconds: 20, isOptional: true },
];
/** Results and notebooks computed at a time; each keeps about one core busy. */
const NUM_PROCESSES = 2;
const REPORTS = packagePath('reports');
/** Everything that a run prints besides its stages. */
const LOG = packagePath('runs', 'start.log');

interface ReproduceSettings {
  retrain?: boolean;
  maxSteps?: number;
  full?: boolean;
  fresh?: boolean;
  record?: boolean;
  verbose?: boolean;
  backend: BackendName | 'auto';
}

interface ReportNotebook {
  name: string;
  notebook: string;
}

/** The notebooks in order; the report of `01-main-results.ipynb` is `main-results`. */
async function listNotebooks(): Promise<ReportNotebook[]> {
  const folder = packagePath('notebooks');
  const files = (await readdir(folder)).sort();
  return files.flatMap((file) => {
    const name = /^\d\d-(.+)\.ipynb$/.exec(file)?.[1];
    return name ? [{ name, notebook: join(folder, file) }] : [];
  });
}

/** Checkpoints of a retraining. A shortened one has its own: weights never mix. */
const retrainingFolder = (maxSteps?: number): string =>
  packagePath('runs', maxSteps === undefined ? 'retrain' : `retrain-${maxSteps}-steps`);

/** Retrains everything after printing an estimate; the stage shows the latest one. */
async function trainEverything(
  stages: Stages,
  { backend, signal, maxSteps }: { backend: BackendReport; signal: AbortSignal; maxSteps?: number },
): Promise<void> {
  const seconds = await estimateRetraining();
  stages.print(
    seconds > 0
      ? `Retraining takes about ${describeDuration(seconds)} on the native backend with 2 cores, several times as long on wasm.`
      : 'No estimate yet: data/checkpoints has no metrics of an earlier training.',
  );
  if (maxSteps !== undefined)
    stages.print(
      `A trial with at most ${maxSteps} steps of each stage and run. Its useless weights replace data/checkpoints; ` +
        'git restore data/checkpoints undoes that.',
    );
  await stages.run('retraining', async (update) => {
    const start = performance.now();
    let share = '';
    await retrainEverything({
      backend: backend.name,
      folder: retrainingFolder(maxSteps),
      maxSteps,
      signal,
      log: (line) => {
        log(line);
        update(`${share}${line}`);
      },
      onProgress: (fraction) => {
        const left = ((performance.now() - start) / 1000 / fraction) * (1 - fraction);
        const time = fraction > 0.01 ? `, about ${describeDuration(left)} left` : '';
        share = `${Math.floor(100 * fraction)} % of the RL steps${time}; `;
      },
    });
    return 'all weights trained';
  });
}

/**
 * Re-evaluates an experiment for up to `budgetSeconds`, using recorded answers for the
 * rest. Without recorded answers it evaluates everything, or nothing if the experiment is
 * optional. Skips an experiment whose requirements this machine does not meet.
 */
async function reevaluate(
  { experiment, budgetSeconds, isOptional }: (typeof LIVE_BUDGETS)[number],
  { backend, signal, stages }: Run,
): Promise<void> {
  const isBudgeted = await hasRecords(experiment);
  if (isBudgeted === null || (isOptional && !isBudgeted)) return;
  const missing = experiment.computation?.missing?.();
  if (missing) return stages.print(`${experiment.name}: recorded answers only: ${missing}`);
  if (isBudgeted) log(`${experiment.name}: re-evaluating for ${budgetSeconds} s.`);
  await stages.run(experiment.name, async (update) => {
    const start = performance.now();
    const bar = startProgress('Evaluating', 100);
    const onProgress = (fraction: number, note: string): void => {
      const elapsed = (performance.now() - start) / 1000 / budgetSeconds;
      const percent = Math.floor(100 * (isBudgeted ? Math.min(1, elapsed) : fraction));
      bar.update(percent, note);
      update(`${percent} %`);
    };
    const options = { backend, signal, budgetSeconds, onProgress };
    const isWhole = await runJobs(experiment, options).finally(() => bar.stop());
    return isWhole
      ? 'all questions evaluated'
      : 're-evaluated a part, recorded answers for the rest';
  });
}

/**
 * Logs whole lines, prefixed with the notebook's name, because two notebooks run at a
 * time.
 */
function prefixedLog(name: string): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach((line) => log(`[${name}] ${line}`));
  };
}

/**
 * Names of the experiments without complete records for their page; logs for each the
 * command that computes them.
 */
async function findIncomplete({ print }: Stages): Promise<Set<string>> {
  const computed = new Map<string, boolean>();
  for (const experiment of COMPUTED)
    computed.set(experiment.name, (await hasRecords(experiment)) ?? false);
  const incomplete = new Set<string>();
  for (const { name, result, reads = [name] } of EXPERIMENTS) {
    if (!result && name !== trajectories.name) continue; // it has no page
    const missing = reads.find((other) => computed.get(other) === false);
    if (missing === undefined) continue;
    incomplete.add(name);
    print(
      `${name}: skipped, because ${missing} is not computed for these weights. Run "npx parallelsearch experiment ${missing}".`,
    );
  }
  return incomplete;
}

/**
 * Executes notebooks as `work` adds them, two at a time, and writes their pages. Kernels
 * are reused: starting one and reading all declarations takes longer than a notebook.
 * @throws what `work` or the first failing notebook throws, once none is running
 */
async function withNotebooks<T>(
  { signal, stages }: Run,
  work: (add: (notebook: ReportNotebook) => void) => Promise<T>,
): Promise<T> {
  const started: Kernel[] = [];
  const idle: Kernel[] = [];
  const failed: unknown[] = [];
  const fail = (error: unknown): void => void failed.push(error);
  const execute = ({ name, notebook }: ReportNotebook): Promise<void> =>
    stages.run(basename(notebook), async () => {
      const kernel = idle.pop() ?? (await startKernel(dirname(notebook)));
      if (!started.includes(kernel)) started.push(kernel);
      const options = { outDir: REPORTS, store: true, log: prefixedLog(name), kernel };
      const page = await exportReport({ notebook, name, ...options });
      idle.push(kernel);
      log(`Report: ${page}`);
      return shortPath(page);
    });
  const limit = pLimit(NUM_PROCESSES);
  const executions: Promise<void>[] = [];
  const add = (notebook: ReportNotebook): void => {
    const isStopped = (): boolean => signal.aborted || failed.length > 0;
    executions.push(limit(async () => (isStopped() ? undefined : execute(notebook).catch(fail))));
  };
  const done = await work(add).catch(fail);
  await Promise.all(executions);
  await Promise.all(started.map((kernel) => kernel.shutdown()));
  signal.throwIfAborted();
  if (failed.length > 0) throw failed[0];
  return done as T;
}

const isIndependent = ({ name }: ReportNotebook): boolean =>
  EXPERIMENTS.every((experiment) => experiment.name !== name);

/** Started first: at the end it would run alone. */
const LONGEST = failures.name;

/** Computes the results; adds each notebook as soon as its inputs exist. */
async function computeReports(
  { signal, stages }: Run,
  incomplete: ReadonlySet<string>,
  add: (notebook: ReportNotebook) => void,
): Promise<void> {
  const notebooks = new Map((await listNotebooks()).map((one) => [one.name, one]));
  const names = EXPERIMENTS.flatMap(({ name, result }) =>
    result && !incomplete.has(name) ? [name] : [],
  );
  log(`Computing ${names.length} results.`);
  await stages.run('results', async (update) => {
    let numDone = 0;
    await computeResults(
      sort(names, (name) => name !== LONGEST),
      {
        width: NUM_PROCESSES,
        signal,
        onResult: (name) => {
          log(`Result: ${resultFile(name)}`);
          update(`${++numDone} of ${names.length}`);
          const notebook = notebooks.get(name);
          if (notebook) add(notebook);
        },
      },
    );
    return `${names.length} computed`;
  });
}

/** The results whose findings are printed at the end; the first ones that exist. */
const CHIEF_RESULTS = [mainResults, realModel, latency];

/** Three sentences of the chief results' findings. */
export function chiefFindings(results: ReadonlyMap<string, { finding: string }>): string[] {
  const findings = CHIEF_RESULTS.flatMap(({ name }) => results.get(name)?.finding ?? []);
  return findings.flatMap((finding) => finding.split(/(?<=\.) (?=\p{Lu})/u)).slice(0, 3);
}

interface Run {
  backend: BackendReport;
  signal: AbortSignal;
  stages: Stages;
}

async function runReproduce(settings: ReproduceSettings): Promise<number> {
  const start = performance.now();
  const backend = await announceBackend(settings.backend);
  const { retrain, maxSteps, full, fresh, record, verbose } = settings;
  if (fresh) await rm(RESULTS, { recursive: true, force: true });
  return interruptible(
    async (signal) => {
      if (!verbose) log(`Details: ${shortPath(LOG)}`);
      const stages = verbose ? verboseStages() : createStages(LOG);
      const run = { backend, signal, stages };
      signal.addEventListener('abort', () => stages.print('Stopping. Ctrl-C again stops at once.'));
      try {
        if (retrain) await trainEverything(stages, { ...run, maxSteps });
        // Alone, because it measures times.
        if (full || retrain || record) await computeEverything(run);
        const incomplete = await withNotebooks(run, async (add) => {
          (await listNotebooks()).filter(isIndependent).forEach(add);
          if (!full && !retrain && !record)
            for (const one of LIVE_BUDGETS) await reevaluate(one, run);
          signal.throwIfAborted();
          if (record) await runTool('runs/record-results', {}, { signal, log });
          const missing = await findIncomplete(stages);
          await computeReports(run, missing, add);
          return missing;
        });
        await stages.run('trajectories, playground', async () => {
          const task = { folder: REPORTS, hasTrajectories: !incomplete.has(trajectories.name) };
          await runTool('reports/pages', task, { signal, log, environment: {} });
          return 'with reports/index.html';
        });
        if (retrain) await finishRetraining(retrainingFolder(maxSteps));
        for (const finding of chiefFindings(readResults(REPORTS))) stages.print(`- ${finding}`);
        const time = describeDuration((performance.now() - start) / 1000);
        stages.print(`${time}. Open ${pathToFileURL(join(REPORTS, 'index.html')).href}`);
      } finally {
        stages.close();
      }
    },
    { stopping: 'Stopping. Ctrl-C again stops at once.' },
  );
}

/** Without training. */
const computeEverything = ({ backend, signal, stages }: Run): Promise<void> =>
  stages.run('experiments', async (update) => {
    const onProgress = (share: number, note: string): void =>
      update(`${Math.floor(100 * share)} %, ${note}`);
    await runExperiments(COMPUTED, { out: RESULTS, train: false, backend, signal, onProgress });
    return 'computed';
  });

export function reproduceCommand(): Command {
  return new Command('reproduce')
    .description(
      'evaluate the committed weights, execute the notebooks and export the reports (npm start)',
    )
    .option('--retrain', 'retrain everything first; prints an estimate')
    .option(
      '--max-steps <n>',
      'with --retrain: a trial run with at most this many steps per stage and run; replaces data/checkpoints, so use a copy of the project',
      parseCount,
    )
    .option('--full', 'evaluate every run and compute every experiment without a time limit')
    .option('--fresh', 'ignore earlier evaluations and experiments')
    .option('--verbose', 'print everything instead of a line per stage')
    .option('--record', 'store the results in data/results (implies --full)')
    .addOption(backendOption())
    .action(async (settings: ReproduceSettings, command: Command) => {
      requireClone('reproduce');
      if (settings.maxSteps !== undefined && !settings.retrain)
        command.error('error: --max-steps shortens a training: give --retrain too');
      process.exitCode = await runReproduce(settings);
    });
}
