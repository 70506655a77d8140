/** The charts and tables of the first lesson, and the lesson itself through the real kernel, with a single step. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Measurement } from '../../../lib/evaluation/result.js';
import { exportReport, type ExportedReport } from '../../../lib/experiments/export.js';
import {
  beforeAfterTable,
  firstSearchChart,
  lambdaChart,
  rewardTable,
} from '../../../lib/experiments/first-steps/figures.js';
import { cellsOf } from '../../../lib/report/frame.js';
import { renderSvg } from '../../../lib/report/render.js';
import { rewardsOf } from '../../../lib/rewards/presets.js';
import type { Rollout } from '../../../lib/rewards/rollout.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { rolloutLike } from '../../rewards/rollouts.js';
import { COMPARISON } from '../../training/tiny.js';

const ROLLOUTS: Record<string, Rollout> = {
  parallelsearch: rolloutLike(),
  'search-r1': rolloutLike({ searchTurns: [['a'], ['b']] }),
};

describe('rewardTable', () => {
  it('has a row for every component, and one for a reward of one’s own where there is one', () => {
    const { columns, rows } = cellsOf(rewardTable(ROLLOUTS));
    expect(columns).toEqual(['Component', 'ParallelSearch', 'Search-R1']);
    expect(rows.at(-1)).toEqual(['Total', '1.45', '0.65']);
    expect(rows).toHaveLength(5);
    const less = { name: 'less', score: () => -1 };
    const own = cellsOf(rewardTable(ROLLOUTS, [...rewardsOf('paper'), less]));
    expect(own.rows.slice(-2)).toEqual([
      ['Less', '−1.00', '−1.00'],
      ['Total', '0.45', '−0.35'],
    ]);
  });
});

describe('lambdaChart', () => {
  it('changes one lambda at a time and marks the default', async () => {
    const { spec, alt } = lambdaChart(ROLLOUTS);
    const { values } = spec.data as {
      values: { method: string; lambda: string; weight: number; total: number }[];
    };
    const totals = (method: string, lambda: string): [number, number][] =>
      values
        .filter((v) => v.method === method && v.lambda.startsWith(lambda))
        .map((v) => [v.weight, v.total]);
    expect(totals('ParallelSearch', 'λ_d')).toEqual([
      [0, 1],
      [0.15, 1.45],
      [0.5, 2.5],
    ]);
    expect(totals('Search-R1', 'λ_s').map(([, total]) => total)).toEqual([1, 0.65, 0.5]);
    expect(alt).toContain('ParallelSearch 1.45, Search-R1 0.65');
    expect(await renderSvg(lambdaChart(ROLLOUTS))).toContain('<svg');
  });
});

describe('firstSearchChart', () => {
  it('shows means over the questions, and what is left for other words', async () => {
    const at = (parallel: number, sequential: number) => ({ questionId: 'q', parallel, sequential });
    const chart = firstSearchChart([[at(0.1, 0.5), at(0.3, 0.7)], [at(0.8, 0.2)]]);
    expect(chart.alt).toContain(
      'over 1 steps: all at once from 0.200 to 0.800, one by one from 0.600 to 0.200, in other words from 0.200 to 0.000',
    );
    expect(await renderSvg(chart)).toContain('<svg');
  });
});

describe('beforeAfterTable', () => {
  it('takes means and computes rewards with the gold answers', () => {
    const measured = { answer: 'Bo Reed', formatOk: true, subset: 'parallelizable', modelCalls: 2 } as const;
    const before = { ...measured, em: 1, decomposed: false, turns: 2, searches: [['a'], ['b']] };
    const after = { ...measured, em: 1, decomposed: true, turns: 1, searches: [['a', 'b']] };
    const { rows } = cellsOf(
      beforeAfterTable([COMPARISON], [before as unknown as Measurement], [after as unknown as Measurement]),
    );
    expect(rows[0]).toEqual(['Reward', '0.65', '1.45']);
    expect(rows[2]).toEqual(['Decomposed (share)', '0.00', '1.00']);
  });
});

describe('the notebook of first steps', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const folder = mkdtempSync(path.join(tmpdir(), 'first-steps-'));
  let report: ExportedReport;
  beforeAll(async () => {
    if (!existsSync(path.join(root, 'dist', 'index.js')))
      throw new Error('Notebooks import dist/. Run "npm run build" first.');
    report = await exportReport({
      ...{ notebook: path.join(root, 'notebooks', '00-first-steps.ipynb'), name: 'first-steps' },
      ...{ outDir: folder, parameters: { steps: 1 }, log: () => undefined },
    });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('exports one page below 3 MB with rollouts, rewards and curves', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<div class="ps-transcript"/g)).toHaveLength(3);
    expect(html.match(/<figure class="chart"/g)).toHaveLength(3);
    expect(html.match(/<table class="ps-table"/g)).toHaveLength(3);
    expect(report.json).toBeNull();
  });

  it.skipIf(!chromiumPath)(
    'exports a page that works for every reader',
    async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
    300_000,
  );
});
