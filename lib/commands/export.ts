/**
 * `parallelsearch export REPORT...`: charts and tables of reports as files for a paper.
 */
import path from 'node:path';
import { Command } from 'commander';
import {
  EXPORT_FORMATS,
  writeArtefact,
  type Artefact,
  type ExportFormat,
} from '../report/publication.js';
import { listReports, readReportInfo } from '../experiments/reports.js';
import { readNotebook } from '../notebook/nbformat.js';
import { notebookFigures } from '../report/notebook-page.js';
import { choice, log as printLine } from './cli-utils.js';
import { exportInteropCommands } from './export-interop.js';
import { tensorBoardCommand, trackioCommand } from './export-metrics.js';

export interface ExportSettings {
  /** Gets one folder per report. */
  out: string;
  format: readonly ExportFormat[];
  reports: string;
  /** Default: stderr. */
  log?: (line: string) => void;
}

const FORMATS = [...new Set(Object.values(EXPORT_FORMATS).flat())];
/** Formats that need no browser. */
const DEFAULT_FORMATS = FORMATS.filter((format) => format !== 'pdf' && format !== 'png');

interface Source {
  name: string;
  figures: readonly Artefact[];
}

/** The figures of a report by its name, or of an executed notebook (.ipynb). */
function readSource(report: string, folder: string): Source {
  const source = report.endsWith('.ipynb')
    ? { name: path.basename(report, '.ipynb'), figures: notebookFigures(readNotebook(report)) }
    : readReportInfo(folder, report);
  if (source.figures.length === 0)
    throw new Error(`Expected charts or tables in ${report}, but there are none.`);
  return source;
}

function allSources(folder: string): Source[] {
  const reports = listReports(folder).filter(({ figures }) => figures.length > 0);
  if (reports.length > 0) return reports;
  throw new Error(
    `Expected reports in ${folder}, but found none. Run "npm start" or set --reports.`,
  );
}

/**
 * Exports the charts and tables of reports, `all` for all of the folder. Returns the
 * files.
 */
export async function runExport(
  reports: readonly string[],
  settings: ExportSettings,
): Promise<string[]> {
  const { out, format, reports: folder, log = printLine } = settings;
  const sources: Source[] = [];
  for (const report of reports)
    sources.push(...(report === 'all' ? allSources(folder) : [readSource(report, folder)]));
  const written: string[] = [];
  for (const { name, figures } of sources) {
    const target = path.join(out, name);
    const files: string[] = [];
    for (const figure of figures) files.push(...(await writeArtefact(figure, target, format)));
    log(`${name}: ${files.length} files from ${figures.length} charts and tables in ${target}`);
    written.push(...files);
  }
  return written;
}

/** The `export` command; `reports` is its default subcommand. */
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
      'export reports for a paper, training metrics for TensorBoard or trackio (export tensorboard, export trackio), a policy for other engines (export hf), a training for verl, TRL or plain PyTorch (export verl, export trl, export torch), or rollouts for verifiers (export verifiers)',
    )
    .usage(
      '<reports...> --out <folder> | tensorboard <runs...> | trackio <runs...> | hf <folder> | verl <folder> | trl <folder> | torch <folder> | verifiers <files...>',
    )
    .addCommand(reports, { isDefault: true });
  for (const subcommand of [tensorBoardCommand(), trackioCommand(), ...exportInteropCommands()])
    command.addCommand(subcommand);
  return command;
}
