/** The real notebook through the real kernel, on made-up results, and its page in a real browser. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TidyResults } from '../../lib/evaluation/table.js';
import { readNotebook, textOf } from '../../lib/notebook/nbformat.js';
import { exportReport, type ExportedReport } from '../../lib/report/export.js';
import { writeSyntheticEvaluation } from '../evaluation/synthetic.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const notebook = path.join(root, 'notebooks', '01-main-results.ipynb');
const folder = mkdtempSync(path.join(tmpdir(), 'report-'));
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
);
let report: ExportedReport;

beforeAll(async () => {
  if (!existsSync(path.join(root, 'dist', 'index.js')))
    throw new Error('Notebooks import dist/. Run "npm run build" first.');
  writeSyntheticEvaluation(path.join(folder, 'evaluation'), { perTemplate: 10 });
  const parameters = { evaluation: path.join(folder, 'evaluation') };
  report = await exportReport({
    notebook,
    name: 'main-results',
    outDir: folder,
    parameters,
    log: () => undefined,
  });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('the notebook', () => {
  it('has cells of at most 10 lines which define no function, and no stale outputs', () => {
    for (const cell of readNotebook(notebook).cells) {
      if (cell.cell_type !== 'code') continue;
      const source = textOf(cell.source);
      expect(source.split('\n').length).toBeLessThanOrEqual(10);
      expect(source).not.toMatch(/\bfunction\b|=>/);
      expect(cell.outputs).toEqual([]);
    }
  });

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

describe.skipIf(!chromium)('the page in Chromium', () => {
  const open = (file: string): { dom: string; log: string } => {
    const log = path.join(folder, 'chromium.log');
    const profile = path.join(folder, 'profile');
    const flags = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--virtual-time-budget=10000',
      `--user-data-dir=${profile}`,
    ];
    const logging = ['--enable-logging', `--log-file=${log}`, '--dump-dom', pathToFileURL(file).href];
    const options = { stdio: 'pipe', maxBuffer: 1e8, timeout: 50_000 } as const;
    const dom = execFileSync(chromium!, [...flags, ...logging], options).toString();
    return { dom, log: readFileSync(log, 'utf8') };
  };

  it('makes every chart interactive, with nothing on the console', () => {
    const numCharts = readFileSync(report.html, 'utf8').match(/data-chart=/g)!.length;
    const { dom, log } = open(report.html);
    expect(dom.match(/class="drawing vega-embed/g)?.length).toBe(numCharts);
    expect(log.split('\n').filter((line) => line.includes('CONSOLE'))).toEqual([]);
  });
});
