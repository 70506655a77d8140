/** A page with everything that reports are made of, in a real browser: for every reader, with scripts and without. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeIndex } from '../../lib/experiments/reports.js';
import { reportHtml } from '../../lib/report/html.js';
import { chromiumPath, startChromium, type Browser, type BrowserPage } from '../browser/chromium.js';
import { accessibilityComplaints, chartsDrawn } from '../browser/page-checks.js';
import { syntheticNotebook } from '../report/fixtures.js';

const NUM_CHARTS = 5;
const folder = mkdtempSync(path.join(tmpdir(), 'page-'));
const file = path.join(folder, 'report.html');
let index: string;
let browser: Browser;

beforeAll(async () => {
  writeFileSync(file, reportHtml(await syntheticNotebook()).html);
  index = await writeIndex(folder);
  if (chromiumPath) browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const count = (selector: string): string => `document.querySelectorAll('${selector}').length`;
it('is a file of less than 3 MB', () => {
  expect(statSync(file).size).toBeLessThan(3e6);
});

describe.skipIf(!chromiumPath)('a report in Chromium', () => {
  let page: BrowserPage;
  beforeAll(async () => {
    page = await browser.newPage();
    await page.open(file);
    await chartsDrawn(page);
  });

  it('draws every chart, complains of nothing, asks for nothing', async () => {
    expect(await page.evaluate(count('.drawing .vega-embed svg'))).toBe(NUM_CHARTS);
    expect(page.complaints).toEqual([]);
    expect(page.requests).toEqual([]);
  });

  it('folds code and data at first', async () => {
    expect(await page.evaluate(count('details.code:not([open])'))).toBe(8);
    expect(await page.evaluate(count('details[open]'))).toBe(0);
  });

  it('leads from the contents to every section', async () => {
    const links = await page.evaluate<string>(
      `[...document.querySelectorAll('nav.toc a')].map((a) => a.textContent).join(', ')`,
    );
    expect(links).toBe('Charts, Over training, Tables, Where the numbers come from, To cite');
  });

  it('offers files of charts and tables', async () => {
    const names = await page.evaluate<string>(
      `[...document.querySelectorAll('.downloads :is(a, button)')].slice(0, 4).map((x) => x.ariaLabel).join('\\n')`,
    );
    const title = 'Exact match by benchmark, with 95 % intervals';
    expect(names).toBe(['CSV', 'SVG', 'PNG', 'Vega-Lite'].map((kind) => `${kind}: ${title}`).join('\n'));
  });

  it('prints light and without what only a screen needs', async () => {
    await page.send('Emulation.setEmulatedMedia', {
      media: 'print',
      features: [{ name: 'prefers-color-scheme', value: 'dark' }],
    });
    expect(await page.evaluate(`getComputedStyle(document.body).backgroundColor`)).toBe('rgb(255, 255, 255)');
    const shown = `[...document.querySelectorAll('nav, details, .downloads, button')].filter((x) => x.checkVisibility()).length`;
    expect(await page.evaluate(shown)).toBe(0);
    await page.send('Emulation.setEmulatedMedia', { media: '', features: [] });
  });

  it('is accessible', async () => {
    expect(await accessibilityComplaints(page)).toEqual([]);
  }, 300_000);
});

describe.skipIf(!chromiumPath)('a report in Chromium without scripts', () => {
  let page: BrowserPage;
  const downloads = path.join(folder, 'downloads');
  beforeAll(async () => {
    page = await browser.newPage();
    await page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await page.open(file);
  });

  it('shows every chart as a picture, with its data as a table', async () => {
    expect(await page.evaluate(count('.vega-embed'))).toBe(0);
    expect(await page.evaluate(count('figure.chart .drawing[role=img] > svg'))).toBe(NUM_CHARTS);
    expect(await page.evaluate(count('figure.chart details.data table'))).toBe(NUM_CHARTS);
    expect(await page.evaluate(count('button:not([hidden])'))).toBe(0);
    expect(page.complaints).toEqual([]);
  });

  it('is accessible', async () => {
    expect(await accessibilityComplaints(page)).toEqual([]);
  }, 300_000);

  it('saves the data of a chart', async () => {
    await page.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
    await page.evaluate(`document.querySelector('a[download="em-chart.csv"]').click()`);
    const csv = path.join(downloads, 'em-chart.csv');
    await expect
      .poll(() => statSync(csv, { throwIfNoEntry: false })?.size, { timeout: 10_000 })
      .toBeGreaterThan(0);
    expect(readFileSync(csv, 'utf8')).toMatch(/^method,model,benchmark,subset,metric,value,low,high,n\r\n/);
  });
});

describe.skipIf(!chromiumPath)('the index in Chromium', () => {
  it('complains of nothing and is accessible', async () => {
    const page = await browser.newPage();
    await page.open(index);
    expect(await accessibilityComplaints(page)).toEqual([]);
    expect([...page.complaints, ...page.requests]).toEqual([]);
  }, 300_000);
});
