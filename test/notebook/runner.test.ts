import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { startKernel, type Kernel } from '../../lib/notebook/kernel.js';
import {
  codeCells,
  joinLines,
  readNotebook,
  type CellOutput,
} from '../../lib/notebook/nbformat.js';
import { runNotebook } from '../../lib/notebook/runner.js';
import { isBuilt } from '../commands/command-line.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';
import { code, markdown, notebookOf, writeCells } from './notebooks.js';

// Starting a kernel takes two seconds, more on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

const folder = temporaryFolder();
symlinkSync(packagePath('dist'), path.join(folder, 'dist'), 'junction');

const silent = (): void => undefined;

/** For notebooks that leave it running. */
let kernel: Kernel;
beforeAll(async () => (kernel = await startKernel(folder)));
afterAll(() => kernel.shutdown());

describe('a notebook without errors', () => {
  it('is written with its outputs in nbformat 4.5', async () => {
    writeFileSync(path.join(folder, 'lib.mjs'), 'export const double = (x) => 2 * x;');
    const types = 'export declare function double(x: number): number;';
    writeFileSync(path.join(folder, 'lib.d.mts'), types);
    const file = writeCells(
      path.join(folder, 'good.ipynb'),
      markdown('# Good'),
      code('let n = 1;', 'parameters'),
      code(`import { double } from './lib.mjs';
console.log('a'); console.log(double(n)); console.error('careful');`),
      code(`import * as tslab from 'tslab';
const shown = tslab.newDisplay(); shown.html('<b>old</b>');`),
      code(`await new Promise((resolve) => setTimeout(resolve, 30));
shown.html('<b>new</b>\\n<i>line</i>');`),
      code(''),
    );
    const output = path.join(folder, 'good.out.ipynb');
    let live = '';
    const log = (text: string): void => void (live += text);
    const result = await runNotebook(file, { kernel, output, parameters: ['n=21'], log });

    const written = readNotebook(output);
    expect(written.cells).toEqual(result.notebook.cells);
    expect(written.nbformat_minor).toBe(5);
    const cells = codeCells(written);
    expect(cells.map((cell) => cell.execution_count)).toEqual([1, 2, 3, 4, 5, null]);
    expect(joinLines(cells[1].source)).toBe('let n: number = 21;');
    expect(cells[2].outputs).toEqual([
      { output_type: 'stream', name: 'stdout', text: ['a\n', '42\n'] },
      { output_type: 'stream', name: 'stderr', text: ['careful\n'] },
    ]);
    const data = { 'text/html': ['<b>new</b>\n', '<i>line</i>'] };
    expect(cells[3].outputs).toEqual([{ output_type: 'display_data', data, metadata: {} }]);
    expect(cells[4].outputs).toEqual([]);
    expect(live).toMatch(/\[3\/6\] import \{ double \}.*\n {8}a\n {8}42\n/);
    expect(result.cellMs).toHaveLength(6);
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual([]);
  });
});

describe('a kernel used for several notebooks', () => {
  it('forgets variables in between, and counts cells from one', async () => {
    const declaring = code("let n: number = 1; const only = 'here';");
    const first = writeCells(path.join(folder, 'first.ipynb'), declaring);
    const reading = [code("let n = 'text'; console.log(n.length);"), code('console.log(only);')];
    const second = writeCells(path.join(folder, 'second.ipynb'), ...reading);
    await runNotebook(first, { kernel, log: silent });
    const options = { kernel, log: silent, keepGoing: true };
    const { notebook, failures } = await runNotebook(second, options);
    const [shown] = codeCells(notebook);
    expect(shown.execution_count).toBe(1);
    expect(shown.outputs).toEqual([{ output_type: 'stream', name: 'stdout', text: ['4\n'] }]);
    expect(failures).toHaveLength(1);
    expect(failures[0].message).toContain("Cannot find name 'only'");
  });
});

describe.skipIf(!isBuilt)('a notebook outside any project (needs dist/)', () => {
  it.each(['parallelsearch', 'parallelsearch/report'])('is told how to import %s', async (name) => {
    const read = (module: string): string =>
      writeCells(
        path.join(folder, 'outside.ipynb'),
        code(`import * as it from '${module}'; console.log(Object.keys(it).length > 0);`),
      );
    const options = { kernel, log: silent, keepGoing: true };
    const { failures } = await runNotebook(read(name), options);
    const [, place] = /Import '(\..*)' instead/.exec(failures[0].message)!;
    const { notebook } = await runNotebook(read(place), { kernel, log: silent });
    expect(codeCells(notebook)[0].outputs).toHaveLength(1);
    const { failures: others } = await runNotebook(read('none'), options);
    expect(others[0].message).not.toContain('instead');
  });
});

describe('a notebook that has been run before', () => {
  it('takes its outputs from the cache until an input changes', async () => {
    const data = path.join(folder, 'numbers.txt');
    writeFileSync(data, '1');
    const cells = [
      code(`let file = 'numbers.txt';`, 'parameters'),
      code(`import { readFileSync } from 'node:fs';
console.log(readFileSync(file, 'utf8'), Math.random());`),
    ];
    const file = writeCells(path.join(folder, 'cached.ipynb'), ...cells);
    const cache = path.join(folder, 'cache');
    const options = { kernel, cache, inputs: ['numbers.txt'], log: silent };
    const first = await runNotebook(file, options);
    writeCells(file, markdown('# New words'), ...cells);
    const output = path.join(folder, 'cached.out.ipynb');
    const second = await runNotebook(file, { ...options, output });
    expect([first.cached, second.cached]).toEqual([false, true]);
    const [before, after] = [first, second].map(({ notebook }) =>
      codeCells(notebook).map(({ outputs }) => outputs),
    );
    expect(after).toEqual(before);
    expect(second.cellMs).toEqual(first.cellMs);
    expect(readNotebook(output).cells).toHaveLength(3);

    writeFileSync(data, '2');
    const third = await runNotebook(file, options);
    expect(third.cached).toBe(false);
    expect(JSON.stringify(third.notebook)).toContain('"2 0.');
    await expect(runNotebook(file, { ...options, inputs: ['no.txt'] })).rejects.toThrow(/no\.txt/);
  });
});

describe('a notebook that fails', () => {
  it('continues with keepGoing, marks failed cells, and ends with the kernel', async () => {
    const file = writeCells(
      path.join(folder, 'goes-on.ipynb'),
      code(`const one: number = 'text';`),
      code(`console.log('fine');`),
      code(`await new Promise(() => {});`),
      code(`console.error('at it'); while (true) {}`),
      code(`throw new RangeError('too far');`),
      code(`console.log('still fine');`),
      code(`setTimeout(() => void Promise.reject(new Error('left alone')), 20);
await new Promise((resolve) => setTimeout(resolve, 100));`),
      // The tag does not allow this error.
      code(`process.exit(3);`, 'raises-exception'),
      code(`console.log('never');`),
    );
    const output = path.join(folder, 'goes-on.out.ipynb');
    let live = '';
    const log = (text: string): void => void (live += text);
    const options = { output, keepGoing: true, cellTimeoutMs: 2000, log };
    const { failures } = await runNotebook(file, options);
    const reasons = failures.map(({ cell, reason }) => `${cell.number} ${reason}`).join();
    expect(reasons).toBe('1 error,3 timeout,4 timeout,5 error,7 unhandled,8 died');
    expect(failures[2].errorText).toMatch(/did not end within 2 s[^]*at it/);
    const cells = codeCells(readNotebook(output));
    const errors = cells.map(({ outputs }) =>
      outputs.flatMap((o) => (o.output_type === 'error' ? [`${o.ename}: ${o.evalue}`] : [])),
    );
    const tooLate = [expect.stringContaining('Timeout: The cell did not end within 2 s')];
    expect(errors).toEqual([
      [`TypeScriptError: 1:7 - Type 'string' is not assignable to type 'number'.`],
      [],
      tooLate,
      tooLate,
      ['RangeError: too far'],
      [],
      [expect.stringContaining('UnhandledRejection: ')],
      [expect.stringContaining('KernelDied: The kernel ended with exit code 3')],
      [],
    ]);
    expect(cells[5].outputs).toMatchObject([{ name: 'stdout', text: ['still fine\n'] }]);
    expect(live).toContain('1 cell not run');
  });
});

describe('cell tags', () => {
  it('allow a cell to fail, or to be skipped with its earlier outputs', async () => {
    const skipped = code(`throw new Error('skipped');`, 'skip-execution');
    const earlier = { output_type: 'stream', name: 'stdout', text: ['earlier\n'] } as const;
    Object.assign(skipped, { outputs: [earlier] });
    const file = writeCells(
      path.join(folder, 'tags.ipynb'),
      code(`throw new RangeError('on purpose');`, 'raises-exception'),
      skipped,
      code(`console.log('after');`),
    );
    const output = path.join(folder, 'tags.out.ipynb');
    const { failures } = await runNotebook(file, { kernel, output, log: silent });
    expect(failures).toEqual([]);
    const [raised, left, after] = codeCells(readNotebook(output));
    expect(raised.outputs.at(-1)).toMatchObject({ output_type: 'error', evalue: 'on purpose' });
    expect(left.outputs).toEqual([earlier]);
    expect(left.execution_count).toBe(7);
    expect(after.outputs).toMatchObject([{ text: ['after\n'] }]);
  });
});

describe('a notebook for another kernel', () => {
  it.each([
    [{ kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } }],
    [{ kernelspec: { name: 'python3', display_name: 'Python 3' } }],
    [{ language_info: { name: 'python' } }],
  ])('is rejected with its name', async (metadata) => {
    const file = path.join(folder, 'python.ipynb');
    writeFileSync(file, JSON.stringify({ ...notebookOf(code('print(1)')), metadata }));
    await expect(runNotebook(file, { log: silent })).rejects.toThrow(/tslab.*python/);
  });
});

/** MIME types of displays in a cell, and the text that it prints. */
const describeOutput = (output: CellOutput): unknown =>
  'data' in output ? Object.keys(output.data) : 'text' in output && output.text;

const TABLE = ['text/html', 'application/vnd.parallelsearch.table+json', 'text/plain'];
const CHART = ['application/vnd.vegalite.v5+json', 'image/svg+xml', 'text/plain'];

describe.skipIf(!isBuilt)('the last expression of a cell (needs dist/)', () => {
  it('is shown if it is a chart or a data frame, else printed', async () => {
    const rows = ['r1', 'otc'].map((method) => ({ method, metric: 'em', value: 0.5, low: 0.4 }));
    const chart = `intervalChart(frame, { title: 'A chart', x: 'metric', color: 'method' })`;
    const $schema = 'https://vega.github.io/schema/vega-lite/v5.json';
    const spec = { $schema, data: { values: [{ a: 1 }] }, mark: 'bar' };
    const file = writeCells(
      path.join(folder, 'show.ipynb'),
      // tslab sets the variable of the last expression before the library is loaded.
      code('undefined;'),
      code(`import { createFrame, intervalChart, table } from './dist/report/index.js';
const frame = createFrame(${JSON.stringify(rows)});
${chart}`),
      ...[
        'frame',
        'frame.head(1)',
        `frame.column('value')`,
        `frame.groupby(['method']).agg({ value: ['mean'] })`,
        `await Promise.resolve(); frame.query(frame.column('method').eq('otc'))`,
        `table(frame, { caption: 'T', rows: ['method'] })`,
        `(${JSON.stringify(spec)})`,
        `const later = frame; later; const last = 1;`,
        '1 + 1',
        '[{ a: 1 }]',
        'null',
      ].map((source) => code(source)),
    );
    const { notebook } = await runNotebook(file, { kernel, log: silent });
    const [, ...cells] = codeCells(notebook);
    expect(cells.map(({ outputs }) => outputs.map(describeOutput))).toEqual([
      [CHART],
      ...Array<string[][]>(6).fill([TABLE]),
      [CHART],
      [],
      [['2\n']],
      [['[ { a: 1 } ]\n']],
      [],
    ]);
    expect(JSON.stringify(cells[2].outputs)).toMatch(/1 row\).*r1/);
    expect(JSON.stringify(cells[5].outputs)).toMatch(/1 row\).*otc/);
  });

  it('shows the first 50 rows of a long data frame', async () => {
    const long = code(`import { createFrame } from './dist/report/index.js';
createFrame(Array.from({ length: 51 }, (_, n) => ({ n: n + 1 })))`);
    const file = writeCells(path.join(folder, 'long.ipynb'), long);
    const { notebook } = await runNotebook(file, { kernel, log: silent });
    const [{ outputs }] = codeCells(notebook);
    expect(JSON.stringify(outputs)).toMatch(/51 rows, the first 50 shown/);
    expect(JSON.stringify(outputs)).not.toContain('>51<');
  });
});

describe.skipIf(!isBuilt)('Interrupt (needs dist/)', () => {
  const run = async (source: string, timeoutMs = 120_000): Promise<string> => {
    let printed = '';
    await kernel.execute(source, {
      timeoutMs,
      graceMs: 120_000, // for a busy machine; an idle one stops within two seconds
      onOutput: ({ content }) => (printed += String(content.text)),
    });
    return printed.trim();
  };
  /** A cell that runs until it is interrupted, then reports the state of its work. */
  async function interrupted(work: string): Promise<string> {
    const cell = `ended = ${work}.then(() => 'done', (error: Error) => error.name);\nawait ended;`;
    await expect(run(cell, 2500)).rejects.toMatchObject({ reason: 'interrupted' });
    return run('await ended');
  }

  slow('stops a rollout and a training; the kernel keeps running (needs test:full)', async () => {
    await run(`import * as ps from './dist/index.js';
import { mkdtempSync, existsSync } from 'node:fs';
await ps.useBackend('wasm');
const world = await ps.loadWorld();
const model = await ps.loadModel(${JSON.stringify(packagePath('data', 'checkpoints', 'instruct-1'))});
const policy = new ps.LocalPolicy('instruct', model.weights, model.config, model.tokenizer);
const rows = Array.from({ length: 16 }, () => world.questions[0]);
const runFolder = mkdtempSync('run-');
let ended: Promise<string> | undefined;
async function rollOutAgainAndAgain(): Promise<void> {
  while (true)
    await ps.rollOut(policy, world.retriever, rows, {
      ...ps.resolveRollout('parallelsearch', 'small-world'),
      temperature: 1,
      randoms: rows.map((_, i) => ps.createRandom(i)),
    });
}`);
    const rollout = 'rollOutAgainAndAgain()';
    expect(await interrupted(rollout)).toBe('AbortError');
    const training = `ps.runTraining({
  config: ps.trainingPreset('parallelsearch', 'instruct-1', 1),
  model: model,
  inputsHash: 'none',
  folder: runFolder,
  questions: world.questions,
  retriever: world.retriever,
})`;
    expect(await interrupted(training)).toBe('AbortError');
    expect(await run('existsSync(`${runFolder}/checkpoint`)')).toBe('true');
  });
});

// Last, because it ends the kernel.
it('a shutdown rejects the running cell and the following ones', async () => {
  const run = (code: string) => kernel.execute(code, { timeoutMs: 60_000, onOutput: silent });
  const rejection = expect(run('await new Promise(() => {})')).rejects.toThrow(/kernel ended/);
  await kernel.shutdown();
  await rejection;
  for (let i = 0; i < 2; i++) await expect(run('1')).rejects.toThrow(/kernel ended/);
  await expect(kernel.reset()).rejects.toThrow(/kernel ended/);
});
