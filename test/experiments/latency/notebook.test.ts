/** The real notebook through the real kernel, on made-up results. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyTable } from '../../../lib/evaluation/table.js';
import type { LatencyRow } from '../../../lib/experiments/latency/measures.js';
import type { ExportedReport } from '../../../lib/experiments/reports.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { writeSyntheticLatency } from './synthetic.js';
import { writeSyntheticTiming } from '../synthetic.js';
import { exportNotebook } from '../export-notebook.js';

const folder = mkdtempSync(path.join(tmpdir(), 'latency-report-'));
let report: ExportedReport;

beforeAll(async () => {
  const results = path.join(folder, 'results');
  await writeSyntheticLatency(results);
  await writeSyntheticTiming(results);
  report = await exportNotebook('07-latency', path.join(folder, 'reports'), { folder: results });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the latency notebook', () => {
  it('exports one page below 3 MB with all charts and tables, and its numbers beside it', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(4);
    expect(html.match(/<table class="ps-table"/g)).toHaveLength(1 + 4 + 1 + 1 + 1 + 1 + 2);
    expect(html).toContain('<dt>Costs of a request (ms)</dt>');
    expect(html).toContain('1.00 before, 2.00 after');
    const { rows, provenance } = JSON.parse(readFileSync(report.json!, 'utf8')) as TidyTable<LatencyRow>;
    expect(rows).toHaveLength(4 * 8 * 6 * 2);
    expect(provenance).toMatchObject({
      commit: '<0000000>',
      generation: { msPerCall: expect.closeTo(10) as number },
    });
  });

  it('says what was found', () => {
    const html = readFileSync(report.html, 'utf8');
    for (const found of [
      // (8 * 3 + 50) / (8 * 53) and (8 * 3 + 200) / (8 * 203)
      '0.175 [0.175, 0.175] (HTTP, 50 ms delay) and 0.138 [0.138, 0.138] (HTTP, 200 ms delay)',
      '8 sub-queries take 1624 [1462, 1949] ms (one turn, 1 at a time)',
      'the model gives 1.00 to 1.00 of what was measured',
      // (4 * 10 + 3 * 203) / (2 * 10 + 9 + 200)
      '2.83 (HTTP, 200 ms delay)',
    ])
      expect(html).toContain(found);
  });

  it('is listed in the index with its prediction', () => {
    const index = readFileSync(report.index, 'utf8');
    expect(index).toContain('<a href="latency.html">What asking side by side saves: wall clock</a>');
    expect(index).toContain('0.138 [0.138, 0.138]');
  });

  it.skipIf(!chromiumPath)(
    'exports a page that works for every reader',
    async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
    300_000,
  );
});
