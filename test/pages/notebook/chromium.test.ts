/** A page with all parts of reports in a real browser, with scripts and without. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportHtml } from '../../../lib/pages/notebook/page.js';
import { writeIndex } from '../../../tools/reports/index-page.js';
import {
  chromiumPath,
  closeChromium,
  openPage,
  testsPages,
  type OpenPage,
} from '../../browser/chromium.js';
import {
  accessibilityComplaints,
  chartComplaints,
  chartsDrawn,
} from '../../browser/page-checks.js';
import { emptyResult, writeReport } from '../../experiments/made-up-results.js';
import { temporaryFolder } from '../../folder.js';
import { syntheticNotebook } from '../../report/fixtures.js';

const NUM_CHARTS = 4;
const folder = temporaryFolder();
const file = path.join(folder, 'report.html');
afterAll(closeChromium);
writeFileSync(file, (await reportHtml(await syntheticNotebook())).html);

it('the report is a file under 3 MB', () => {
  expect(statSync(file).size).toBeLessThan(3e6);
});

describe.skipIf(!chromiumPath)('a report (needs Chromium)', () => {
  let opened: OpenPage;
  beforeAll(async () => {
    opened = await openPage(file);
    await chartsDrawn(opened.page);
  });

  /** Whether each element is visible and not folded away. */
  const seen = (selector: string): Promise<boolean[]> =>
    opened.page.locator(selector).evaluateAll((elements) => {
      return elements.map((element) => element.checkVisibility({ contentVisibilityAuto: true }));
    });

  it('draws every chart without an error or request', async () => {
    expect(await opened.page.locator('.drawing .vega-embed svg').count()).toBe(NUM_CHARTS);
    expect([...opened.complaints, ...opened.requests]).toEqual([]);
  });

  describe.skipIf(!testsPages)('to a reader (needs Chromium and test:full)', () => {
    it('folds code and data, links to every section, and offers files and the citation', async () => {
      const { page } = opened;
      expect(await page.locator('details.code').count()).toBe(7);
      expect(await page.locator('details[open]').count()).toBe(1); // the contents
      expect(await seen('dl.provenance, pre.bibtex')).toEqual([false, false]);
      const sections = await page.locator('nav.toc a').allTextContents();
      expect(sections.join()).toBe(
        'Charts,Over training,Tables,Where the numbers come from,To cite',
      );
      const title = 'A chart of em';
      const tables = page.locator('figure.chart table');
      expect(await tables.count()).toBe(0);
      await page.locator('figure.chart summary').first().click();
      await expect.poll(() => tables.count()).toBe(1);
      for (const kind of ['CSV', 'SVG', 'PNG', 'Vega-Lite'])
        expect(await page.getByLabel(`${kind}: ${title}`, { exact: true }).isVisible()).toBe(true);
      await page.context().grantPermissions(['clipboard-write', 'clipboard-read']);
      await page.getByRole('button', { name: 'Copy BibTeX' }).click();
      await page.getByText('Copied.').waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(copied).toContain('@article{zhao2025');
    });

    it('saves a chart as it is drawn', async () => {
      const saved = opened.page.waitForEvent('download');
      await opened.page.getByLabel('SVG: A chart of em').click();
      expect((await saved).suggestedFilename()).toBe('em-chart.svg');
      expect(readFileSync(await (await saved).path(), 'utf8')).toMatch(/^<svg/);
    });

    it('prints in light colours without controls', async () => {
      const { page } = opened;
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(ground).toBe('rgb(255, 255, 255)');
      const controls = page.locator(':is(nav, .code, .data, .downloads, button):visible');
      expect(await controls.count()).toBe(0);
      expect(await seen('dl.provenance, pre.bibtex')).toEqual([true, true]);
      await page.emulateMedia({ media: null, colorScheme: null });
    });

    it('is accessible', async () => {
      expect(await accessibilityComplaints(opened.page)).toEqual([]);
    }, 300_000);

    it('draws charts without clipped or covered labels at any width', async () => {
      expect(await chartComplaints(opened.page)).toEqual([]);
    }, 300_000);

    it('fits a phone, with folded contents', async () => {
      const { page } = opened;
      await page.setViewportSize({ width: 360, height: 740 });
      await page.reload();
      await chartsDrawn(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      const cut = (all: Element[]) => all.filter((one) => one.scrollWidth > one.clientWidth).length;
      expect(await page.locator('.drawing').evaluateAll(cut)).toBe(0);
      expect(await page.locator('nav.toc details[open]').count()).toBe(0);
    });
  });
});

describe.skipIf(!testsPages)('a report without scripts (needs Chromium and test:full)', () => {
  it('shows charts as pictures with their data', async () => {
    const { page, complaints } = await openPage(file, { withScripts: false });
    expect(await page.locator('.vega-embed').count()).toBe(0);
    expect(await page.locator('figure.chart .drawing[role=img] > svg').count()).toBe(NUM_CHARTS);
    expect(await page.locator('figure.chart details.data table').count()).toBe(NUM_CHARTS);
    expect(await page.locator('button:not([hidden])').count()).toBe(0);
    await page.locator('figure.chart summary').first().click();
    const saved = page.waitForEvent('download');
    await page.locator('a[download="em-chart.csv"]').click();
    const csv = readFileSync(await (await saved).path(), 'utf8');
    expect(csv).toMatch(/^benchmark,method,model,value,low,high/);
    expect(await accessibilityComplaints(page)).toEqual([]);
    expect(complaints).toEqual([]);
  }, 300_000);
});

describe.skipIf(!testsPages)('the index (needs Chromium and test:full)', () => {
  it('has no errors and is accessible', async () => {
    writeReport(folder, 'Main', emptyResult('main-results'));
    const { page, complaints, requests } = await openPage(await writeIndex(folder));
    expect(await page.locator('.picture svg').count()).toBe(1);
    expect(await chartComplaints(page)).toEqual([]);
    expect(await accessibilityComplaints(page)).toEqual([]);
    expect([...complaints, ...requests]).toEqual([]);
  }, 300_000);
});
