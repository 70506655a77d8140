import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  newNotebook,
  runNotebooks,
  type NotebookRunSettings,
} from '../../lib/commands/notebook.js';
import { packagePath } from '../../lib/io/paths.js';
import {
  codeCells,
  readNotebook,
  type CodeCell,
  type Notebook,
} from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { code, writeCells } from '../notebook/notebooks.js';
import { isBuilt, refusal, runCommand } from './command-line.js';

// Starting a kernel takes two seconds, more on a busy machine.
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
  it('writes notebooks with their outputs, and reuses them if unchanged', async () => {
    const settings = { param: ['numbers=[4, 5]'], out: inFolder('out'), input: [count] };
    const first = await run([count], settings);
    expect(first.exitCode).toBe(0);
    expect(first.stdout).toBe('        2\n');
    expect(first.stderr).toMatch(/\[3\/3\] console\.log\(numbers\.length\);\n +\d+\.\d s\n/);
    expect(first.stderr).toMatch(/Notebooks: 1 passed, \d+\.\d s\n$/);
    const written = readNotebook(path.join(folder, 'out', 'count.ipynb'));
    expect(codeCells(written)[2].outputs).toEqual([
      { output_type: 'stream', name: 'stdout', text: ['2\n'] },
    ]);

    const again = await run([count], { ...settings, out: inFolder('again.ipynb') });
    expect(again.stderr).toContain('Notebooks: 1 passed (1 unchanged)');
    expect(readNotebook(inFolder('again.ipynb'))).toEqual(written);
  });

  it('continues after a failed notebook only with --continue', async () => {
    const bad = writeCells(
      inFolder('bad.ipynb'),
      code('const one = 1;'),
      code(`throw new Error('broken ' + one);`),
    );
    const before = readFileSync(bad, 'utf8');
    const stopped = await run([inFolder('absent.ipynb'), bad], {});
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stderr).toContain('absent.ipynb did not run: Could not open');
    expect(stopped.stderr).toContain('Notebooks: 0 passed, 1 failed, 1 not run');
    expect(readFileSync(bad, 'utf8')).toBe(before);

    const all = await run([inFolder('absent.ipynb'), bad], { continue: true });
    expect(all.exitCode).toBe(1);
    expect(all.stderr).toContain(
      `code cell 2 (cell-2) failed:\n\n    throw new Error('broken ' + one);\n`,
    );
    const failure = all.stderr.slice(all.stderr.indexOf('code cell 2 ('));
    expect(failure).toContain('Error: broken 1');
    expect(failure).not.toContain('tslab');
    expect(all.stderr).toContain('Notebooks: 0 passed, 2 failed');
    expect(codeCells(readNotebook(bad))[1].outputs.at(-1)).toMatchObject({
      output_type: 'error',
      ename: 'Error',
      evalue: 'broken 1',
    });
  });

  it('checks the declared parameters before a kernel starts', async () => {
    const { exitCode, stderr } = await run([count], { param: ['number=[]'] });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/number.*"parameters".*numbers/);
    expect(stderr).not.toContain('starting');
  });

  it('rejects two notebooks with the same output file', async () => {
    await expect(run([count, count], { out: inFolder('one.ipynb') })).rejects.toThrow(/folder/);
    mkdirSync(inFolder('deep'));
    await expect(
      run([count, inFolder('deep/count.ipynb')], { out: inFolder('out') }),
    ).rejects.toThrow(/different names/);
    expect(existsSync(inFolder('one.ipynb'))).toBe(false);
  });
});

describe.skipIf(!isBuilt)('notebook new and render (needs dist/)', () => {
  it('create a working notebook and render it as a page', async () => {
    const made = await runCommand(['notebook', 'new', 'Films & years'], folder);
    const notebook = inFolder('Films & years.ipynb');
    expect(made.code).toBe(0);
    expect(made.stderr).toContain(`Created ${notebook}.`);
    const written = readFileSync(notebook, 'utf8');
    const { nbformat, nbformat_minor, cells } = JSON.parse(written) as Notebook;
    expect([nbformat, nbformat_minor]).toEqual([4, 5]);
    expect(cells.every(({ id }) => id !== undefined)).toBe(true);
    if (!isFull) return;
    const rendered = await runCommand(
      ['notebook', 'render', notebook, '--run', '-p', 'seed=2'],
      folder,
    );
    expect(rendered.code, rendered.stderr).toBe(0);
    expect(readFileSync(notebook, 'utf8')).toBe(written);
    const html = readFileSync(inFolder('Films & years.html'), 'utf8');
    expect(html).toContain('Films &amp; years</h1>');
    expect(html).toContain('ps-transcript');
    expect(html).toContain('<th scope="row">search-r1</th>');
    expect(html).toContain('Search turns for the same question');
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/(src|href)="(https?:|\/\/|(?!data:|#)[\w./]+\.(js|css|png))/);
  });

  it('never overwrite a notebook', async () => {
    const before = readFileSync(count, 'utf8');
    expect(await refusal(['notebook', 'new', count])).toContain('exists');
    expect(readFileSync(count, 'utf8')).toBe(before);
  });

  it('render stored outputs, and warn if there are none', async () => {
    const shown = writeCells(inFolder('shown.ipynb'), {
      ...(code('1 + 1') as CodeCell),
      outputs: [{ output_type: 'stream', name: 'stdout', text: 'what it showed' }],
    });
    const page = inFolder('page.html');
    const { code: exitCode, stderr } = await runCommand(['notebook', 'render', shown, '-o', page]);
    expect([exitCode, stderr]).toEqual([0, `${page}\n`]);
    expect(readFileSync(page, 'utf8')).toContain('<pre class="stdout">what it showed</pre>');
    const pages = inFolder('pages');
    mkdirSync(pages);
    const inside = await runCommand(['notebook', 'render', shown, '-o', pages]);
    expect(inside.stderr).toBe(`${path.join(pages, 'shown.html')}\n`);
    expect(readFileSync(path.join(pages, 'shown.html'), 'utf8')).toBe(readFileSync(page, 'utf8'));
    const cells = ['notebook', 'render', shown, '-o', pages, '--to', 'observable'];
    expect(await runCommand(cells)).toMatchObject({ code: 0 });
    const names = readdirSync(pages).toSorted();
    expect(names).toEqual(['shown.html', 'shown.observable.html']);
    const silent = await runCommand(['notebook', 'render', count, '-o', page]);
    expect(silent.stderr).toContain('--run');
  });

  /** A folder in which the package is installed. */
  function installedIn(name: string): string {
    const modules = path.join(folder, name, 'node_modules');
    mkdirSync(modules, { recursive: true });
    symlinkSync(packagePath(), path.join(modules, 'parallelsearch'), 'junction');
    return path.dirname(modules);
  }

  it('import the package by name if it is installed', async () => {
    const project = installedIn('project');
    const file = await newNotebook(path.join(project, 'notes', 'mine.ipynb'));
    expect(readFileSync(file, 'utf8')).toContain("import * as ps from 'parallelsearch';");
    const quoted = await newNotebook(path.join(project, "'parallelsearch' $&"));
    expect(readFileSync(quoted, 'utf8')).toContain("# 'parallelsearch' $&");
    const elsewhere = readFileSync(await newNotebook(inFolder('elsewhere')), 'utf8');
    expect(elsewhere).toMatch(/import \* as ps from '\.\.?\/.*dist\/index\.js'/);
  });

  it('end with commands that run from the working folder', async () => {
    const inProject = await runCommand(
      ['notebook', 'new', 'my notes'],
      installedIn('with package'),
    );
    expect(inProject.stderr).toMatch(
      /^ {2}npx parallelsearch notebook run (['"])my notes\.ipynb\1 /m,
    );
    const { stderr } = await runCommand(['notebook', 'new', 'mine'], inFolder('.'));
    const cli = packagePath('dist', 'cli.js');
    expect(stderr).toContain(`  node ${cli} notebook run mine.ipynb `);
    expect(stderr).toContain(`  node ${cli} lab mine.ipynb `);
  });
});
