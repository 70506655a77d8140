/**
 * `parallelsearch export REPORT...`: charts and tables of report pages as files for a
 * paper.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, Option } from 'commander';
import {
  EXPORT_FORMATS,
  readArtefacts,
  writeArtefact,
  type Artefact,
  type ExportFormat,
} from '../report/publication.js';
import { log as printLine } from './cli-utils.js';
import { exportInteropCommands } from './export-interop.js';
import { tensorBoardCommand } from './tensorboard.js';

export interface ExportSettings {
  /** The folder that gets a folder for each report. */
  out: string;
  format: readonly ExportFormat[];
  /** Where reports named without ending lie. */
  reports: string;
  /** Where the result goes; the process's stderr by default. */
  log?: (line: string) => void;
}

const FORMATS = [...new Set(Object.values(EXPORT_FORMATS).flat())];
/** Those that need no browser. */
const DEFAULT_FORMATS = FORMATS.filter((format) => format !== 'pdf' && format !== 'png');

interface Page {
  name: string;
  artefacts: Artefact[];
}

function readPage(file: string): Page {
  return {
    name: path.basename(file, '.html'),
    artefacts: readArtefacts(readFileSync(file, 'utf8')),
  };
}

/** All pages of the folder that have charts or tables. */
function allPages(folder: string): Page[] {
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => file.endsWith('.html'))
    : [];
  const pages = files
    .map((file) => readPage(path.join(folder, file)))
    .filter((page) => page.artefacts.length > 0);
  if (pages.length === 0)
    throw new Error(
      `Expected reports in ${folder}, but found none. Run "npm start", or name --reports.`,
    );
  return pages;
}

/** A page by file or by name. Throws when it is missing or has nothing to export. */
function onePage(report: string, folder: string): Page {
  const file = [report, path.join(folder, `${report}.html`)].find((place) => existsSync(place));
  if (!file)
    throw new Error(
      `Expected a report ${report}, but there is neither this file nor one of this name in ${folder}.`,
    );
  const page = readPage(file);
  if (page.artefacts.length === 0)
    throw new Error(`Expected ${file} to be a report with charts or tables, but it has none.`);
  return page;
}

/**
 * Exports the charts and tables of pages, `all` for all of the folder. Returns the files'
 * names.
 */
export async function runExport(
  reports: readonly string[],
  settings: ExportSettings,
): Promise<string[]> {
  const { out, format, reports: folder, log = printLine } = settings;
  const pages = reports.flatMap((report) =>
    report === 'all' ? allPages(folder) : [onePage(report, folder)],
  );
  const written: string[] = [];
  for (const { name, artefacts } of pages) {
    const target = path.join(out, name);
    const files: string[] = [];
    for (const artefact of artefacts)
      files.push(...(await writeArtefact(artefact, target, format)));
    log(`${name}: ${files.length} files of ${artefacts.length} charts and tables in ${target}`);
    written.push(...files);
  }
  return written;
}

/**
 * The `export` command: charts and tables of reports, unless it is told something else.
 */
export function exportCommand(): Command {
  const reports = new Command('reports')
    .description(
      'write the charts and tables of reports as files for a paper (LaTeX, Markdown, CSV, Vega-Lite, SVG)',
    )
    .argument('<reports...>', 'pages (.html), names of reports such as main-results, or all')
    .requiredOption('-o, --out <folder>', 'gets a folder for each report')
    .addOption(
      new Option('--format <formats...>', 'kinds of files; pdf and png need Chromium')
        .choices(FORMATS)
        .default(DEFAULT_FORMATS),
    )
    .option('--reports <folder>', 'where reports named without ending lie', 'reports')
    .action(async (names: string[], settings: ExportSettings) => {
      await runExport(names, settings);
    });
  const command = new Command('export')
    .description(
      'write reports as files for a paper, the metrics of trainings for TensorBoard (export tensorboard), a policy for other engines (export hf), or a training for verl or TRL (export verl, export trl)',
    )
    .usage(
      '<reports...> --out <folder> | tensorboard <runs...> | hf <folder> | verl <folder> | trl <folder>',
    )
    .addCommand(reports, { isDefault: true });
  for (const subcommand of [tensorBoardCommand(), ...exportInteropCommands()])
    command.addCommand(subcommand);
  return command;
}
