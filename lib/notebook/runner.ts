/**
 * Executes notebooks headlessly through tslab's real kernel and fails where the kernel
 * itself would keep silent.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  contentHash,
  declaredInputs,
  rememberOutputs,
  restoreOutputs,
  type Timing,
} from './cache.js';
import {
  errorOutput,
  hasUnhandled,
  NotebookError,
  stderrOf,
  type FailureReason,
} from './failure.js';
import { KernelError, startKernel, type KernelOutput } from './kernel.js';
import {
  codeCells,
  readNotebook,
  textOf,
  writeNotebook,
  type CodeCell,
  type Notebook,
} from './nbformat.js';
import { createLiveLog, outputCollector, type LiveLog, type Log } from './outputs.js';
import { withParameters, type Parameters } from './parameters.js';

export { NotebookError } from './failure.js';

export interface RunOptions {
  /**
   * Values for the cell tagged `parameters`; a list of `name=value` is read by the types
   * declared there.
   */
  parameters?: Parameters | readonly string[];
  /**
   * Where the executed notebook goes; absent: it is only returned. Written when every
   * cell has passed, with `keepGoing` in any case.
   */
  output?: string;
  /** The kernel's working folder; default: the notebook's, as in Jupyter. */
  cwd?: string;
  /** Longest time for one cell; default 10 minutes. */
  cellTimeoutMs?: number;
  /**
   * Goes on after a cell that fails; the result names the failures. A kernel that died or
   * hangs ends the run all the same.
   */
  keepGoing?: boolean;
  /**
   * Where outputs are remembered and taken from; absent: every run is a real one. So it
   * is for a notebook of which neither its metadata nor `inputs` say what it reads.
   */
  cache?: string;
  /** Runs in any case, and remembers the new outputs. */
  force?: boolean;
  /**
   * Files and folders that cells read, relative to `cwd`, beside those that the notebook
   * declares in its metadata.
   */
  inputs?: readonly string[];
  /** Progress and live output; default: standard error and standard output. */
  log?: Log;
}

export interface RunResult extends Timing {
  notebook: Notebook;
  /** Cells that failed, in order; always empty without `keepGoing`. */
  failures: NotebookError[];
  /**
   * Whether the outputs (and the times) are those of an earlier run of the same content.
   */
  cached: boolean;
}

/** How long a rejection may take to show after the last cell. */
const SETTLE_MS = 200;

const toTerminal: Log = (text, stream) => void process[stream].write(text);

/**
 * Runs all code cells of a notebook in order. Rejects with a {@link NotebookError} when
 * a cell throws, does not compile, leaves a rejection unhandled, takes too long or kills
 * the kernel. tslab reports none of these by name: the reply to a failed cell carries no
 * text, which is on standard error, and unhandled rejections are only logged.
 */
export async function runNotebook(file: string, options: RunOptions = {}): Promise<RunResult> {
  const { force, output, inputs: given } = options;
  const live = createLiveLog(options.log ?? toTerminal);
  const { notebook, texts } = withParameters(readNotebook(file), options.parameters ?? {});
  for (const cell of codeCells(notebook))
    Object.assign(cell, { outputs: [], execution_count: null });
  const cwd = path.resolve(options.cwd ?? path.dirname(file));
  const declared = declaredInputs(notebook, texts);
  const missing = given?.find((input) => !existsSync(path.resolve(cwd, input)));
  if (missing !== undefined)
    throw new Error(`Expected input ${missing} to be a file or folder in ${cwd}.`);
  const cache = declared || given ? options.cache : undefined;
  const inputs = [...(declared ?? []), ...(given ?? [])];
  const hash = cache ? await contentHash(notebook, { cwd, inputs }) : '';
  const remembered = cache && !force ? await restoreOutputs(cache, hash, notebook) : null;
  if (remembered) live.progress(`${file}: unchanged, outputs of the run ${hash}`);
  const run = remembered
    ? { ...remembered, failures: [] }
    : await execute(notebook, { file, cwd, live, options });
  if (cache && !remembered && run.failures.length === 0)
    await rememberOutputs(cache, hash, notebook, run);
  if (output) await writeNotebook(output, notebook);
  return { notebook, ...run, cached: remembered !== null };
}

type Run = Timing & Pick<RunResult, 'failures'>;

/**
 * Runs the cells in a kernel of their own; without `keepGoing` it throws the first
 * failure.
 */
async function execute(
  notebook: Notebook,
  { file, cwd, live, options }: { file: string; cwd: string; live: LiveLog; options: RunOptions },
): Promise<Run> {
  const { cellTimeoutMs: timeoutMs = 600_000, keepGoing = false } = options;
  const started = performance.now();
  const cells = codeCells(notebook);
  const collect = outputCollector();
  const failures = new Map<CodeCell, NotebookError>();
  const fail = (cell: CodeCell, reason: FailureReason, said: string): void => {
    const what = { number: cells.indexOf(cell) + 1, id: cell.id!, source: textOf(cell.source) };
    const failure = new NotebookError(file, what, reason, said);
    if (!keepGoing) throw failure;
    failures.set(cell, failure);
  };
  /** A cell that left a rejection or an exception to nobody has failed. */
  const failUnhandled = (cell: CodeCell): void => {
    if (hasUnhandled(cell.outputs)) fail(cell, 'unhandled', stderrOf(cell.outputs));
  };
  live.progress(`${file}: starting the TypeScript kernel`);
  const kernel = await startKernel(cwd);
  /** Runs one cell; false when the kernel can run no other. */
  const runCell = async (cell: CodeCell): Promise<boolean> => {
    const onOutput = (output: KernelOutput): void => {
      collect(cell.outputs, output);
      live.output(output);
    };
    try {
      const { ok, count } = await kernel.execute(textOf(cell.source), { timeoutMs, onOutput });
      cell.execution_count = count;
      if (ok) failUnhandled(cell);
      else fail(cell, 'error', stderrOf(cell.outputs) || 'The kernel gave no reason.');
      return true;
    } catch (error) {
      if (!(error instanceof KernelError) || error.reason === 'start') throw error;
      const said = [error.message, stderrOf(cell.outputs)].filter(Boolean).join('\n');
      fail(cell, error.reason === 'died' ? 'died' : 'timeout', said);
      return error.reason === 'interrupted';
    }
  };
  try {
    const cellMs: number[] = [];
    for (const [i, cell] of cells.entries()) {
      const source = textOf(cell.source);
      live.progress(`[${i + 1}/${cells.length}] ${source.split('\n')[0]}`);
      const begun = performance.now();
      const goesOn = source.trim() === '' || (await runCell(cell));
      cellMs.push(performance.now() - begun);
      const failure = failures.get(cell);
      live.progress(
        `        ${failure ? `failed (${failure.reason}), ` : ''}${seconds(cellMs[i])}`,
      );
      if (goesOn) continue;
      live.progress(
        `${file}: the kernel is gone; ${numCells(cells.length - i - 1)} after it not run`,
      );
      break;
    }
    await sleep(SETTLE_MS);
    for (const cell of cells) if (!failures.has(cell)) failUnhandled(cell);
    for (const [cell, failure] of failures) cell.outputs.push(errorOutput(failure));
    const elapsedMs = performance.now() - started;
    live.progress(`${file}: ${numCells(cellMs.length)} in ${seconds(elapsedMs)}`);
    return { elapsedMs, cellMs, failures: cells.flatMap((cell) => failures.get(cell) ?? []) };
  } finally {
    await kernel.shutdown();
  }
}

const numCells = (count: number): string => `${count} ${count === 1 ? 'cell' : 'cells'}`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
