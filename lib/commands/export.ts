/**
 * `parallelsearch export`: charts and tables of reports as files for a paper; training
 * metrics for TensorBoard and trackio.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { encodeEvents, type ScalarEvent } from '../interop/tensorboard.js';
import { writeTrackio, type TrackedRun } from '../interop/trackio.js';
import { readJsonLines, writeFileSafely } from '../io/files.js';
import { readNotebook } from '../notebook/nbformat.js';
import { shortNames } from '../report/compared-runs.js';
import { notebookFigures } from '../pages/notebook/page.js';
import { listReports, makeReports, readReportInfo } from '../pages/notebook/reports.js';
import { readDescription, readSteps, type StepMetrics } from '../training/run-folder.js';
import { METRICS_FILE, TRAJECTORIES_FILE } from '../policy/folders/files.js';
import {
  EXPORT_FORMATS,
  writeArtefact,
  type Artefact,
  type ExportFormat,
} from '../report/publication.js';
import { parseTokens } from '../rollout/recorded.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { choice, log, shellWord } from './common/cli-utils.js';
import { exportInteropCommands } from './export-interop.js';

export interface ExportSettings {
  out: string;
  format: readonly ExportFormat[];
  reports: string;
  log?: (line: string) => void;
}

const FORMATS = [...new Set(Object.values(EXPORT_FORMATS).flat())];
const DEFAULT_FORMATS = FORMATS.filter((format) => format !== 'pdf' && format !== 'png');

interface Source {
  name: string;
  figures: readonly Artefact[];
}

/** Finds a report by name, an executed notebook (.ipynb), or all reports in a folder. */
function readSources(report: string, folder: string): Source[] {
  if (report === 'all') {
    const reports = listReports(folder).filter(({ figures }) => figures.length > 0);
    if (reports.length > 0) return reports;
    throw new Error(`Expected reports in ${folder}, but found none. ${makeReports()}`);
  }
  const source = report.endsWith('.ipynb')
    ? { name: path.basename(report, '.ipynb'), figures: notebookFigures(readNotebook(report)) }
    : readReportInfo(folder, report);
  if (source.figures.length > 0) return [source];
  throw new Error(`Expected charts or tables in ${report}, but there are none.`);
}

/** Exports charts and tables of reports (`all`: the whole folder). Returns the files. */
export async function runExport(
  reports: readonly string[],
  settings: ExportSettings,
): Promise<string[]> {
  const { out, format, reports: folder, log: print = log } = settings;
  const sources = reports.flatMap((report) => readSources(report, folder));
  const written: string[] = [];
  for (const { name, figures } of sources) {
    const target = path.join(out, name);
    const files: string[] = [];
    for (const figure of figures) files.push(...(await writeArtefact(figure, target, format)));
    print(`${name}: ${files.length} files from ${figures.length} charts and tables in ${target}`);
    written.push(...files);
  }
  return written;
}

export function exportCommand(): Command {
  const reports = new Command('reports')
    .description(
      'write charts and tables of reports as files for a paper (LaTeX, Markdown, CSV, Vega-Lite, SVG)',
    )
    .argument(
      '<reports...>',
      'names of reports such as main-results, executed notebooks (.ipynb), or all',
    )
    .requiredOption('-o, --out <folder>', 'output folder, with one folder per report')
    .addOption(
      choice(
        '--format <formats...>',
        'file formats; pdf and png need Chromium',
        FORMATS,
        DEFAULT_FORMATS,
      ),
    )
    .option('--reports <folder>', 'folder of the reports', 'reports')
    .action(async (names: string[], settings: ExportSettings) => {
      await runExport(names, settings);
    });
  const command = new Command('export')
    .description(
      'export reports for a paper, training metrics for TensorBoard or trackio (export tensorboard, export trackio), a policy for other engines (export hf), a training setup for verl, TRL or plain PyTorch (export verl, export trl, export torch), or rollouts for verifiers (export verifiers)',
    )
    .usage(
      '<reports...> --out <folder> | tensorboard <runs...> | trackio <runs...> | hf <folder> | verl <folder> | trl <folder> | torch <folder> | verifiers <files...>',
    )
    .addCommand(reports, { isDefault: true });
  for (const subcommand of [tensorBoardCommand(), trackioCommand(), ...exportInteropCommands()])
    command.addCommand(subcommand);
  return command;
}

/** All recorded rollouts by step. @throws Error naming an invalid line */
async function readAllRollouts(folder: string): Promise<Map<number, Trajectory[]>> {
  const rollouts = new Map<number, Trajectory[]>();
  const file = path.join(folder, TRAJECTORIES_FILE);
  if (!existsSync(file)) return rollouts;
  for await (const line of readJsonLines(file, parseTokens, 'recorded trajectories')) {
    const { step = 0 } = line;
    rollouts.set(step, [...(rollouts.get(step) ?? []), line]);
  }
  return rollouts;
}

async function runTrackio(
  folders: readonly string[],
  { out, project }: { out: string; project: string },
): Promise<void> {
  const names = shortNames(folders);
  const runs: TrackedRun[] = [];
  for (const [i, folder] of folders.entries())
    runs.push({
      name: names[i],
      config: (await readDescription(folder))?.config ?? {},
      steps: await readTimedSteps(folder),
      rollouts: await readAllRollouts(folder),
    });
  const { numSteps, numTraces } = await writeTrackio(out, runs, { project });
  log(`${out}: ${numSteps} steps and ${numTraces} rollouts of ${names.join(', ')}. To see them:`);
  const environment = `TRACKIO_DIR=${shellWord(path.resolve(out))}`;
  log(
    `  ${environment} python3 -c "from trackio.sqlite_storage import SQLiteStorage; SQLiteStorage.import_from_parquet()"`,
  );
  log(`  ${environment} trackio show --project ${project}`);
}

const trackioCommand = (): Command =>
  new Command('trackio')
    .description('write training metrics and rollouts as trackio’s tables')
    .argument('<runs...>', 'output folders of `train`')
    .requiredOption('-o, --out <folder>', 'folder for the Parquet files, trackio’s TRACKIO_DIR')
    .option('--project <name>', 'trackio’s project', 'parallelsearch')
    .action(runTrackio);

/** A fixed name, so that a later export replaces an earlier one. */
const EVENT_FILE = 'events.out.tfevents.0000000000.parallelsearch';
/** Prefix of training metrics in Hugging Face's trainer and TRL. */
const TAG_PREFIX = 'train/';

/**
 * A run's metrics with the time of each step (seconds since 1970): the file's time minus
 * the duration of later steps.
 * @throws Error for a folder without metrics
 */
async function readTimedSteps(folder: string): Promise<(StepMetrics & { wallTime: number })[]> {
  const file = path.join(folder, METRICS_FILE);
  if (!existsSync(file))
    throw new Error(
      `Expected ${folder} to be an output folder of \`train\`, but it has no metrics.jsonl.`,
    );
  const steps = await readSteps(folder);
  let wallTime = (await stat(file)).mtimeMs / 1000;
  const timed = steps.toReversed().map(({ step, metrics }) => {
    const one = { step, metrics, wallTime };
    wallTime -= (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0);
    return one;
  });
  return timed.reverse();
}

/** Writes an event file for each run, to its folder or to a folder in `out`. */
async function runTensorBoard(runs: readonly string[], { out }: { out?: string }): Promise<void> {
  const names = shortNames(runs);
  for (const [i, run] of runs.entries()) {
    const file = path.join(out === undefined ? run : path.join(out, names[i]), EVENT_FILE);
    const steps = await readTimedSteps(run);
    const events = steps.map(({ step, wallTime, metrics }): ScalarEvent => {
      const scalars = Object.entries(metrics).map(([name, value]) => [TAG_PREFIX + name, value]);
      return { step, wallTime, scalars: Object.fromEntries(scalars) as Record<string, number> };
    });
    await writeFileSafely(file, encodeEvents(events));
    log(`${steps.length} steps of ${run}: ${file}`);
  }
}

const tensorBoardCommand = (): Command =>
  new Command('tensorboard')
    .description('write training metrics as TensorBoard event files')
    .argument('<runs...>', 'output folders of `train`')
    .option('-o, --out <folder>', 'folder for the event files (default: in each run’s folder)')
    .action(runTensorBoard);
