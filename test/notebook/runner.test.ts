import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readNotebook, textOf, type Cell, type CodeCell } from '../../lib/notebook/nbformat.js';
import { NotebookError, runNotebook } from '../../lib/notebook/runner.js';
import { code, markdown, writeCells } from './notebooks.js';

// Each test starts a kernel, which takes two seconds on a free machine and many on a busy one.
vi.setConfig({ testTimeout: 180_000 });

const folder = mkdtempSync(path.join(tmpdir(), 'notebooks-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs cells that must fail and returns the error. */
async function failureOf(name: string, cells: Cell[], cellTimeoutMs = 60_000): Promise<NotebookError> {
  const file = writeCells(path.join(folder, `${name}.ipynb`), ...cells);
  const output = path.join(folder, `${name}.out.ipynb`);
  const failure = await runNotebook(file, { cellTimeoutMs, output, log: () => undefined }).catch(
    (e: unknown) => e,
  );
  expect(existsSync(output)).toBe(false);
  if (!(failure instanceof NotebookError))
    throw new Error(`Expected a NotebookError, but got ${String(failure)}.`);
  return failure;
}

describe('a notebook that passes', () => {
  it('gets its outputs, in nbformat 4.5, and is written as a whole', async () => {
    writeFileSync(path.join(folder, 'lib.mjs'), 'export const double = (x) => 2 * x;');
    writeFileSync(path.join(folder, 'lib.d.mts'), 'export declare function double(x: number): number;');
    const file = writeCells(
      path.join(folder, 'good.ipynb'),
      markdown('# Good'),
      code('let n = 1;', 'parameters'),
      code(
        `import { double } from './lib.mjs';\nconsole.log('a'); console.log(double(n)); console.error('careful');`,
      ),
      code(`import * as tslab from 'tslab';\nconst shown = tslab.newDisplay(); shown.html('<b>old</b>');`),
      code(
        `await new Promise((resolve) => setTimeout(resolve, 30));\nshown.html('<b>new</b>\\n<i>line</i>');`,
      ),
      code(''),
    );
    const output = path.join(folder, 'good.out.ipynb');
    let live = '';
    const result = await runNotebook(file, { output, parameters: ['n=21'], log: (text) => (live += text) });

    const written = readNotebook(output);
    expect(written.cells).toEqual(result.notebook.cells);
    expect(written.nbformat_minor).toBe(5);
    const cells = written.cells.filter((cell): cell is CodeCell => cell.cell_type === 'code');
    expect(cells.map((cell) => cell.execution_count)).toEqual([1, 2, 3, 4, 5, null]);
    expect(textOf(cells[1].source)).toBe('let n: number = 21;');
    expect(cells[2].outputs).toEqual([
      { output_type: 'stream', name: 'stdout', text: ['a\n', '42\n'] },
      { output_type: 'stream', name: 'stderr', text: ['careful\n'] },
    ]);
    const display = {
      output_type: 'display_data',
      data: { 'text/html': ['<b>new</b>\n', '<i>line</i>'] },
      metadata: {},
    };
    expect(cells[3].outputs).toEqual([display]);
    expect(cells[4].outputs).toEqual([]);
    expect(live).toMatch(/\[3\/6\] import \{ double \}.*\n {8}a\n {8}42\n/);
    expect(result.cellMs).toHaveLength(6);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('a notebook that fails', () => {
  it('names the cell, its source and what it threw', async () => {
    const failure = await failureOf('throws', [
      code('const one = 1;'),
      code(`throw new Error('no ' + one);`),
    ]);
    expect(failure.reason).toBe('error');
    expect(failure.cell).toEqual({ number: 2, id: 'cell-2', source: `throw new Error('no ' + one);` });
    expect(failure.errorText).toContain('Error: no 1');
    expect(failure.message).toContain(`    throw new Error('no ' + one);`);
  });

  it('fails on a type error, which the kernel reports without a name', async () => {
    const failure = await failureOf('types', [code('const n: number = "text";')]);
    expect(failure.errorText).toContain(`Type 'string' is not assignable to type 'number'`);
  });

  it('fails on a rejection that nobody handles, which the kernel only logs', async () => {
    const failure = await failureOf('unhandled', [
      code(`setTimeout(() => void Promise.reject(new Error('left alone')), 20);`),
      code(`'done'`),
    ]);
    expect(failure.reason).toBe('unhandled');
    expect(failure.errorText).toContain('left alone');
  });

  it('stops an endless cell and says so, with what the cell had said', async () => {
    const failure = await failureOf('endless', [code(`console.error('at it'); while (true) {}`)], 1000);
    expect(failure.reason).toBe('timeout');
    expect(failure.errorText).toContain('within 1 s');
  });

  it('fails when the kernel dies', async () => {
    const failure = await failureOf('dies', [code('process.exit(3);')]);
    expect(failure.reason).toBe('died');
    expect(failure.errorText).toContain('exit code 3');
  });

  it('does not start a kernel for a file that is no notebook', async () => {
    const file = path.join(folder, 'broken.ipynb');
    writeFileSync(file, JSON.stringify({ nbformat: 3, cells: [] }));
    await expect(runNotebook(file, { log: () => undefined })).rejects.toThrow(
      'is not a notebook of nbformat 4',
    );
  });
});
