/** Why a cell failed, in words: tslab's replies to failed cells carry no text. */
import { textOf, type CellOutput } from './nbformat.js';

export type FailureReason = 'error' | 'unhandled' | 'timeout' | 'died';

/** Lines of a stack that are the kernel's own, and Node's below it. */
const KERNEL_FRAME = /^ +at .*(?:[\\/]tslab[\\/]dist[\\/]|\(node:vm:).*(?:\n|$)/gm;

/**
 * A cell that failed: what it was, its number among the code cells from 1, and what it
 * said.
 */
export class NotebookError extends Error {
  readonly errorText: string;

  constructor(
    readonly notebook: string,
    readonly cell: { number: number; id: string; source: string },
    readonly reason: FailureReason,
    said: string,
  ) {
    const errorText = said.replace(KERNEL_FRAME, '').trimEnd();
    const code = cell.source.replace(/^/gm, '    ');
    super(`${notebook}, code cell ${cell.number} (${cell.id}) failed:\n\n${code}\n\n${errorText}`);
    this.name = 'NotebookError';
    this.errorText = errorText;
  }
}

/** Whether tslab has logged a rejection or an exception that the cell left to nobody. */
export const hasUnhandled = (outputs: readonly CellOutput[]): boolean =>
  /^(UnhandledPromiseRejection|UncaughtException):/m.test(stderrOf(outputs));

/** All that a cell wrote to standard error. */
export function stderrOf(outputs: readonly CellOutput[]): string {
  const texts = outputs.flatMap((output) =>
    output.output_type === 'stream' && output.name === 'stderr' ? [textOf(output.text)] : [],
  );
  return texts.join('').trim();
}

const NAMES = { unhandled: 'UnhandledRejection', timeout: 'Timeout', died: 'KernelDied' } as const;

/** The output by which viewers and nbformat's other readers know a cell that failed. */
export function errorOutput({ reason, errorText }: NotebookError): CellOutput {
  const traceback = errorText.split('\n');
  const [first] = traceback;
  const output = (ename: string, evalue: string): CellOutput => {
    return { output_type: 'error', ename, evalue, traceback };
  };
  if (reason !== 'error') return output(NAMES[reason], first);
  if (/^\d+:\d+ - /.test(first)) return output('TypeScriptError', first);
  const thrown = /^(?:Uncaught )?([\w$]*(?:Error|Exception)): (.*)$/m.exec(errorText);
  return thrown ? output(thrown[1], thrown[2]) : output('Error', first);
}
