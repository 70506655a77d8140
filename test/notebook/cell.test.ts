import { existsSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { startKernel, type Kernel } from '../../lib/notebook/kernel.js';
import { codeCells, type CellOutput } from '../../lib/notebook/nbformat.js';
import { runNotebook } from '../../lib/notebook/runner.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';
import { code, writeCells } from './notebooks.js';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const folder = temporaryFolder();
if (!existsSync(packagePath('dist', 'index.js')))
  throw new Error('Notebooks import dist/. Run "npm run build" first.');
symlinkSync(packagePath('dist'), path.join(folder, 'dist'), 'junction');

const silent = (): void => undefined;

/** MIME types of displays in a cell, and the text that it prints. */
const describeOutput = (output: CellOutput): unknown =>
  'data' in output ? Object.keys(output.data) : 'text' in output && output.text;

const TABLE = ['text/html', 'application/vnd.parallelsearch.table+json', 'text/plain'];
const CHART = ['application/vnd.vegalite.v5+json', 'image/svg+xml', 'text/plain'];

let kernel: Kernel;
beforeAll(async () => (kernel = await startKernel(folder)));
afterAll(() => kernel.shutdown());

describe('the last expression of a cell', () => {
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

describe('Interrupt', () => {
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
