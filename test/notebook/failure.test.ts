import { describe, expect, it } from 'vitest';
import { errorOutput, NotebookError } from '../../lib/notebook/runner.js';
import { hasUnhandled } from '../../lib/notebook/tslab.js';

const failure = (...how: [reason: NotebookError['reason'], text: string]): NotebookError =>
  new NotebookError('a.ipynb', { number: 3, id: 'one', source: 'f();' }, ...how);
const THROWN = `evalmachine.<anonymous>:2
f();
^

RangeError: too far
    at f (evalmachine.<anonymous>:2:7)
    at Script.runInThisContext (node:vm:135:14)
    at Object.execute (/a/node_modules/tslab/dist/executor.js:160:38)`;

it('failures name file, cell and source, and hide the kernel in the stack trace', () => {
  const { message, errorText } = failure('error', THROWN);
  expect(message).toMatch(/^a\.ipynb, code cell 3 \(one\) failed:\n\n {4}f\(\);\n\nevalmachine/);
  expect(errorText.split('\n').at(-1)).toBe('    at f (evalmachine.<anonymous>:2:7)');
});

describe('errorOutput', () => {
  it.each([
    ['error', THROWN, 'RangeError', 'too far'],
    ['error', 'Error: plain', 'Error', 'plain'],
    ['error', '1:7 - Type error.', 'TypeScriptError', '1:7 - Type error.'],
    ['error', 'a thrown text', 'Error', 'a thrown text'],
    ['timeout', 'Too late.\nmore', 'Timeout', 'Too late.'],
    ['died', 'Gone.', 'KernelDied', 'Gone.'],
    ['unhandled', 'Unhandled: x', 'UnhandledRejection', 'Unhandled: x'],
  ] as const)('names the error of a cell: %s, %s', (reason, text, ename, evalue) => {
    const output = errorOutput(failure(reason, text));
    expect(output).toMatchObject({ output_type: 'error', ename, evalue });
  });
});

it.each([
  ['a\nUnhandledPromiseRejection: b', true],
  ['no UnhandledPromiseRejection: b', false],
  ['UncaughtException: Error: Unexpected pending rebuildTimer\n    at Object.setTimeout', false],
])('an unhandled rejection starts a line of standard error: %j', (stderr, expected) => {
  expect(hasUnhandled(stderr)).toBe(expected);
});
