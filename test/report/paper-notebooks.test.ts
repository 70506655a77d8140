/** The notebooks on starts, kinds of question and decomposition, through the real kernel on made-up results. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyResults } from '../../lib/evaluation/table.js';
import { readNotebook, textOf } from '../../lib/notebook/nbformat.js';
import { exportReport } from '../../lib/report/export.js';
import type { JudgedClaim } from '../../lib/report/verdicts.js';
import { chromiumPath, startChromium } from '../browser/chromium.js';
import { reportComplaints } from '../browser/page-checks.js';
import { writeSyntheticEvaluation, writeSyntheticTiming } from '../evaluation/synthetic.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'paper-notebooks-'));
const evaluation = path.join(folder, 'evaluation');
const timing = path.join(folder, 'timing');
const questions = path.join(evaluation, 'questions.jsonl');
/** What a notebook reads beside the evaluation. */
const OTHERS: Record<string, object> = { decomposition: { questions }, 'parallel-vs-sequential': { timing } };
const REPORTS = [
  { file: '03-base-vs-instruct', name: 'base-vs-instruct', numCharts: 6, metric: 'response_tokens' },
  { file: '05-parallel-vs-sequential', name: 'parallel-vs-sequential', numCharts: 2, metric: 'seconds' },
  { file: '06-decomposition', name: 'decomposition', numCharts: 7, metric: 'parallelizing_f1' },
];
const notebookOf = (file: string): string => path.join(root, 'notebooks', `${file}.ipynb`);

beforeAll(() => {
  if (!existsSync(path.join(root, 'dist', 'index.js')))
    throw new Error('Notebooks import dist/. Run "npm run build" first.');
  writeSyntheticEvaluation(evaluation, { perTemplate: 10 });
  writeSyntheticTiming(timing, { perTemplate: 4 });
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(REPORTS)('the notebook $file', ({ file, name, numCharts, metric }) => {
  it('has cells of at most 10 lines which define no function, and no stale outputs', () => {
    for (const cell of readNotebook(notebookOf(file)).cells) {
      if (cell.cell_type !== 'code') continue;
      const source = textOf(cell.source);
      expect(source.split('\n').length).toBeLessThanOrEqual(10);
      expect(source).not.toMatch(/\bfunction\b|=>/);
      expect(cell.outputs).toEqual([]);
    }
  });

  it('exports one page below 3 MB with all charts, and its numbers beside it', async () => {
    const report = await exportReport({
      ...{ notebook: notebookOf(file), name, outDir: folder },
      parameters: { evaluation, ...OTHERS[name] },
      log: () => undefined,
    });
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(numCharts);
    expect(html).toContain('<div class="cell" id="cell-load">');
    const { rows, contrasts } = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyResults;
    expect(rows.some((row) => row.metric === metric)).toBe(true);
    expect(contrasts.length).toBeGreaterThan(0);
  }, 300_000);

  it.skipIf(!chromiumPath)(
    'exports a page that works for every reader',
    async () => {
      const browser = await startChromium();
      expect(await reportComplaints(browser, path.join(folder, `${name}.html`))).toEqual([]);
      await browser.close();
    },
    300_000,
  );
});

it('the claims that these reports decide are judged, and lead to cells that are there', () => {
  const { claims } = JSON.parse(readFileSync(path.join(folder, 'index.json'), 'utf8')) as {
    claims: JudgedClaim[];
  };
  const linked = claims.flatMap(({ link, verdict }) => (link ? [{ link, verdict }] : []));
  expect(linked.length).toBeGreaterThanOrEqual(8);
  for (const { link, verdict } of linked) {
    const [page, anchor] = link.split('#');
    expect(readFileSync(path.join(folder, page), 'utf8')).toContain(`id="${anchor}"`);
    expect(verdict).not.toMatch(/not computed/);
  }
});
