/** The first lesson through the real kernel, with a single step. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportedReport } from '../../../lib/experiments/reports.js';
import { chromiumPath } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { exportNotebook } from '../export-notebook.js';

describe('the notebook of first steps', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'first-steps-'));
  let report: ExportedReport;
  beforeAll(async () => {
    report = await exportNotebook('00-first-steps', folder, { steps: 1 });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('exports one page below 3 MB with rollouts, rewards and curves', () => {
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<div class="ps-transcript"/g)).toHaveLength(3);
    expect(html.match(/<figure class="chart"/g)).toHaveLength(3);
    expect(html.match(/<table class="ps-table"/g)).toHaveLength(4);
    expect(report.json).toBeNull();
  });

  it('says what was found: of both rollouts, of each lambda, and of training with either reward', () => {
    const html = readFileSync(report.html, 'utf8');
    for (const found of [
      'Search turns for the same question: ParallelSearch 1 and Search-R1 3.',
      // 1.45 for asking at once; 1 - 2 * 0.35 for two turns too many
      'In a group of these two, ParallelSearch’s rollout is ahead by 1.15.',
      'ParallelSearch’s rollout is ahead by 2.20 (λ_d), 1.45 (λ_s) and 1.15 (λ_f).',
    ])
      expect(html).toContain(found);
    const [up, down] = [
      /probability of (0\.\d+) to (0\.\d+)/,
      /reward “all at once” went from (0\.\d+) to (0\.\d+)/,
    ].map((pattern) => pattern.exec(html)!.slice(1).map(Number));
    expect(up[1]).toBeGreaterThan(up[0]);
    expect(down[0]).toBe(up[0]);
    expect(down[1]).toBeLessThan(down[0]);
  });

  it.skipIf(!chromiumPath)(
    'exports a page that works for every reader',
    async () => expect(await complaintsAboutReport(report.html)).toEqual([]),
    300_000,
  );
});
