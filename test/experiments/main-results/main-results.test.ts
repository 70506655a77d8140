/** The real notebook through the real kernel, on made-up results, and its page in a real browser. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyResults } from '../../../lib/evaluation/table.js';
import type { ExportedReport } from '../../../lib/experiments/export.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { writeSyntheticEvaluation } from '../../evaluation/synthetic.js';
import { exportNotebook } from '../export-notebook.js';

const folder = mkdtempSync(path.join(tmpdir(), 'report-'));
let report: ExportedReport;

beforeAll(async () => {
  writeSyntheticEvaluation(path.join(folder, 'evaluation'), { perTemplate: 10 });
  const parameters = { evaluation: path.join(folder, 'evaluation') };
  report = await exportNotebook('01-main-results', folder, parameters);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the notebook', () => {
  it('exports one page below 3 MB and its numbers beside it', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const tidy = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyResults;
    expect(Object.keys(tidy)).toEqual(['rows', 'contrasts', 'provenance']);
    expect(tidy.provenance.backend).toBe('wasm');
    expect(tidy.rows.some((row) => row.subset === 'parallelizable_5')).toBe(true);
  });

  it('is listed in the index with its headline figures', () => {
    const index = readFileSync(report.index, 'utf8');
    expect(index).toContain(
      '<a href="main-results.html">ParallelSearch beside Search-R1: the main results</a>',
    );
    expect(index).toMatch(/Needs at most 70 % of the model calls.*ratio \d/);
  });
});

it.skipIf(!chromiumPath)(
  'is a page that works for every reader',
  async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
  300_000,
);
