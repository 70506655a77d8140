/** The report on the weights of the two rewards, on made-up answers: its numbers, its notebook, its page. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matching, type TidyTable } from '../../../lib/evaluation/table.js';
import { lambdaAblation, loadLambdaAblation } from '../../../lib/experiments/lambda-ablation/experiment.js';
import type { ExportedReport } from '../../../lib/experiments/reports.js';
import { tradeOffChart } from '../../../lib/experiments/lambda-ablation/figures.js';
import { judgeClaims } from '../../../lib/experiments/verdicts.js';
import { frameOf, rowsOf, type Row } from '../../../lib/report/frame.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { exportNotebook } from '../export-notebook.js';
import { writeSyntheticLambdaAblation } from './synthetic.js';

const folder = mkdtempSync(path.join(tmpdir(), 'lambda-ablation-'));
beforeAll(() => writeSyntheticLambdaAblation(folder));
afterAll(() => rmSync(folder, { recursive: true }));

const ON_PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

describe('the settings', () => {
  let rows: Row[];
  let contrasts: Row[];
  beforeAll(async () => {
    const results = await loadLambdaAblation(folder, { resamples: 60 });
    [rows, contrasts] = [rowsOf(results.rows), rowsOf(results.contrasts)];
    const chart = tradeOffChart(frameOf(matching(rows, ON_PARALLEL)));
    expect(chart.alt).toMatch(/\(0, 0\) 0\.\d+ with 4\.00 calls; /);
  });

  const differences = (fields: object): Row[] =>
    matching(contrasts, { ...ON_PARALLEL, kind: 'difference', ...fields });

  it('are named in every row and contrast, with their weights', () => {
    expect(rows.length).toBeGreaterThan(0);
    for (const { method, lambda_d, lambda_s, setting } of [...rows, ...contrasts]) {
      expect(method).toBe(`lambda_d=${lambda_d},lambda_s=${lambda_s}`);
      expect(setting).toBe(`(${lambda_d}, ${lambda_s})`);
    }
  });

  it('stand beside the paper’s Table 4', () => {
    const cell = { ...ON_PARALLEL, rewards: 'paper', benchmark: '2wikimultihopqa' };
    const figures = matching(rows, cell);
    expect(Object.fromEntries(figures.map(({ metric, paper }) => [metric, paper]))).toEqual({
      ...{ em: 0.65, decomposition_ratio: 0.9975, model_calls: 2.03, coverage: null, turns: null },
    });
  });

  it('are compared: the paper’s with all others, the twins with each other, each reward alone with neither', () => {
    const againstOthers = differences({ setting: '(0.15, 0.35)', metric: 'model_calls' });
    expect(againstOthers).toHaveLength(9);
    expect(againstOthers.find((row) => row.against_setting === '(0.15, 0)')).toMatchObject({
      ...{ value: -2, low: -2, high: -2 },
    });
    const sides = { setting: '(0.15, 0.35)', against_setting: '(0, 0.35)' };
    const decomposed = { ...sides, metric: 'decomposition_ratio' };
    expect(differences(decomposed)).toMatchObject([{ value: 1, low: 1, high: 1 }]);
    expect(differences({ setting: '(0.5, 0.35)' }).map((row) => row.against_setting)).toEqual(
      Array(5).fill('(0.15, 0.5)'),
    );
    // In the made-up answers any lambda_s saves two calls.
    const alone = differences({ against_setting: '(0, 0)', metric: 'model_calls' });
    expect(Object.fromEntries(alone.map(({ setting, value }) => [setting, value]))).toEqual({
      ...{ '(0.15, 0.35)': -2, '(0, 0.35)': -2, '(0.15, 0)': 0, '(0, 0.01)': -2, '(0.01, 0)': 0 },
    });
  });
});

describe('the notebook', () => {
  let report: ExportedReport;
  beforeAll(async () => {
    report = await exportNotebook('02-lambda-ablation', path.join(folder, 'reports'), { folder });
  }, 300_000);

  it('exports one page below 3 MB with all charts and what was found, and its numbers beside it', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(8);
    expect(html).toContain('ahead of 0 of 9 other settings and behind 0');
    expect(html).toContain('3 of 3 savings are there.');
    expect(html).toContain('id="cell-claims"');
    const { rows, contrasts, provenance } = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyTable;
    for (const item of [...rows, ...contrasts]) expect(item).toHaveProperty('lambda_d');
    expect(contrasts).toHaveLength(980);
    expect(provenance.predictions).toHaveLength(3);
  });

  it('decides the paper’s claims', () => {
    const [best, calls] = judgeClaims([lambdaAblation], path.dirname(report.html));
    expect(best).toMatchObject({ verdict: 'not shown', link: 'lambda-ablation.html#cell-claims' });
    expect(best.parts).toHaveLength(6);
    expect(best.tables).toContain('the rows (0.5, 0.35) and (0.15, 0.5) are identical');
    expect(calls).toMatchObject({
      verdict: 'shown',
      parts: ['beside the other', 'alone'].map((of) => ({ of, found: { value: -2 } })),
    });
  });

  it.skipIf(!chromiumPath)(
    'makes a page that works for every reader',
    async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
    300_000,
  );
});
