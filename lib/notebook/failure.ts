/** A cell that failed, as an error and as an output of the notebook. */
import type { CellOutput } from './nbformat.js';
import { cellError } from './tslab.js';

export type FailureReason = 'error' | 'unhandled' | 'timeout' | 'died';

export class NotebookError extends Error {
  /** What the cell or the kernel printed. */
  readonly errorText: string;

  constructor(
    readonly notebook: string,
    /** The number counts code cells, from 1. */
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

/** The output that marks a failed cell in any viewer of notebooks. */
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
