import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { runNotebooks, type NotebookRunSettings } from '../../lib/commands/notebook.js';
import { codeCells, readNotebook } from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { code, writeCells } from '../notebook/notebooks.js';

// Starting a kernel takes two seconds on a free machine and many on a busy one.
vi.setConfig({ testTimeout: 180_000 });

const folder = temporaryFolder();
const inFolder = (name: string): string => path.join(folder, name);

async function run(files: string[], settings: NotebookRunSettings) {
  const written = { stdout: '', stderr: '' };
  const exitCode = await runNotebooks(
    files,
    { cache: inFolder('cache'), ...settings },
    (text, stream) => (written[stream] += text),
  );
  return { exitCode, ...written };
}

const count = writeCells(
  inFolder('count.ipynb'),
  code('let numbers = [1];', 'parameters'),
  code('console.log(numbers.length);'),
);

describe('notebook run', () => {
  it('writes notebooks with their outputs, the second time without running them', async () => {
    const settings = { param: ['numbers=[4, 5]'], out: inFolder('out'), input: [count] };
    const first = await run([count], settings);
    expect(first.exitCode).toBe(0);
    expect(first.stdout).toBe('        2\n');
    expect(first.stderr).toMatch(/\[3\/3\] console\.log\(numbers\.length\);\n +\d+\.\d s\n/);
    expect(first.stderr).toMatch(/Notebooks: 1 passed, \d+\.\d s\n$/);
    const written = readNotebook(path.join(folder, 'out', 'count.ipynb'));
    expect(codeCells(written)[2].outputs).toEqual([{ output_type: 'stream', name: 'stdout', text: ['2\n'] }]);

    const again = await run([count], { ...settings, out: inFolder('again.ipynb') });
    expect(again.stderr).toContain('Notebooks: 1 passed (1 unchanged)');
    expect(readNotebook(inFolder('again.ipynb'))).toEqual(written);
  });

  it('goes on with the next notebook only where that is wanted, and fails in any case', async () => {
    const bad = writeCells(inFolder('bad.ipynb'), code(`throw new Error('broken');`));
    const before = readFileSync(bad, 'utf8');
    const stopped = await run([inFolder('absent.ipynb'), bad], {});
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stderr).toContain('absent.ipynb did not run: ENOENT');
    expect(stopped.stderr).toContain('Notebooks: 0 passed, 1 failed, 1 not run');
    expect(readFileSync(bad, 'utf8')).toBe(before);

    const all = await run([inFolder('absent.ipynb'), bad], { continue: true });
    expect(all.exitCode).toBe(1);
    expect(all.stderr).toContain(`code cell 1 (cell-1) failed:\n\n    throw new Error('broken');\n`);
    expect(all.stderr).toContain('Notebooks: 0 passed, 2 failed');
    expect(codeCells(readNotebook(bad))[0].outputs.at(-1)).toMatchObject({
      output_type: 'error',
      ename: 'Error',
      evalue: 'broken',
    });
  });

  it('names the parameters that there are, before a kernel starts', async () => {
    const { exitCode, stderr } = await run([count], { param: ['number=[]'] });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Expected number to be declared in the cell tagged "parameters"');
    expect(stderr).toContain('which declares numbers.');
    expect(stderr).not.toContain('starting');
  });

  it('refuses two notebooks for one file', async () => {
    await expect(run([count, count], { out: inFolder('one.ipynb') })).rejects.toThrow('Name a folder.');
    mkdirSync(inFolder('deep'));
    await expect(run([count, inFolder('deep/count.ipynb')], { out: inFolder('out') })).rejects.toThrow(
      'Expected notebooks of different names',
    );
    expect(existsSync(inFolder('one.ipynb'))).toBe(false);
  });
});
