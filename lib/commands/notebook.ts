/**
 * `parallelsearch notebook`: executes notebooks without Jupyter, renders them as pages,
 * and creates new ones.
 */
import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { errorText } from '../io/system-errors.js';
import { toTerminal, type Log } from '../notebook/kernel-outputs.js';
import { codeCells, readNotebook, type Notebook } from '../notebook/nbformat.js';
import { NotebookError, runNotebook, type RunResult } from '../notebook/runner.js';
import { importPath } from '../notebook/tslab.js';
import { choice, exitWith, collect, parseSeconds, shellWord, log } from './common/cli-utils.js';

const CACHE = path.join('runs', 'notebooks');

export interface NotebookRunSettings {
  param?: readonly string[];
  /** Seconds per cell. */
  timeout?: number;
  continue?: boolean;
  out?: string;
  input?: readonly string[];
  cache?: string | false;
  force?: boolean;
}

/** The output file of each notebook. @throws Error if two are the same */
function outputFiles(files: readonly string[], out: string | undefined): string[] {
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
    throw new Error(`Expected notebooks with different names for --out, but two are ${twice}.`);
  return outputs;
}

/**
 * Runs notebooks in order and writes them with their outputs. Failures go to stderr with
 * the cell's source; without `continue`, the first one ends the run.
 * @returns the exit code: 1 if a cell or notebook failed
 */
export async function runNotebooks(
  files: readonly string[],
  settings: NotebookRunSettings,
  log: Log = toTerminal,
): Promise<number> {
  const started = performance.now();
  const outputs = outputFiles(files, settings.out);
  let [passed, cached, failed] = [0, 0, 0];
  for (const [i, file] of files.entries()) {
    if (failed > 0 && !settings.continue) break;
    const done = await attempt(file, outputs[i], settings, log);
    for (const { message } of done.failures) log(`\n${message}\n\n`, 'stderr');
    if (done.cached) cached++;
    if (done.failures.length > 0) failed++;
    else passed++;
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
    const failure =
      error instanceof NotebookError
        ? error
        : new Error(`${file} did not run: ${errorText(error)}`, { cause: error });
    return { cached: false, failures: [failure] };
  }
}

type Format = (notebook: Notebook, folder: string) => Promise<string>;
const FORMATS: Readonly<Record<string, Format>> = {
  page: async (notebook, folder) =>
    (await (await import('../pages/notebook/page.js')).reportHtml(notebook, folder)).html,
  observable: async (notebook) =>
    (await import('../pages/notebook/observable.js')).observableHtml(notebook),
};

interface RenderSettings extends Pick<NotebookRunSettings, 'param' | 'timeout'> {
  out?: string;
  to?: string;
  run?: boolean;
}

/**
 * Renders a notebook with its outputs as one page, or in another format.
 * @param out the page or an existing folder. Default: next to the notebook
 * @returns the page's file
 * @throws NotebookError if a cell fails
 */
async function renderNotebook(
  file: string,
  { run, param, timeout, to = 'page', out = path.dirname(file) }: RenderSettings,
): Promise<string> {
  const isFolder = statSync(out, { throwIfNoEntry: false })?.isDirectory();
  const ending = to === 'page' ? '.html' : `.${to}.html`;
  const page = isFolder ? path.join(out, path.basename(file).replace(/(\.ipynb)?$/, ending)) : out;
  const cellTimeoutMs = timeout === undefined ? undefined : timeout * 1000;
  const { notebook } =
    run || param
      ? await runNotebook(file, { parameters: param, cellTimeoutMs })
      : { notebook: readNotebook(file) };
  await writeFileSafely(page, await FORMATS[to](notebook, path.dirname(file)));
  const cells = codeCells(notebook);
  if (cells.length > 0 && cells.every(({ outputs }) => outputs.length === 0))
    toTerminal(
      `${file} has no outputs, so the page has none either. Execute it with --run.\n`,
      'stderr',
    );
  return page;
}

/** Whether notebooks in a folder can import this package by name. */
const isInstalled = (folder: string): boolean =>
  existsSync(path.join(folder, 'node_modules', 'parallelsearch', 'package.json')) ||
  (path.dirname(folder) !== folder && isInstalled(path.dirname(folder)));

/** The command that starts this program from the working folder. */
const commandHere = (): string =>
  isInstalled(path.resolve()) || !path.relative(packagePath(), '').startsWith('..')
    ? 'npx parallelsearch'
    : `node ${shellWord(packagePath('dist', 'cli.js'))}`;

/** Creates a working notebook and returns its file. @throws Error if it exists */
export async function newNotebook(name: string): Promise<string> {
  const file = path.resolve(name.replace(/(\.ipynb)?$/, '.ipynb'));
  if (existsSync(file))
    throw new Error(
      `Expected a new file, but ${file} exists. Choose another name, or remove it first.`,
    );
  const folder = path.dirname(file);
  const [main, report] = ['parallelsearch', 'parallelsearch/report'].map((name) =>
    isInstalled(folder) ? name : importPath(name, folder),
  );
  const template = await readFile(packagePath('data', 'templates', 'notebook.ipynb'), 'utf8');
  const text = template
    .replace("'parallelsearch'", () => `'${main}'`)
    .replace("'parallelsearch/report'", () => `'${report}'`)
    .replace('TITLE', () => JSON.stringify(path.basename(file, '.ipynb')).slice(1, -1));
  await writeFileSafely(file, text);
  return file;
}

export function notebookCommand(): Command {
  const notebook = new Command('notebook').description(
    'execute notebooks (notebook run), render them as pages (notebook render), create new ones (notebook new)',
  );
  notebook
    .command('run')
    .description('execute notebooks with the TypeScript kernel and save their outputs')
    .argument('<files...>', 'notebooks (.ipynb)')
    .option(
      '-p, --param <name=value>',
      'set a variable of the cell tagged "parameters"; repeatable',
      collect,
    )
    .option('--timeout <seconds>', 'time limit per cell (default: 600)', parseSeconds)
    .option('--continue', 'continue after failed cells and notebooks')
    .option('--out <path>', 'folder, or .ipynb file for one notebook (default: in place)')
    .option(
      '--input <path>',
      'file or folder that cells read; reuses outputs while it is unchanged; repeatable',
      collect,
    )
    .option('--cache <folder>', `folder of outputs of unchanged notebooks (default: ${CACHE})`)
    .option('--no-cache', 'neither reuse nor store outputs')
    .option('--force', 'run even if nothing has changed')
    .addHelpText(
      'after',
      `
papermill's \`-p NAME VALUE\` is \`-p NAME=VALUE\` here; a number, a boolean, a list or an object is
read as the type that the cell tagged "parameters" declares. Cells tagged "skip-execution" are not
run, cells tagged "raises-exception" may fail.`,
    )
    .action(exitWith(runNotebooks));
  notebook
    .command('render')
    .description('render a notebook with its outputs as one HTML file')
    .argument('<file>', 'notebook (.ipynb)')
    .option('-o, --out <path>', 'page or folder (default: next to the notebook)')
    .addOption(
      choice(
        '--to <format>',
        'an offline page, or a notebook for Observable Notebook Kit, which draws its charts',
        Object.keys(FORMATS),
        'page',
      ),
    )
    .option('--run', 'execute it first, without changing the file')
    .option('-p, --param <name=value>', 'as in `notebook run`; implies --run; repeatable', collect)
    .option('--timeout <seconds>', 'time limit per cell, with --run (default: 600)', parseSeconds)
    .action(async (file: string, settings: RenderSettings) =>
      log(await renderNotebook(file, settings)),
    );
  notebook
    .command('new')
    .description('create a working notebook: a question, a data frame, a chart')
    .argument('<name>', 'file, with or without .ipynb; never overwritten')
    .action(async (name: string) => {
      const file = await newNotebook(name);
      const word = shellWord(path.relative('', file));
      log(`Created ${file}. Next:
  ${commandHere()} notebook run ${word}   # executes it
  ${commandHere()} lab ${word}            # opens it in JupyterLab`);
    });
  return notebook;
}
