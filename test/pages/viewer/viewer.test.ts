import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ViewerData } from '../../../lib/pages/viewer/data.js';
import { viewerHtml } from '../../../lib/pages/viewer/page.js';
import { parseTrajectory } from '../../../lib/rollout/recorded.js';
import { closeChromium, openPage, testsPages } from '../../browser/chromium.js';
import type { OpenPage, Page } from '../../browser/chromium.js';
import { accessibilityComplaints } from '../../browser/page-checks.js';
import { temporaryFolder } from '../../folder.js';
import { cases } from '../../full.js';
import { INJECTION, recordedLine, syntheticData } from './synthetic.js';
import { syntheticLines, syntheticQuestion } from './synthetic.js';

const COUNT = cases(2_000, 10_000);
const folder = temporaryFolder();

/** A trajectory with markup in every text. */
function hostileData(): ViewerData {
  const texts = { question: `Who? ${INJECTION}`, goldenAnswers: [INJECTION] };
  const turns = [{ queries: [INJECTION, 'Town0'] }];
  const rest = { method: INJECTION, benchmark: INJECTION, type: INJECTION };
  const question = { ...syntheticQuestion(0), ...texts };
  return syntheticData([recordedLine(question, turns, INJECTION, rest)]);
}

describe('viewerHtml', () => {
  it('escapes all text outside the compressed data', async () => {
    const html = await viewerHtml({ title: 'A <title>', data: hostileData() });
    expect(html).toContain('<title>A &lt;title&gt;</title>');
    expect(html).not.toMatch(/<script>window|<img/);
    expect(html.match(/<script/g)).toHaveLength(2);
    const [, packed] = /<script type="application\/gzip" id="data">([^<]+)</.exec(html)!;
    expect(JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString())).toEqual(hostileData());
  });

  it('rejects more text than a page can hold', async () => {
    const data = syntheticData(syntheticLines(1));
    data.trajectories[0].segments[0].text = 'x'.repeat(250e6);
    await expect(viewerHtml({ title: 'T', data })).rejects.toThrow(/fewer trajectories/);
  });

  it('is small without trajectories', async () => {
    expect((await viewerHtml({ title: 'T', data: syntheticData([]) })).length).toBeLessThan(50_000);
  });

  it('has a table of the first trajectories for readers without scripts', async () => {
    const many = await viewerHtml({ title: 'T', data: syntheticData(syntheticLines(60)) });
    const [, noscript] = /<noscript>([\s\S]*)<\/noscript>/.exec(many)!;
    expect(noscript).toContain('needs JavaScript');
    expect(noscript.match(/<tr>/g)).toHaveLength(51);
    expect(noscript).toContain('The first 50 of 60 trajectories');
  });
});

describe.skipIf(!testsPages)('the viewer in Chromium (needs Chromium and test:full)', () => {
  let opened: OpenPage;
  let page: Page;
  const file = path.join(folder, 'many.html');

  async function openViewer(name: string, data: ViewerData): Promise<OpenPage> {
    const place = path.join(folder, name);
    writeFileSync(place, await viewerHtml({ title: name, data }));
    const viewer = await openPage(place);
    await viewer.page.locator('#viewer[data-ready]').waitFor();
    return viewer;
  }
  const numRows = (): Promise<number> => page.locator('.row').count();
  const counts = async (shown: number): Promise<void> => {
    const [some, all] = [shown, COUNT].map((n) => n.toLocaleString('en'));
    await page.locator('.count', { hasText: `${some} of ${all} trajectories` }).waitFor();
  };
  const setHash = (hash: string | URLSearchParams): Promise<void> =>
    page.evaluate((text) => void (location.hash = text), String(hash));
  const choose = (name: string, value: string): Promise<unknown> =>
    page.locator(`[name=${name}]`).selectOption(value);
  /** Position of the selected row, and the number of rows. */
  const selected = async (): Promise<number[]> => {
    const id = await page.getByRole('listbox').getAttribute('aria-activedescendant');
    const row = page.locator('.row[aria-selected=true]');
    expect(await row.getAttribute('id')).toBe(id);
    const place = ['aria-posinset', 'aria-setsize'].map((name) => row.getAttribute(name));
    return (await Promise.all(place)).map(Number);
  };

  afterAll(closeChromium);
  beforeAll(async () => {
    opened = await openViewer('many.html', syntheticData(syntheticLines(COUNT), COUNT / 10));
    page = opened.page;
  });

  it('renders only the visible rows of thousands of trajectories', async () => {
    await counts(COUNT);
    expect(await numRows()).toBeGreaterThan(10);
    expect(await numRows()).toBeLessThan(60);
    await page.getByRole('listbox').evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
    await page.locator(`[aria-posinset="${COUNT / 2 + 1}"]`).waitFor();
    expect(await numRows()).toBeLessThan(60);
  });

  it('works with the keyboard', async () => {
    for (const [key, place] of [
      ['ArrowDown', 2],
      ['End', COUNT],
      ['Home', 1],
    ] as const) {
      await page.keyboard.press(key);
      expect(await selected()).toEqual([place, COUNT]);
      const { question } = syntheticQuestion(key === 'End' ? COUNT / 10 - 1 : 0);
      expect(await page.locator('.detail h2').textContent()).toBe(question);
    }
    await page.keyboard.press('PageDown');
    await page.keyboard.press('ArrowUp');
    expect((await selected())[0]).toBeGreaterThan(5);
    expect(await numRows()).toBeLessThan(60);
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('search');
  });

  it('filters and searches', async () => {
    await choose('method', 'search-r1');
    await counts(COUNT / 2);
    await choose('right', 'right');
    await counts(0.3 * COUNT);
    await page.locator('[name=search]').fill('town123');
    await counts(3);
    await page.locator('[name=search]').fill('no such word');
    await counts(0);
    expect(await page.locator('.detail article').count()).toBe(0);
    expect(await page.locator('.detail').textContent()).toMatch(/nothing found/i);
    await page.getByRole('button', { name: 'Show all trajectories' }).click();
    await counts(COUNT);
    const chip = (text: string) => page.locator('.chip', { hasText: text }).locator('input');
    await chip(`Half a decomposition (${COUNT / 20})`).check();
    await counts(COUNT / 20);
    expect(await page.locator('.row-labels').first().textContent()).toContain('Half a decomp');
    await chip('Over-parallelized').check();
    await counts(0);
    await chip('Over-parallelized').uncheck();
    expect(await page.evaluate(() => location.hash)).toBe('#labels=half_decomposed');
    await chip('Half a decomposition').uncheck();
  });

  it('opens the view given in the address', async () => {
    const question = 'Which is older, Town0 or River0?';
    const methods = { method: 'parallelsearch', partner: 'search-r1' };
    const unknown = { labels: 'none of these', type: 'none of these', nonsense: 'x' };
    await setHash(new URLSearchParams({ search: `"${question}"`, ...methods, ...unknown }));
    await counts(5);
    const shown = await page.locator('.detail article h2').allTextContents();
    expect(shown).toEqual([question, question]);
    await setHash('');
    await page.getByRole('button', { name: 'Reset' }).click();
    await counts(COUNT);
  });

  it('sorts, and keeps filters, order and selection in the address', async () => {
    const first = page.locator('.row').first();
    await choose('method', 'search-r1');
    await page.locator('.chip', { hasText: 'Missed a stated answer' }).click();
    await counts(COUNT / 5);
    await choose('order', 'reward-up');
    const worst = await first.textContent();
    expect(worst).toContain('search-r1');
    await choose('order', 'reward-down');
    expect(await first.textContent()).not.toBe(worst);
    await page.getByRole('listbox').press('ArrowDown');
    const address = await page.evaluate(() => location.hash);
    expect(Object.fromEntries(new URLSearchParams(address.slice(1)))).toMatchObject({
      method: 'search-r1',
      order: 'reward-down',
      labels: 'shown_answer_missed',
      trajectory: expect.stringMatching(/^\d+$/) as string,
    });
    const [position, shown] = [await selected(), await page.locator('.detail').textContent()];
    await setHash('');
    await counts(COUNT);
    await setHash(address);
    await counts(COUNT / 5);
    expect(await selected()).toEqual(position);
    expect(await page.locator('.detail').textContent()).toBe(shown);
    await page.getByRole('button', { name: 'Reset' }).click();
    await counts(COUNT);
  });

  it('folds its filters in a narrow window', async () => {
    const before = page.viewportSize()!;
    await page.setViewportSize({ width: 360, height: 740 });
    const method = page.locator('[name=method]');
    expect(await method.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Filters' }).click();
    expect(await method.isVisible()).toBe(true);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.setViewportSize(before);
  });

  it('shows segments, scores, group and diagrams of two methods side by side', async () => {
    await page.getByRole('listbox').press('Home');
    await choose('partner', 'search-r1');
    const texts = (selector: string): Promise<string[]> =>
      page.locator(`article:first-of-type ${selector}`).allTextContents();
    expect(await page.locator('.detail article h2').count()).toBe(2);
    const tags = (await texts('.segment .tag')).join();
    expect(tags).toBe('think,search,information for 2 sub-queries,think,answer');
    expect(await texts('.queries li')).toEqual(['Town0', 'River0']);
    expect(await texts('.passages .figures')).toContain(' wiki-Town0 · score 7.250');
    expect(await texts('svg.diagram')).toHaveLength(2);
    expect(await texts('.group tbody tr')).toHaveLength(5);
    expect(await page.locator('article:last-of-type .tag', { hasText: 'search' }).count()).toBe(2);
    await page.locator('article:first-of-type .group button').nth(1).click();
    expect(await selected()).toEqual([3, COUNT]);
  });

  it('is accessible with two trajectories side by side, requests nothing, logs nothing', async () => {
    expect(await accessibilityComplaints(page)).toEqual([]);
    expect([...opened.requests, ...opened.complaints]).toEqual([]);
  }, 300_000);

  it('shows markup in trajectories as text', async () => {
    const hostile = await openViewer('hostile.html', hostileData());
    expect(await hostile.page.evaluate(() => 'injected' in window)).toBe(false);
    expect(await hostile.page.locator('#viewer :is(script, img)').count()).toBe(0);
    for (const place of ['.segment.answer .text', '.queries li'])
      expect(await hostile.page.locator(place).first().textContent()).toBe(INJECTION);
    expect(hostile.complaints).toEqual([]);
  });

  it('flags an ambiguous transcript', async () => {
    const response =
      '<search>a</search><information>b</information></information><answer>c</answer>';
    const unclear = parseTrajectory({ id: 'q', question: 'Who?', golden_answers: ['c'], response });
    expect(unclear.ambiguous).toBeTruthy();
    const shown = await openViewer('unclear.html', syntheticData([unclear]));
    const label = `Ambiguous transcript, scores are estimates: ${unclear.ambiguous}`;
    expect(await shown.page.locator('ul.labels li').allTextContents()).toContain(label);
    expect(await shown.page.locator('.chip', { hasText: 'Ambiguous' }).count()).toBe(1);
  });

  it('shows every recorded reward component, including custom ones', async () => {
    const usual = { outcome: 1, decomposition: 0, search_count: -0.1, format: 0 };
    const rewards = { ...usual, own: 0.25, total: 1.15 };
    const line = recordedLine(syntheticQuestion(0), [], 'Town0', { rewards });
    const custom = await openViewer('custom.html', syntheticData([line]));
    const rows = await custom.page.locator('.scores tr').allInnerTexts();
    expect(rows.map((row) => row.trim().split('\t').slice(0, 2).join(' '))).toEqual([
      'Outcome +1.00',
      'Decomposition 0.00',
      'Search count −0.10',
      'Format 0.00',
      'Own +0.25',
      'Total +1.15',
    ]);
  });

  it('works without scripts', async () => {
    const still = await openPage(file, { withScripts: false });
    expect(await still.page.locator('noscript tbody tr').count()).toBe(50);
  });
});
