/** The notebooks on models, kinds of question and decomposition, through the real kernel on made-up results. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyResults } from '../../lib/evaluation/table.js';
import type { JudgedClaim } from '../../lib/experiments/verdicts.js';
import { chromiumPath } from '../browser/chromium.js';
import { complaintsAboutReport } from '../browser/page-checks.js';
import { writeSyntheticEvaluation, writeSyntheticTiming } from './synthetic.js';
import { exportNotebook } from './export-notebook.js';

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

beforeAll(() => {
  writeSyntheticEvaluation(evaluation, { perTemplate: 10 });
  writeSyntheticTiming(timing, { perTemplate: 4 });
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(REPORTS)('the notebook $file', ({ file, name, numCharts, metric }) => {
  it('exports one page below 3 MB with all charts, and its numbers beside it', async () => {
    const report = await exportNotebook(file, folder, { evaluation, ...OTHERS[name] });
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
    async () => expect(await complaintsAboutReport(path.join(folder, `${name}.html`))).toEqual([]),
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
