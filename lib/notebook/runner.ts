/** Executes notebooks headlessly through tslab's real kernel and fails where the kernel itself would keep silent. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { contentHash, declaredInputs, rememberOutputs, restoreOutputs, type Timing } from './cache.js';
import {
  errorOutput,
  failureOf,
  hasUnhandled,
  NotebookError,
  stderrOf,
  type NumberedCell,
} from './failure.js';
import { startKernel, type Kernel } from './kernel.js';
import { createLiveLog, type LiveLog, type Log } from './live.js';
import { codeCells, readNotebook, textOf, writeNotebook, type Notebook } from './nbformat.js';
import { collectOutputs, type OutputCollector } from './outputs.js';
import { injectParameters, parseParameters, textParameters, type Parameters } from './parameters.js';
import { KernelError } from './process.js';

export { NotebookError } from './failure.js';

export interface RunOptions {
  /** Values for the cell tagged `parameters`; a list of `name=value` is read by the types declared there. */
  parameters?: Parameters | readonly string[];
  /**
   * Where the executed notebook goes; absent: it is only returned. Written when every cell has passed, with `keepGoing`
   * in any case.
   */
  output?: string;
  /** The kernel's working folder; default: the notebook's, as in Jupyter. */
  cwd?: string;
  /** Longest time for one cell; default 10 minutes. */
  cellTimeoutMs?: number;
  /** Goes on after a cell that fails; the result names the failures. A kernel that died or hangs ends the run all the same. */
  keepGoing?: boolean;
  /**
   * Where outputs are remembered and taken from; absent: every run is a real one. So it is for a notebook of which
   * neither its metadata nor `inputs` say what it reads.
   */
  cache?: string;
  /** Runs in any case, and remembers the new outputs. */
  force?: boolean;
  /** Files and folders that cells read, relative to `cwd`, beside those that the notebook declares in its metadata. */
  inputs?: readonly string[];
  /** Progress and live output; default: standard error and standard output. */
  log?: Log;
}

export interface RunResult extends Timing {
  notebook: Notebook;
  /** Cells that failed, in order; always empty without `keepGoing`. */
  failures: NotebookError[];
  /** Whether the outputs (and the times) are those of an earlier run of the same content. */
  cached: boolean;
}

/** How long a rejection may take to show after the last cell. */
const SETTLE_MS = 200;

const toTerminal: Log = (text, stream) => void process[stream].write(text);

/**
 * Runs all code cells of a notebook in order. Rejects with a {@link NotebookError} when a cell throws, does not
 * compile, leaves a rejection unhandled, takes too long or kills the kernel. tslab reports none of these by name: the
 * reply to a failed cell carries no text, which is on standard error, and unhandled rejections are only logged.
 */
export async function runNotebook(file: string, options: RunOptions = {}): Promise<RunResult> {
  const live = createLiveLog(options.log ?? toTerminal);
  const { notebook, parameters } = prepared(readNotebook(file), options.parameters ?? {});
  const cwd = path.resolve(options.cwd ?? path.dirname(file));
  const inputs = inputsOf(notebook, textParameters(notebook, parameters), options.inputs, cwd);
  const { force, output } = options;
  const cache = inputs && options.cache;
  const hash = cache ? await contentHash(notebook, { cwd, inputs }) : '';
  const remembered = cache && !force ? await restoreOutputs(cache, hash, notebook) : null;
  if (remembered) live.progress(`${file}: unchanged, outputs of the run ${hash}`);
  const run = remembered
    ? { ...remembered, failures: [] }
    : await execute(notebook, { file, cwd, live, options });
  if (cache && !remembered && run.failures.length === 0) await rememberOutputs(cache, hash, notebook, run);
  if (output) await writeNotebook(output, notebook);
  return { notebook, ...run, cached: remembered !== null };
}

/** The notebook with its parameters in and all outputs out. */
function prepared(
  notebook: Notebook,
  given: Parameters | readonly string[],
): { notebook: Notebook; parameters: Parameters } {
  const isList = (value: Parameters | readonly string[]): value is readonly string[] => Array.isArray(value);
  const parameters = isList(given) ? parseParameters(given, notebook) : given;
  const injected = injectParameters(notebook, parameters);
  for (const cell of codeCells(injected)) Object.assign(cell, { outputs: [], execution_count: null });
  return { notebook: injected, parameters };
}

/** What a notebook reads, as its metadata and `given` say; null when neither says anything. */
function inputsOf(
  notebook: Notebook,
  texts: ReadonlyMap<string, string>,
  given: readonly string[] | undefined,
  cwd: string,
): string[] | null {
  const declared = declaredInputs(notebook, texts);
  const missing = given?.find((input) => !existsSync(path.resolve(cwd, input)));
  if (missing !== undefined) throw new Error(`Expected input ${missing} to be a file or folder in ${cwd}.`);
  return declared || given ? [...(declared ?? []), ...(given ?? [])] : null;
}

type Run = Timing & { failures: NotebookError[] };

/** Runs the cells in a kernel of their own. */
async function execute(
  notebook: Notebook,
  { file, cwd, live, options }: { file: string; cwd: string; live: LiveLog; options: RunOptions },
): Promise<Run> {
  const started = performance.now();
  const outputs = collectOutputs();
  live.progress(`${file}: starting the TypeScript kernel`);
  const kernel = await startKernel({
    cwd,
    onOutput: (id, message) => {
      outputs.add(id, message);
      live.output(message);
    },
  });
  try {
    const { cellTimeoutMs: timeoutMs = 600_000, keepGoing = false } = options;
    const run = await runCells(notebook, { file, kernel, outputs, live, timeoutMs, keepGoing });
    const elapsedMs = performance.now() - started;
    live.progress(`${file}: ${numCells(run.cellMs.length)} in ${seconds(elapsedMs)}`);
    return { ...run, elapsedMs };
  } finally {
    await kernel.shutdown();
  }
}

interface RunContext {
  file: string;
  kernel: Kernel;
  outputs: OutputCollector;
  live: LiveLog;
  timeoutMs: number;
  keepGoing: boolean;
}

/** Runs cell after cell; without `keepGoing` it throws the first failure. */
async function runCells(notebook: Notebook, context: RunContext): Promise<Omit<Run, 'elapsedMs'>> {
  const { file, outputs, live, keepGoing } = context;
  const cells = codeCells(notebook).map((cell, i) => ({ cell, number: i + 1 }));
  const failures = new Map<number, NotebookError>();
  const note = (number: number, failure: NotebookError | undefined): void => {
    if (failure && !keepGoing) throw failure;
    if (failure) failures.set(number, failure);
  };
  const cellMs: number[] = [];
  for (const numbered of cells) {
    const source = textOf(numbered.cell.source);
    live.progress(`[${numbered.number}/${cells.length}] ${source.split('\n')[0]}`);
    const started = performance.now();
    const { failure, isKernelLost } = source.trim() === '' ? {} : await runCell(numbered, context);
    note(numbered.number, failure);
    cellMs.push(performance.now() - started);
    live.progress(`        ${failure ? `failed (${failure.reason}), ` : ''}${seconds(cellMs.at(-1)!)}`);
    if (isKernelLost) {
      const left = numCells(cells.length - numbered.number);
      live.progress(`${file}: the kernel is gone; ${left} after it not run`);
      break;
    }
  }
  await sleep(SETTLE_MS);
  for (const numbered of cells) {
    const { cell, number } = numbered;
    if (!failures.has(number)) note(number, unhandledIn(numbered, context));
    const failure = failures.get(number);
    cell.outputs = [...outputs.of(cell.id!), ...(failure ? [errorOutput(failure)] : [])];
  }
  return { cellMs, failures: [...failures.values()].sort((a, b) => a.cell.number - b.cell.number) };
}

/** Runs one cell; `isKernelLost`: the kernel can run no other. */
async function runCell(
  numbered: NumberedCell,
  context: RunContext,
): Promise<{ failure?: NotebookError; isKernelLost?: boolean }> {
  const { cell } = numbered;
  const { kernel, outputs, file, timeoutMs } = context;
  const said = (): string => stderrOf(outputs.of(cell.id!));
  try {
    const { ok, count } = await kernel.execute(textOf(cell.source), { timeoutMs, id: cell.id! });
    cell.execution_count = count;
    if (ok) return { failure: unhandledIn(numbered, context) };
    return { failure: failureOf(file, numbered, 'error', said() || 'The kernel gave no reason.') };
  } catch (error) {
    if (!(error instanceof KernelError) || error.reason === 'start') throw error;
    const text = [error.message, said()].filter(Boolean).join('\n');
    const reason = error.reason === 'died' ? 'died' : 'timeout';
    return { failure: failureOf(file, numbered, reason, text), isKernelLost: error.reason !== 'interrupted' };
  }
}

/** The failure of a cell that left a rejection or an exception to nobody, if it did. */
function unhandledIn(numbered: NumberedCell, { outputs, file }: RunContext): NotebookError | undefined {
  const shown = outputs.of(numbered.cell.id!);
  return hasUnhandled(shown) ? failureOf(file, numbered, 'unhandled', stderrOf(shown)) : undefined;
}

const numCells = (count: number): string => `${count} ${count === 1 ? 'cell' : 'cells'}`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
