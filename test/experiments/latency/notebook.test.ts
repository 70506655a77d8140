/** The real notebook through the real kernel, on a made-up record. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LatencyResults } from '../../../lib/experiments/latency/measures.js';
import type { ExportedReport } from '../../../lib/experiments/export.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { writeSyntheticLatency } from './synthetic.js';
import { exportNotebook } from '../export-notebook.js';

const folder = mkdtempSync(path.join(tmpdir(), 'latency-report-'));
let report: ExportedReport;

beforeAll(async () => {
  const experiment = writeSyntheticLatency(path.join(folder, 'latency'));
  const nowhere = path.join(folder, 'nowhere');
  report = await exportNotebook('07-latency', path.join(folder, 'reports'), { experiment, timing: nowhere });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the latency notebook', () => {
  it('exports one page below 3 MB with all charts and tables, and its numbers beside it', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(4);
    expect(html.match(/<table class="ps-table"/g)).toHaveLength(3 + 4);
    expect(html).toContain('<dt>Costs of a request (ms)</dt>');
    const tidy = JSON.parse(readFileSync(report.json!, 'utf8')) as LatencyResults['tidy'];
    expect(Object.keys(tidy)).toEqual(['rows', 'contrasts', 'provenance']);
    expect(tidy.rows).toHaveLength(3 * 8 * 6);
    expect(tidy.rows.every(({ metric }) => metric === 'wall_ms')).toBe(true);
    expect(tidy.provenance).toMatchObject({ configHash: 'synthetic', generation: 'unknown' });
  });

  it('is listed in the index with its headline figure', () => {
    const index = readFileSync(report.index, 'utf8');
    expect(index).toContain('<a href="latency.html">What asking side by side saves: wall clock</a>');
    expect(index).toContain('<strong>yes</strong>, ratio 0.175 [0.175, 0.175]');
  });

  it.skipIf(!chromiumPath)(
    'exports a page that works for every reader',
    async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
    300_000,
  );
});
