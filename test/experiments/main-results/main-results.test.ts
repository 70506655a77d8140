/** The real notebook through the real kernel, on made-up results, and its page in a real browser. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyResults } from '../../../lib/evaluation/table.js';
import { loadMainResults, mainRuns } from '../../../lib/experiments/main-results/experiment.js';
import type { ExportedReport } from '../../../lib/experiments/reports.js';
import { runName } from '../../../lib/experiments/runs.js';
import { rowsOf } from '../../../lib/report/frame.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { exportNotebook } from '../export-notebook.js';
import { writeSyntheticAnswers } from '../synthetic.js';

const root = mkdtempSync(path.join(tmpdir(), 'report-'));
const folder = path.join(root, 'results');
let report: ExportedReport;

beforeAll(async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 10 });
  report = await exportNotebook('01-main-results', root, { folder });
}, 300_000);
afterAll(() => rmSync(root, { recursive: true }));

describe('the runs', () => {
  it('are every method from both initial models; an untrained one needs one seed', () => {
    expect(mainRuns().slice(0, 4).map(runName)).toEqual([
      ...['instruct-parallelsearch-seed1', 'instruct-search-r1-seed1'],
      ...['base-parallelsearch-seed1', 'base-search-r1-seed1'],
    ]);
    expect(mainRuns()).toHaveLength(20);
    expect(mainRuns().filter(({ method }) => method === 'r1')).toHaveLength(2);
  });
});

describe('the predictions', () => {
  it('are answered by the figures, and go into the file beside the page', async () => {
    const { predictions, tidy } = await loadMainResults(folder, { resamples: 50 });
    const rows = rowsOf(predictions);
    expect(rows).toHaveLength(6);
    expect(tidy.provenance.predictions).toEqual(rows);
    const [em, calls, , sequential] = rows;
    expect(em.found).toMatch(/^[+−]\d/);
    // Made-up ParallelSearch decomposes all parallelizable questions and no other.
    expect([calls, sequential].map(({ holds }) => holds)).toEqual([true, true]);
    expect(sequential.found).toBe('0.000 [0.000, 0.000]');
  });
});

describe('the notebook', () => {
  it('exports one page below 3 MB and its numbers beside it', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const tidy = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyResults;
    expect(Object.keys(tidy)).toEqual(['rows', 'contrasts', 'provenance']);
    expect(tidy.provenance.backend).toBe('a made-up backend');
    expect(tidy.rows.some((row) => row.subset === 'parallelizable_5')).toBe(true);
  });

  it('says in every section what was found', () => {
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<p class="finding">/g)!.length).toBeGreaterThanOrEqual(5);
    expect(html).toMatch(/of 6 predictions hold/);
  });

  it('is listed in the index with its predictions', () => {
    const index = readFileSync(report.index, 'utf8');
    expect(index).toContain(
      '<a href="main-results.html">ParallelSearch beside Search-R1: the main results</a>',
    );
    expect(index).toMatch(/Needs at most 70 % of the model calls.*0\.\d/);
  });
});

it.skipIf(!chromiumPath)(
  'is a page that works for every reader',
  async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
  300_000,
);
