/** Outputs in JupyterLab, with the real kernel and a real browser. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { findJupyterLab, INSTALL_JUPYTERLAB } from '../../lib/notebook/jupyter.js';
import { KERNEL_NAME, kernelspec } from '../../lib/notebook/jupyter.js';
import { readNotebook } from '../../lib/notebook/nbformat.js';
import { chromiumPath, closeChromium, openPage } from '../browser/chromium.js';
import type { OpenPage, Page } from '../browser/chromium.js';
import { isFull } from '../full.js';
import { startLab, type LabServer } from './lab-server.js';
import { code, markdown, writeCells } from './notebooks.js';

/** An idle machine needs a few seconds. */
const PATIENCE_MS = 300_000;

const { found } = isFull ? await findJupyterLab() : {};
if (isFull && !found)
  console.warn(`No JupyterLab was found, so that its test is skipped. ${INSTALL_JUPYTERLAB}`);

/** The notebook's kernel in JupyterLab. */
const KERNEL = 'globalThis.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel';

/** The most frequent opaque colour of a chart: its text and axes. */
const INK = `(() => {
  const { data } = found.getContext('2d').getImageData(0, 0, found.width, found.height);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const color = data.slice(i, i + 3).join();
    if (data[i + 3] === 255) counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a)[0][0].split(',').map(Number);
})()`;

const CELLS = [
  markdown('# Small\n\nA chart, a table, a data frame, a rollout, progress.'),
  code(
    `import * as ps from '../dist/report/index.js';
const rewards = ps.createFrame(
  [1, 2, 3, 4, 5].map((step) => ({ method: 'parallelsearch', metric: 'reward', step, value: step / 5 })),
);`,
  ),
  code(
    `await ps.display(ps.lineChart(rewards, { title: 'Reward over training', x: 'step', color: 'method' }));`,
  ),
  code(`await ps.display(ps.plainTable(rewards, 'Rewards of five steps.'));`),
  code('await ps.display(rewards);'),
  code(
    `const segments = [{ kind: 'policy', text: '<think> why </think><answer> A </answer>', tokenIds: [1] }];
await ps.display(ps.createTranscript({ question: 'A?', segments: segments as never, searchTurns: [] }));`,
  ),
  code(
    `import * as tslab from 'tslab';
const bar = tslab.newDisplay();
for (const done of [0, 1, 2]) bar.html(\`<progress max="2" value="\${done}"></progress>\`);
console.log('kernel', process.pid, process.ppid);`,
  ),
];

describe.skipIf(!found || !chromiumPath)(
  'a notebook in JupyterLab (needs JupyterLab, Chromium and test:full)',
  { timeout: PATIENCE_MS },
  () => {
    let lab: LabServer;
    let opened: OpenPage;
    let page: Page;
    let kernelPid = 0;

    const outputs = <T>(selector: string, expression: string): Promise<T> =>
      page.evaluate(
        `[...document.querySelectorAll('.jp-OutputArea-output ${selector}')].map((found) => ${expression})`,
      );
    const execute = (command: string, args = {}): Promise<void> =>
      page.evaluate(
        `jupyterapp.commands.execute('${command}', ${JSON.stringify(args)}).then(() => undefined)`,
      );

    beforeAll(async () => {
      if (!existsSync(packagePath('dist', 'index.js')))
        throw new Error('Notebooks import dist/. Run "npm run build" first.');
      lab = await startLab(found!.executable);
      writeCells(path.join(lab.notebooks, 'small.ipynb'), ...CELLS);
      opened = await openPage(lab.url('/lab/tree/small.ipynb'));
      page = opened.page;
      page.setDefaultTimeout(PATIENCE_MS);
      await page.waitForFunction(`${KERNEL}?.status === 'idle'`);
      await execute('notebook:run-all-cells');
      await page.waitForFunction(`${KERNEL}?.status === 'idle'`);
    }, 2 * PATIENCE_MS);
    afterAll(async () => {
      await closeChromium();
      await lab?.close();
      if (kernelPid > 0)
        expect(() => process.kill(kernelPid, 0), 'the kernel has ended').toThrow('ESRCH');
    }, PATIENCE_MS);

    it('uses this package’s kernel', async () => {
      type Answer = { kernelspecs: Record<string, { spec: object }> };
      const { kernelspecs } = await lab.ask<Answer>('/api/kernelspecs');
      expect(kernelspecs[KERNEL_NAME].spec).toMatchObject(kernelspec());
    });

    it('runs every cell without an error', async () => {
      const prompts = `[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map((prompt) => prompt.textContent)`;
      expect(String(await page.evaluate(prompts))).toBe('[1]:,[2]:,[3]:,[4]:,[5]:,[6]:');
      const types = await page.evaluate(
        `[...document.querySelectorAll('.jp-OutputArea-output')].map((output) => output.dataset.mimeType ?? null)`,
      );
      const html = Array<string>(4).fill('text/html');
      // JupyterLab has no names for charts.
      expect(types).toEqual([null, ...html, 'application/vnd.jupyter.stdout']);
      const said = (await outputs<string[]>('pre', 'found.textContent')).join();
      kernelPid = Number(/kernel (\d+)/.exec(said)?.[1]);
      expect(kernelPid).toBeGreaterThan(1);
    });

    it.each(['ps.lineChart', 'ps.lineChart(', 'ps.lineChart(rewards, { title: [1] '])(
      'documents the function at the end of %s',
      async (source) => {
        const request = { code: source, cursor_pos: source.length, detail_level: 0 };
        const reply = await page.evaluate(
          `${KERNEL}.requestInspect(${JSON.stringify(request)}).then(({ content }) => content)`,
        );
        const text = expect.stringMatching(/lineChart\(frame: .*lines over a quantity/s) as string;
        expect(reply).toMatchObject({ found: true, data: { 'text/plain': text } });
      },
    );

    it('shows charts, tables, data frames and progress as HTML', async () => {
      expect(await outputs('.vega-embed canvas.marks', 'found.width > 200')).toEqual([true]);
      expect(await outputs('table', `found.querySelectorAll('tbody tr').length`)).toEqual([5, 5]);
      expect(await outputs('progress', 'found.value')).toEqual([2]);
    });

    it.each([
      ['JupyterLab Light', true, 0, 'rgb(107, 79, 187)'],
      ['JupyterLab Dark', false, 255, 'rgb(195, 177, 255)'],
    ])('follows the theme %s', async (theme, isLight, ink, think) => {
      await execute('apputils:change-theme', { theme });
      await page.waitForFunction(`document.body.dataset.jpThemeLight === '${isLight}'`);
      const colors = await outputs('.ps-transcript .think .tag', 'getComputedStyle(found).color');
      expect(colors).toEqual([think]);
      await execute('notebook:run-all-cells'); // Charts keep the colours they were drawn in.
      expect(await outputs('canvas.marks', INK)).toEqual([[ink, ink, ink]]);
    });

    async function typeCell(source: string): Promise<void> {
      await execute('notebook:insert-cell-below');
      await execute('notebook:enter-edit-mode');
      await page.keyboard.type(source);
    }
    const startCell = (): Promise<void> =>
      page.evaluate(`void jupyterapp.commands.execute('notebook:run-cell')`);
    /** The output of the last cell. */
    const shown = (): Promise<string> =>
      page.evaluate(
        `document.querySelector('.jp-Cell.jp-mod-active .jp-OutputArea')?.textContent ?? ''`,
      );

    it('completes names of the library and documents functions', async () => {
      await typeCell('ps.li');
      await page.keyboard.press('Tab');
      await page.waitForSelector('.jp-Completer [data-value="lineChart"]');
      const names = await page.evaluate(
        `[...document.querySelectorAll('.jp-Completer [data-value]')].map(({ dataset }) => dataset.value)`,
      );
      expect(names).toContain('lineChart');
      await page.keyboard.press('Escape');
      await page.keyboard.type('neChart');
      await page.keyboard.press('Shift+Tab');
      const tooltip = await page.waitForSelector('.jp-Tooltip');
      expect(await tooltip.textContent()).toMatch(
        /lineChart\(frame: .*, spec: .*\): .*lines over a quantity/s,
      );
      await page.keyboard.press('Escape');
      await execute('notebook:delete-cell');
    });

    it('interrupts a waiting cell and runs the next one', async () => {
      await typeCell(`console.log('waiting'); await new Promise(() => undefined);`);
      await startCell();
      // tslab ignores interrupts while it compiles.
      await page.waitForFunction(`document.querySelector('.jp-Cell.jp-mod-active pre')`);
      await execute('notebook:interrupt-kernel');
      await page.waitForFunction(`${KERNEL}?.status === 'idle'`);
      expect(await shown()).toMatch(/Interrupted(?!.* at )/s);
      await execute('notebook:delete-cell');
      await sleep(300); // tslab rejects requests for 200 ms after a failed cell
      await typeCell(`console.log('kernel', process.pid);`);
      await execute('notebook:run-cell');
      expect(await shown()).toContain(`kernel ${kernelPid}`);
    });

    it('restarts the kernel in a new process without old names', async () => {
      await page.evaluate(`void jupyterapp.commands.execute('notebook:restart-kernel')`);
      await page.click('.jp-Dialog .jp-mod-accept');
      const hasEnded = () => expect(() => process.kill(kernelPid, 0)).toThrow('ESRCH');
      await vi.waitFor(hasEnded, { timeout: PATIENCE_MS });
      await execute('notebook:run-cell');
      const before = kernelPid;
      kernelPid = Number(/kernel (\d+)/.exec(await shown())?.[1]);
      expect(kernelPid).toBeGreaterThan(1);
      expect(kernelPid).not.toBe(before);
      await typeCell('rewards.shape');
      await execute('notebook:run-cell').catch(() => undefined);
      expect(await shown()).toContain(`Cannot find name 'rewards'`);
      await execute('notebook:delete-cell');
    });

    it('shows charts and tables again after a reload', async () => {
      await execute('docmanager:save');
      await page.reload();
      await page.waitForSelector('.jp-OutputArea-output .vega-embed canvas.marks');
      expect(await outputs('.vega-embed canvas.marks', 'found.width > 200')).toEqual([true]);
      expect(await outputs('table', `found.querySelectorAll('tbody tr').length`)).toEqual([5, 5]);
    });

    it('can be exchanged with this package in both directions', async () => {
      const saved = path.join(lab.notebooks, 'small.ipynb');
      expect(readNotebook(saved).cells).toHaveLength(CELLS.length + 1);
      const validate =
        'import nbformat, sys; [nbformat.validate(nbformat.read(f, as_version=4)) for f in sys.argv[1:]]';
      const files = ['notebooks', 'data/templates'].flatMap((folder) =>
        readdirSync(packagePath(folder), { recursive: true, encoding: 'utf8' })
          .filter((file) => file.endsWith('.ipynb'))
          .map((file) => packagePath(folder, file)),
      );
      expect(files.length).toBeGreaterThan(2);
      const strictly = ['-W', 'error', '-c', validate];
      await promisify(execFile)(found!.executable, [...strictly, saved, ...files]);
    });

    it('only sends requests to its own server', () => {
      const isOwn = (url: string) => url.startsWith('blob:') || url.startsWith(lab.url('/').origin);
      expect(opened.requests.filter((url) => !isOwn(url))).toEqual([]);
    });
  },
);
