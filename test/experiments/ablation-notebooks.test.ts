/** The notebooks on the rewards' weights and on passages a sub-query, through the real kernel on made-up results. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyTable } from '../../lib/evaluation/table.js';
import type { JudgedClaim } from '../../lib/experiments/verdicts.js';
import { chromiumPath } from '../browser/chromium.js';
import { complaintsAboutReport } from '../browser/page-checks.js';
import { writeSyntheticLambdaAblation } from './lambda-ablation/synthetic.js';
import { writeSyntheticTopK } from './top-k/synthetic.js';
import { exportNotebook } from './export-notebook.js';

const folder = mkdtempSync(path.join(tmpdir(), 'ablation-notebooks-'));
const REPORTS = [
  { file: '02-lambda-ablation', name: 'lambda-ablation', numCharts: 8, keys: ['lambda_d', 'lambda_s'] },
  { file: '04-top-k', name: 'top-k', numCharts: 3, keys: ['retriever', 'k'] },
];

beforeAll(() => {
  writeSyntheticLambdaAblation(path.join(folder, 'results', 'lambda-ablation'));
  writeSyntheticTopK(path.join(folder, 'results', 'top-k'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(REPORTS)('the notebook $file', ({ file, name, numCharts, keys }) => {
  it('exports one page below 3 MB with all charts, and its numbers beside it', async () => {
    const report = await exportNotebook(file, folder, { experiment: path.join(folder, 'results', name) });
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(numCharts);
    const { rows, contrasts } = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyTable;
    expect(contrasts.length).toBeGreaterThan(0);
    for (const item of [...rows, ...contrasts]) for (const key of keys) expect(item).toHaveProperty(key);
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
  const judged = Object.fromEntries(claims.map((claim) => [claim.id, claim]));
  expect(judged['lambda-best']).toMatchObject({
    verdict: 'not shown',
    link: 'lambda-ablation.html#cell-claims',
  });
  expect(judged['lambda-best'].parts).toHaveLength(6);
  expect(judged['lambda-calls']).toMatchObject({
    verdict: 'shown',
    parts: ['beside the other', 'alone'].map((of) => ({ of, found: { value: -2 } })),
  });
  expect(judged['top-k']).toMatchObject({ verdict: 'shown', link: 'top-k.html#cell-claims' });
  expect(judged['top-k'].parts).toHaveLength(1);
  for (const name of ['lambda-ablation', 'top-k'])
    expect(readFileSync(path.join(folder, `${name}.html`), 'utf8')).toContain('id="cell-claims"');
});
