/** Why a cell failed, in words: tslab's replies to failed cells carry no text. */
import { textOf, type CellOutput, type CodeCell } from './nbformat.js';

export type FailureReason = 'error' | 'unhandled' | 'timeout' | 'died';

/** A cell that failed: what it was and what it said. */
export class NotebookError extends Error {
  constructor(
    readonly notebook: string,
    readonly cell: { number: number; id: string; source: string },
    readonly reason: FailureReason,
    readonly errorText: string,
  ) {
    const code = cell.source.replace(/^/gm, '    ');
    super(`${notebook}, code cell ${cell.number} (${cell.id}) failed:\n\n${code}\n\n${errorText}`);
    this.name = 'NotebookError';
  }
}

const UNHANDLED = /^(UnhandledPromiseRejection|UncaughtException):/m;

/** Whether tslab has logged a rejection or an exception that the cell left to nobody. */
export function hasUnhandled(outputs: readonly CellOutput[]): boolean {
  return UNHANDLED.test(stderrOf(outputs));
}

/** All that a cell wrote to standard error. */
export function stderrOf(outputs: readonly CellOutput[]): string {
  const texts = outputs.flatMap((output) =>
    output.output_type === 'stream' && output.name === 'stderr' ? [textOf(output.text)] : [],
  );
  return texts.join('').trim();
}

/** A cell and its number among the code cells, from 1. */
export interface NumberedCell {
  cell: CodeCell;
  number: number;
}

/** The error for a cell of the notebook `file`. */
export function failureOf(
  file: string,
  { cell, number }: NumberedCell,
  reason: FailureReason,
  errorText: string,
): NotebookError {
  const what = { number, id: cell.id!, source: textOf(cell.source) };
  return new NotebookError(file, what, reason, withoutKernelFrames(errorText));
}

/** Lines of a stack that are the kernel's own, and Node's below it. */
const KERNEL_FRAME = /^ +at .*(?:[\\/]tslab[\\/]dist[\\/]|\(node:vm:).*(?:\n|$)/gm;

const withoutKernelFrames = (text: string): string => text.replace(KERNEL_FRAME, '').trimEnd();

const NAMES = { unhandled: 'UnhandledRejection', timeout: 'Timeout', died: 'KernelDied' } as const;

/** The output by which viewers and nbformat's other readers know a cell that failed. */
export function errorOutput(failure: NotebookError): CellOutput {
  const [ename, evalue] = nameOf(failure);
  return { output_type: 'error', ename, evalue, traceback: failure.errorText.split('\n') };
}

/** Name and message of what a cell threw, as far as its text tells. */
function nameOf({ reason, errorText }: NotebookError): [name: string, message: string] {
  const [first] = errorText.split('\n');
  if (reason !== 'error') return [NAMES[reason], first];
  if (/^\d+:\d+ - /.test(first)) return ['TypeScriptError', first];
  const thrown = /^(?:Uncaught )?([\w$]*(?:Error|Exception)): (.*)$/m.exec(errorText);
  return thrown ? [thrown[1], thrown[2]] : ['Error', first];
}
