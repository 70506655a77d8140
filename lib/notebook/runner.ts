/** Executes notebooks headlessly with tslab's kernel, and reports the errors it hides. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { plural } from '../text/english.js';
import { declaredInputs, hashNotebook, restoreOutputs, saveOutputs, type Timing } from './cache.js';
import {
  createLiveLog,
  outputCollector,
  stderrText,
  type LiveLog,
  toTerminal,
  type Log,
} from './kernel-outputs.js';
import { KernelError, startKernel, type Kernel, type KernelOutput } from './kernel.js';
import {
  codeCells,
  codeLanguage,
  hasTag,
  isTypeScript,
  readNotebook,
  joinLines,
  writeNotebook,
  type CodeCell,
  type Notebook,
  type CellOutput,
} from './nbformat.js';
import { withParameters, type Parameters } from './parameters.js';
import { cellError, hasUnhandled } from './tslab.js';

export interface RunOptions {
  /** Values for the cell tagged `parameters`, or `name=value` texts. */
  parameters?: Parameters | readonly string[];
  /** Where to write the notebook once every cell has passed; with `keepGoing`, always. */
  output?: string;
  /** The kernel's working folder. Default: the notebook's, as in Jupyter. */
  cwd?: string;
  /** A kernel to use, which is reset first and keeps running. Default: a new one. */
  kernel?: Kernel;
  /** Timeout of a cell. Default: 10 minutes. */
  cellTimeoutMs?: number;
  /** Continues after failed cells while the kernel lives; the result lists them. */
  keepGoing?: boolean;
  /**
   * Folder of cached outputs. Default: no cache, as for a notebook that declares no
   * inputs, neither in its metadata nor in `inputs`.
   */
  cache?: string;
  /** Runs even if outputs are cached. */
  force?: boolean;
  /** Files and folders that cells read, relative to `cwd`, besides declared ones. */
  inputs?: readonly string[];
  /** Receives progress and live output. Default: writes to stderr and stdout. */
  log?: Log;
}

export interface RunResult extends Timing {
  notebook: Notebook;
  /** Failed cells, in order; only with `keepGoing`. */
  failures: NotebookError[];
  /** Whether outputs and times come from the cache. */
  cached: boolean;
}

const isSkipped = (cell: CodeCell): boolean => hasTag(cell, 'skip-execution');

/** How long a rejection may take to appear after the last cell. */
const SETTLE_MS = 200;

function requireTypeScript(file: string, notebook: Notebook): void {
  if (isTypeScript(notebook)) return;
  const { kernelspec } = notebook.metadata;
  const kernel = kernelspec
    ? `${kernelspec.name} (${kernelspec.display_name})`
    : codeLanguage(notebook);
  throw new Error(
    `Expected ${file} to have the TypeScript kernel (tslab), but it has ${kernel}. Execute it with Jupyter: jupyter nbconvert --execute --inplace ${file}`,
  );
}

/**
 * Runs the code cells of a notebook in order, except those tagged `skip-execution`. As in
 * Jupyter, a cell tagged `raises-exception` may fail.
 * @throws NotebookError if a cell throws, does not compile, leaves a rejection unhandled,
 * takes too long or ends the kernel
 */
export async function runNotebook(file: string, options: RunOptions = {}): Promise<RunResult> {
  const { force, output, inputs = [] } = options;
  const live = createLiveLog(options.log ?? toTerminal);
  const original = readNotebook(file);
  requireTypeScript(file, original);
  const { notebook, texts } = withParameters(original, options.parameters ?? {});
  for (const cell of codeCells(notebook).filter((cell) => !isSkipped(cell)))
    Object.assign(cell, { outputs: [], execution_count: null });
  const cwd = path.resolve(options.cwd ?? path.dirname(file));
  const declared = declaredInputs(notebook, texts);
  const missing = inputs.find((input) => !existsSync(path.resolve(cwd, input)));
  if (missing !== undefined)
    throw new Error(`Expected input ${missing} to be a file or folder in ${cwd}.`);
  const cache = declared || options.inputs ? options.cache : undefined;
  const hash = cache
    ? await hashNotebook(notebook, { cwd, inputs: [...(declared ?? []), ...inputs] })
    : '';
  const remembered = cache && !force ? await restoreOutputs(cache, hash, notebook) : null;
  if (remembered) live.progress(`${file}: unchanged, outputs of the run ${hash}`);
  const run = remembered
    ? { ...remembered, failures: [] }
    : await execute(notebook, { file, cwd, live, options });
  if (cache && !remembered && run.failures.length === 0)
    await saveOutputs(cache, hash, notebook, run);
  if (output) await writeNotebook(output, notebook);
  return { notebook, ...run, cached: remembered !== null };
}

/** Runs the cells in a new kernel. @throws NotebookError unless `keepGoing` */
async function execute(
  notebook: Notebook,
  { file, cwd, live, options }: { file: string; cwd: string; live: LiveLog; options: RunOptions },
): Promise<Timing & Pick<RunResult, 'failures'>> {
  const { cellTimeoutMs: timeoutMs = 600_000, keepGoing = false } = options;
  const started = performance.now();
  const cells = codeCells(notebook);
  const collect = outputCollector();
  const failures = new Map<CodeCell, NotebookError>();
  const isExpected = (cell: CodeCell, reason: FailureReason): boolean =>
    hasTag(cell, 'raises-exception') && (reason === 'error' || reason === 'unhandled');
  const fail = (cell: CodeCell, reason: FailureReason, stderr: string): void => {
    const place = { number: cells.indexOf(cell) + 1, id: cell.id!, source: joinLines(cell.source) };
    const failure = new NotebookError(file, place, reason, stderr);
    if (!keepGoing && !isExpected(cell, reason)) throw failure;
    failures.set(cell, failure);
  };
  const failIfUnhandled = (cell: CodeCell): void => {
    const stderr = stderrText(cell.outputs);
    if (hasUnhandled(stderr)) fail(cell, 'unhandled', stderr);
  };
  if (!options.kernel) live.progress(`${file}: starting the TypeScript kernel`);
  const kernel = options.kernel ?? (await startKernel(cwd));
  await options.kernel?.reset();
  /** Runs a cell; returns whether the kernel can run another one. */
  const runCell = async (cell: CodeCell): Promise<boolean> => {
    const onOutput = (output: KernelOutput): void => {
      collect(cell.outputs, output);
      live.output(output);
    };
    try {
      const { ok, count } = await kernel.execute(joinLines(cell.source), { timeoutMs, onOutput });
      cell.execution_count = count;
      // The reply to a failed cell has no text: the error is on stderr.
      if (ok) failIfUnhandled(cell);
      else fail(cell, 'error', stderrText(cell.outputs) || 'The kernel gave no reason.');
      return true;
    } catch (error) {
      if (!(error instanceof KernelError) || error.reason === 'start') throw error;
      const texts = [error.message, stderrText(cell.outputs)].filter(Boolean);
      fail(cell, error.reason === 'died' ? 'died' : 'timeout', texts.join('\n'));
      return error.reason === 'interrupted';
    }
  };
  try {
    const cellMs: number[] = [];
    for (const [i, cell] of cells.entries()) {
      const source = joinLines(cell.source);
      live.progress(`[${i + 1}/${cells.length}] ${source.split('\n')[0]}`);
      if (isSkipped(cell)) {
        live.progress('        skipped');
        cellMs.push(0);
        continue;
      }
      const cellStarted = performance.now();
      const canContinue = source.trim() === '' || (await runCell(cell));
      cellMs.push(performance.now() - cellStarted);
      const failure = failures.get(cell);
      live.progress(
        `        ${failure ? `${isExpected(cell, failure.reason) ? 'raised' : 'failed'} (${failure.reason}), ` : ''}${seconds(cellMs[i])}`,
      );
      if (canContinue) continue;
      live.progress(`${file}: the kernel is gone; ${plural(cells.length - i - 1, 'cell')} not run`);
      break;
    }
    await sleep(SETTLE_MS);
    for (const cell of cells) if (!failures.has(cell) && !isSkipped(cell)) failIfUnhandled(cell);
    for (const [cell, failure] of failures) cell.outputs.push(errorOutput(failure));
    const elapsedMs = performance.now() - started;
    live.progress(`${file}: ${plural(cellMs.length, 'cell')} in ${seconds(elapsedMs)}`);
    const unexpected = cells.flatMap((cell) => {
      const failure = failures.get(cell);
      return failure && !isExpected(cell, failure.reason) ? [failure] : [];
    });
    return { elapsedMs, cellMs, failures: unexpected };
  } finally {
    if (!options.kernel) await kernel.shutdown();
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

type FailureReason = 'error' | 'unhandled' | 'timeout' | 'died';

/** A failed cell, as an error and as an output of the notebook. */
export class NotebookError extends Error {
  /** What the cell or the kernel printed. */
  readonly errorText: string;

  constructor(
    readonly notebook: string,
    /** `number` counts code cells, from 1. */
    readonly cell: { number: number; id: string; source: string },
    readonly reason: FailureReason,
    stderr: string,
  ) {
    const errorText = cellError(stderr);
    const code = cell.source.replace(/^/gm, '    ');
    super(`${notebook}, code cell ${cell.number} (${cell.id}) failed:\n\n${code}\n\n${errorText}`);
    this.name = 'NotebookError';
    this.errorText = errorText;
  }
}

const NAMES = { unhandled: 'UnhandledRejection', timeout: 'Timeout', died: 'KernelDied' } as const;

/** The output that marks a failed cell in any notebook viewer. */
export function errorOutput({ reason, errorText }: NotebookError): CellOutput {
  const traceback = errorText.split('\n');
  const [first] = traceback;
  const output = (ename: string, evalue = first): CellOutput => ({
    output_type: 'error',
    ename,
    evalue,
    traceback,
  });
  if (reason !== 'error') return output(NAMES[reason]);
  if (/^\d+:\d+ - /.test(first)) return output('TypeScriptError');
  const [, name = 'Error', message = first] =
    /^(?:Uncaught )?([\w$]*(?:Error|Exception)): (.*)$/m.exec(errorText) ?? [];
  return output(name, message);
}
