import { describe, expect, it } from 'vitest';
import { errorOutput, failureOf, hasUnhandled, type FailureReason } from '../../lib/notebook/failure.js';
import type { CellOutput, CodeCell } from '../../lib/notebook/nbformat.js';
import { code } from './notebooks.js';

const cell = { ...code('f();'), id: 'one' } as CodeCell;
const failure = (reason: FailureReason, text: string) =>
  failureOf('a.ipynb', { cell, number: 3 }, reason, text);
const THROWN = `evalmachine.<anonymous>:2
f();
^

RangeError: too far
    at f (evalmachine.<anonymous>:2:7)
    at Script.runInThisContext (node:vm:135:14)
    at Object.execute (/a/node_modules/tslab/dist/executor.js:160:38)`;

describe('failureOf', () => {
  it('names file, cell and source, and leaves the kernel out of the stack', () => {
    const { message, errorText } = failure('error', THROWN);
    expect(message).toMatch(/^a\.ipynb, code cell 3 \(one\) failed:\n\n {4}f\(\);\n\nevalmachine/);
    expect(errorText.split('\n').at(-1)).toBe('    at f (evalmachine.<anonymous>:2:7)');
  });
});

describe('errorOutput', () => {
  it.each([
    ['error', THROWN, 'RangeError', 'too far'],
    ['error', 'Error: plain', 'Error', 'plain'],
    ['error', '1:7 - Type error.', 'TypeScriptError', '1:7 - Type error.'],
    ['error', 'a thrown text', 'Error', 'a thrown text'],
    ['timeout', 'Too late.\nmore', 'Timeout', 'Too late.'],
    ['died', 'Gone.', 'KernelDied', 'Gone.'],
    ['unhandled', 'UnhandledPromiseRejection: x', 'UnhandledRejection', 'UnhandledPromiseRejection: x'],
  ] as const)('names what ended a cell: %s, %s', (reason, text, ename, evalue) => {
    expect(errorOutput(failure(reason, text))).toMatchObject({ output_type: 'error', ename, evalue });
  });
});

describe('hasUnhandled', () => {
  it('reads standard error only, and only where a line begins so', () => {
    const stream = (name: 'stdout' | 'stderr', text: string): CellOutput[] => [
      { output_type: 'stream', name, text },
    ];
    expect(hasUnhandled(stream('stderr', 'a\nUnhandledPromiseRejection: b'))).toBe(true);
    expect(hasUnhandled(stream('stdout', 'UnhandledPromiseRejection: b'))).toBe(false);
    expect(hasUnhandled(stream('stderr', 'no UnhandledPromiseRejection: b'))).toBe(false);
  });
});
