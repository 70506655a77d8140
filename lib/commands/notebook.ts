/**
 * `parallelsearch notebook`: executes notebooks without Jupyter or Python, writes them as
 * pages, starts new ones.
 */
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { codeCells, readNotebook } from '../notebook/nbformat.js';
import { NotebookError, runNotebook, type RunResult } from '../notebook/runner.js';
import type { Log } from '../notebook/outputs.js';
import { collect, parseSeconds, log } from './cli-utils.js';

/** Where outputs are remembered, below the working folder. */
const CACHE = path.join('runs', 'notebooks');

export interface NotebookRunSettings {
  /** `name=value`, read by the types that the notebook declares. */
  param?: readonly string[];
  /** Seconds a cell. */
  timeout?: number;
  /** Goes on after cells and notebooks that fail. */
  continue?: boolean;
  /**
   * A folder, or for one notebook a file that ends in `.ipynb`; absent: the notebooks
   * themselves.
   */
  out?: string;
  input?: readonly string[];
  /** Where outputs are remembered; false: nowhere. */
  cache?: string | false;
  force?: boolean;
}

/** Where each notebook is written. Throws when two would be written to one file. */
function outputsOf(files: readonly string[], out: string | undefined): string[] {
  if (out === undefined) return [...files];
  if (out.endsWith('.ipynb')) {
    if (files.length === 1) return [out];
    throw new Error(
      `Expected --out to be a folder for ${files.length} notebooks, but got ${out}. Name a folder.`,
    );
  }
  const outputs = files.map((file) => path.join(out, path.basename(file)));
  const twice = outputs.find((output, i) => outputs.indexOf(output) !== i);
  if (twice)
    throw new Error(`Expected notebooks of different names for --out, but two are ${twice}.`);
  return outputs;
}

const toTerminal: Log = (text, stream) => void process[stream].write(text);

/**
 * Runs notebooks one after the other and writes each with its outputs. Failures go to
 * stderr with the cell's source. Returns the exit code: 0, or 1 when a cell or a notebook
 * failed; without `continue` the first one ends the run.
 */
export async function runNotebooks(
  files: readonly string[],
  settings: NotebookRunSettings,
  log: Log = toTerminal,
): Promise<number> {
  const started = performance.now();
  const outputs = outputsOf(files, settings.out);
  let [passed, cached, failed] = [0, 0, 0];
  for (const [i, file] of files.entries()) {
    const done = await attempt(file, outputs[i], settings, log);
    for (const { message } of done.failures) log(`\n${message}\n\n`, 'stderr');
    if (done.cached) cached++;
    if (done.failures.length === 0) passed++;
    else {
      failed++;
      if (!settings.continue) break;
    }
  }
  const skipped = files.length - passed - failed;
  const notes = [
    `${passed} passed${cached > 0 ? ` (${cached} unchanged)` : ''}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} not run`] : []),
    `${((performance.now() - started) / 1000).toFixed(1)} s`,
  ];
  log(`Notebooks: ${notes.join(', ')}\n`, 'stderr');
  return failed > 0 ? 1 : 0;
}

/** Runs one notebook; whatever it rejects with is a failure of that notebook. */
async function attempt(
  file: string,
  output: string,
  { param, timeout, continue: keepGoing, cache = CACHE, force, input }: NotebookRunSettings,
  log: Log,
): Promise<Pick<RunResult, 'cached'> & { failures: Error[] }> {
  try {
    return await runNotebook(file, {
      output,
      log,
      parameters: param,
      keepGoing,
      force,
      cellTimeoutMs: timeout === undefined ? undefined : timeout * 1000,
      cache: cache === false ? undefined : cache,
      inputs: input?.map((each) => path.resolve(each)),
    });
  } catch (error) {
    if (error instanceof NotebookError) return { cached: false, failures: [error] };
    const message = error instanceof Error ? error.message : String(error);
    return {
      cached: false,
      failures: [new Error(`${file} did not run: ${message}`, { cause: error })],
    };
  }
}

interface RenderSettings extends Pick<NotebookRunSettings, 'param' | 'timeout'> {
  out?: string;
  /** Executes it first; the notebook itself stays as it is. */
  run?: boolean;
}

/**
 * Writes a notebook with its outputs as one page.
 * @param out the page, or a folder that is there for it; by default the page lies beside
 * the notebook
 * @returns the page's name
 * @throws NotebookError where a cell fails
 */
export async function renderNotebook(
  file: string,
  { run, param, timeout, out = path.dirname(file) }: RenderSettings,
  log: Log = toTerminal,
): Promise<string> {
  const isFolder = statSync(out, { throwIfNoEntry: false })?.isDirectory();
  const page = isFolder ? path.join(out, path.basename(file).replace(/(\.ipynb)?$/, '.html')) : out;
  const cellTimeoutMs = timeout === undefined ? undefined : timeout * 1000;
  const { notebook } =
    run || param
      ? await runNotebook(file, { parameters: param, cellTimeoutMs, log })
      : { notebook: readNotebook(file) };
  const { reportHtml } = await import('../report/html.js');
  await writeFileSafely(page, (await reportHtml(notebook)).html);
  const cells = codeCells(notebook);
  if (cells.length > 0 && cells.every(({ outputs }) => outputs.length === 0))
    log(
      `${file} has no outputs, and so the page has none. Execute it first with --run.\n`,
      'stderr',
    );
  return page;
}

/** Whether cells in a folder find this package by its name. */
const isInstalled = (folder: string): boolean =>
  existsSync(path.join(folder, 'node_modules', 'parallelsearch', 'package.json')) ||
  (path.dirname(folder) !== folder && isInstalled(path.dirname(folder)));

/**
 * Writes a notebook that runs as it is. Returns the file's name. @throws Error where it
 * is there already
 */
export async function newNotebook(name: string): Promise<string> {
  const file = path.resolve(name.replace(/(\.ipynb)?$/, '.ipynb'));
  if (existsSync(file))
    throw new Error(
      `Expected ${file} not to be there, but it is. Choose another name, or remove it first.`,
    );
  const dist = path.relative(path.dirname(file), packagePath('dist')).split(path.sep).join('/');
  const places = [`${dist}/index.js`, `${dist}/report/index.js`];
  const [main, report] = isInstalled(path.dirname(file))
    ? ['parallelsearch', 'parallelsearch/report']
    : places.map((place) => (place.startsWith('.') ? place : `./${place}`));
  const template = await readFile(packagePath('data', 'templates', 'notebook.ipynb'), 'utf8');
  const text = template
    .replace('TITLE', JSON.stringify(path.basename(file, '.ipynb')).slice(1, -1))
    .replace("'parallelsearch'", `'${main}'`)
    .replace("'parallelsearch/report'", `'${report}'`);
  await writeFileSafely(file, text);
  return file;
}

/** The `notebook` command with its subcommands. */
export function notebookCommand(): Command {
  const notebook = new Command('notebook').description(
    'execute notebooks, write them as pages, start new ones: notebook run, notebook render, notebook new',
  );
  notebook
    .command('run')
    .description(
      'execute notebooks cell by cell through the TypeScript kernel and keep their outputs',
    )
    .argument('<files...>', 'notebooks (.ipynb)')
    .option(
      '-p, --param <name=value>',
      'value for a name of the cell tagged "parameters"; repeatable',
      collect,
    )
    .option('--timeout <seconds>', 'longest time for one cell (default: 600)', parseSeconds)
    .option(
      '--continue',
      'go on after cells and notebooks that fail, and keep what the others show',
    )
    .option('--out <path>', 'a folder, or an .ipynb file for one notebook, instead of in place')
    .option(
      '--input <path>',
      'a file or folder that cells read; unchanged, it need not run again; repeatable',
      collect,
    )
    .option('--cache <folder>', `where outputs of unchanged notebooks are kept (default: ${CACHE})`)
    .option('--no-cache', 'neither take outputs from there nor keep them')
    .option('--force', 'run even when nothing has changed')
    .action(async (files: string[], settings: NotebookRunSettings) => {
      process.exitCode = await runNotebooks(files, settings);
    });
  notebook
    .command('render')
    .description(
      'write a notebook as one HTML page that works offline, with the outputs that it has; with --run, executed first',
    )
    .argument('<file>', 'a notebook (.ipynb)')
    .option('-o, --out <path>', 'the page, or a folder for it; by default beside the notebook')
    .option('--run', 'execute it first; the notebook itself stays as it is')
    .option('-p, --param <name=value>', 'as of `notebook run`; implies --run; repeatable', collect)
    .option(
      '--timeout <seconds>',
      'longest time for one cell, with --run (default: 600)',
      parseSeconds,
    )
    .action(async (file: string, settings: RenderSettings) =>
      log(await renderNotebook(file, settings)),
    );
  notebook
    .command('new')
    .description('start a notebook that runs as it is: a question, a data frame, a chart')
    .argument('<name>', 'the file, with or without .ipynb; one that is there is never overwritten')
    .action(async (name: string) => log(await newNotebook(name)));
  return notebook;
}
