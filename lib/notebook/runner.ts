/** Executes notebooks headlessly through tslab's real kernel and fails where the kernel itself would keep silent. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startKernel, type Kernel } from './kernel.js';
import { linesOf, readNotebook, textOf, writeNotebook, type CodeCell, type Notebook } from './nbformat.js';
import { collectOutputs, type OutputCollector } from './outputs.js';
import { KernelError } from './process.js';
import { injectParameters, parseParameters, type Parameters } from './parameters.js';

export interface RunOptions {
  /** Values for the cell tagged `parameters`; a list of `name=value` is read by the types declared there. */
  parameters?: Parameters | readonly string[];
  /** Where the executed notebook goes; absent: it is only returned. Written only when every cell has passed. */
  output?: string;
  /** The kernel's working folder; default: the notebook's, as in Jupyter. */
  cwd?: string;
  /** Longest time for one cell; default 10 minutes. */
  cellTimeoutMs?: number;
  /** Progress and live output; default: standard output. */
  log?: (text: string) => void;
}

export interface RunResult {
  notebook: Notebook;
  elapsedMs: number;
  /** Of each code cell, in order. */
  cellMs: number[];
}

/** A cell that failed: what it was and what it said. */
export class NotebookError extends Error {
  constructor(
    readonly notebook: string,
    readonly cell: { number: number; id: string; source: string },
    readonly reason: 'error' | 'unhandled' | 'timeout' | 'died',
    readonly errorText: string,
  ) {
    const code = cell.source.replace(/^/gm, '    ');
    super(`${notebook}, code cell ${cell.number} (${cell.id}) failed:\n\n${code}\n\n${errorText}`);
    this.name = 'NotebookError';
  }
}

const UNHANDLED = /^(UnhandledPromiseRejection|UncaughtException):/m;
/** How long a rejection may take to show after the last cell. */
const SETTLE_MS = 200;

/**
 * Runs all code cells of a notebook in order. Rejects with a {@link NotebookError} when a cell throws, does not
 * compile, leaves a rejection unhandled, takes too long or kills the kernel. tslab reports none of these by name: the
 * reply to a failed cell carries no text, which is on standard error, and unhandled rejections are only logged.
 */
export async function runNotebook(file: string, options: RunOptions = {}): Promise<RunResult> {
  const { log = (text: string) => void process.stdout.write(text) } = options;
  const started = performance.now();
  const notebook = prepared(readNotebook(file), options.parameters ?? {});
  const outputs = collectOutputs();
  log(`${file}: starting the TypeScript kernel\n`);
  const kernel = await startKernel({
    cwd: path.resolve(options.cwd ?? path.dirname(file)),
    onOutput: (id, message) => {
      outputs.add(id, message);
      log(liveText(message));
    },
  });
  try {
    const context = { file, kernel, outputs, log, timeoutMs: options.cellTimeoutMs ?? 600_000 };
    const cellMs = await runCells(codeCells(notebook), context);
    const elapsedMs = performance.now() - started;
    log(`${file}: ${cellMs.length} cells in ${seconds(elapsedMs)}\n`);
    if (options.output) writeNotebook(options.output, notebook);
    return { notebook, elapsedMs, cellMs };
  } finally {
    await kernel.shutdown();
  }
}

/** The notebook with its parameters in and all outputs out. */
function prepared(notebook: Notebook, parameters: Parameters | readonly string[]): Notebook {
  const isList = (value: Parameters | readonly string[]): value is readonly string[] => Array.isArray(value);
  const values = isList(parameters) ? parseParameters(parameters, notebook) : parameters;
  const injected = injectParameters(notebook, values);
  for (const cell of codeCells(injected)) Object.assign(cell, { outputs: [], execution_count: null });
  return injected;
}

function codeCells(notebook: Notebook): CodeCell[] {
  return notebook.cells.filter((cell): cell is CodeCell => cell.cell_type === 'code');
}

interface RunContext {
  file: string;
  kernel: Kernel;
  outputs: OutputCollector;
  log: (text: string) => void;
  timeoutMs: number;
}

async function runCells(cells: CodeCell[], context: RunContext): Promise<number[]> {
  const cellMs: number[] = [];
  for (const [i, cell] of cells.entries()) {
    const source = textOf(cell.source);
    context.log(`[${i + 1}/${cells.length}] ${source.split('\n')[0]}\n`);
    const started = performance.now();
    if (source.trim() !== '') await runCell(cell, i + 1, context);
    cellMs.push(performance.now() - started);
    context.log(`        ${seconds(cellMs[i])}\n`);
  }
  await sleep(SETTLE_MS);
  cells.forEach((cell, i) => checkHandled(cell, i + 1, context));
  for (const cell of cells) cell.outputs = context.outputs.of(cell.id!);
  return cellMs;
}

async function runCell(cell: CodeCell, number: number, context: RunContext): Promise<void> {
  const id = cell.id!;
  const errorText = (): string => stderrOf(context.outputs, id) || 'The kernel gave no reason.';
  const execution = context.kernel.execute(textOf(cell.source), { timeoutMs: context.timeoutMs, id });
  const reply = await execution.catch((error: unknown) => {
    if (!(error instanceof KernelError) || error.reason === 'start') throw error;
    const said = stderrOf(context.outputs, id);
    throw failure(
      cell,
      number,
      context.file,
      error.reason,
      said ? `${error.message}\n${said}` : error.message,
    );
  });
  if (!reply.ok) throw failure(cell, number, context.file, 'error', errorText());
  checkHandled(cell, number, context);
  cell.execution_count = reply.count;
}

/** Throws when tslab has logged a rejection or an exception that the cell left to nobody. */
function checkHandled(cell: CodeCell, number: number, { outputs, file }: RunContext): void {
  const text = stderrOf(outputs, cell.id!);
  if (UNHANDLED.test(text)) throw failure(cell, number, file, 'unhandled', text);
}

function failure(
  cell: CodeCell,
  number: number,
  file: string,
  reason: NotebookError['reason'],
  errorText: string,
): NotebookError {
  return new NotebookError(file, { number, id: cell.id!, source: textOf(cell.source) }, reason, errorText);
}

function stderrOf(outputs: OutputCollector, id: string): string {
  const streams = outputs
    .of(id)
    .flatMap((o) => (o.output_type === 'stream' && o.name === 'stderr' ? [o.text] : []));
  return streams.map(textOf).join('').trim();
}

/** What a terminal can show of a message: streams as they are, displays as their plain text. */
function liveText({
  header,
  content,
}: {
  header: { msg_type: string };
  content: Record<string, unknown>;
}): string {
  if (header.msg_type === 'stream') return indented(String(content.text));
  const text = (content.data as Record<string, unknown> | undefined)?.['text/plain'];
  return typeof text === 'string' ? indented(text.endsWith('\n') ? text : `${text}\n`) : '';
}

const indented = (text: string): string =>
  linesOf(text)
    .map((line) => `        ${line}`)
    .join('');
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
