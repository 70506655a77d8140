/** The viewer's page: what is in the file, and 10,000 trajectories in a real browser. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ViewerData } from '../../../lib/pages/viewer/data.js';
import { viewerHtml } from '../../../lib/pages/viewer/html.js';
import { parseTranscript } from '../../../lib/rollout/recorded.js';
import { chromiumPath, startChromium, type Browser, type BrowserPage } from '../../browser/chromium.js';
import { accessibilityComplaints } from '../../browser/page-checks.js';
import {
  INJECTION,
  scriptOfSources,
  syntheticData,
  syntheticLines,
  syntheticQuestion,
  trajectoryLine,
} from './synthetic.js';

const COUNT = 10_000;
const folder = mkdtempSync(path.join(tmpdir(), 'viewer-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A trajectory whose every text tries to become markup. */
function hostileData(): ViewerData {
  const question = { ...syntheticQuestion(0), question: `Who? ${INJECTION}`, goldenAnswers: [INJECTION] };
  const turns = [{ queries: [INJECTION, 'Town0'] }];
  const rest = { method: INJECTION, benchmark: INJECTION, type: INJECTION };
  const line = trajectoryLine(question, turns, `${INJECTION}`, rest);
  return syntheticData([{ run: parseTranscript(line), method: 'm' }]);
}

describe('viewerHtml', () => {
  const html = viewerHtml({ title: 'A <title>', data: hostileData(), script: 'void 0;' });

  it('escapes all text outside of the packed data', () => {
    expect(html).toContain('<title>A &lt;title&gt;</title>');
    expect(html).not.toContain('<script>window');
    expect(html).not.toContain('<img');
    expect(html.match(/<script/g)).toHaveLength(2);
  });

  it('holds the data, and for readers without scripts a table of the first ones', () => {
    const [, packed] = /<script type="application\/gzip" id="data">([^<]+)</.exec(html)!;
    expect(JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString())).toEqual(hostileData());
    const many = viewerHtml({ title: 'T', data: syntheticData(syntheticLines(60)), script: '' });
    const [, noscript] = /<noscript>([\s\S]*)<\/noscript>/.exec(many)!;
    expect(noscript).toContain('this page needs JavaScript');
    expect(noscript.match(/<tr>/g)).toHaveLength(51);
    expect(noscript).toContain('The first 50 of 60 trajectories');
  });
});

const READY = `new Promise((resolve, reject) => {
  const start = performance.now();
  (function look() {
    if ('ready' in document.getElementById('viewer').dataset) resolve(performance.now());
    else if (performance.now() - start > 30000) reject(new Error('not ready'));
    else setTimeout(look, 10);
  })();
})`;

/** Chooses in a control of the form and waits for the list. */
const choose = (name: string, value: string): string => `new Promise((resolve) => {
  const control = document.querySelector('[name="${name}"]');
  control.value = ${JSON.stringify(value)};
  control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
  setTimeout(() => resolve(document.querySelector('.count').textContent), 400);
})`;

describe.skipIf(!chromiumPath)('the viewer in Chromium', () => {
  let browser: Browser;
  let page: BrowserPage;
  const file = path.join(folder, 'many.html');

  beforeAll(async () => {
    const data = syntheticData(syntheticLines(COUNT), COUNT / 10);
    writeFileSync(file, viewerHtml({ title: 'Many', data, script: scriptOfSources() }));
    browser = await startChromium();
    page = await browser.newPage();
    await page.open(file);
    await page.evaluate(READY);
  });
  afterAll(() => browser?.close());

  const numRows = (): Promise<number> => page.evaluate(`document.querySelectorAll('[role=option]').length`);
  const selected = (): Promise<string> =>
    page.evaluate(`(() => {
      const id = document.querySelector('.list').getAttribute('aria-activedescendant');
      const row = document.getElementById(id);
      return [row.getAttribute('aria-posinset'), row.getAttribute('aria-setsize'), row.getAttribute('aria-selected')].join(' ');
    })()`);

  it('keeps only the rows in sight of 10,000 trajectories', async () => {
    expect(await page.evaluate(`document.querySelector('.count').textContent`)).toBe(
      '10,000 of 10,000 trajectories',
    );
    expect(await numRows()).toBeGreaterThan(10);
    expect(await numRows()).toBeLessThan(60);
  });

  it('is worked by keys', async () => {
    await page.press('ArrowDown');
    expect(await selected()).toBe('2 10000 true');
    await page.press('End');
    expect(await selected()).toBe('10000 10000 true');
    const heading = `document.querySelector('.detail h2').textContent`;
    expect(await page.evaluate(heading)).toBe(syntheticQuestion(COUNT / 10 - 1).question);
    await page.press('Home');
    expect(await selected()).toBe('1 10000 true');
    expect(await numRows()).toBeLessThan(60);
    await page.press('/');
    expect(await page.evaluate('document.activeElement.name')).toBe('search');
  });

  it('filters and searches', async () => {
    expect(await page.evaluate(choose('method', 'search-r1'))).toBe('5,000 of 10,000 trajectories');
    expect(await page.evaluate(choose('right', 'right'))).toBe('3,000 of 10,000 trajectories');
    expect(await page.evaluate(choose('search', 'town123'))).toBe('3 of 10,000 trajectories');
    expect(await page.evaluate(choose('search', 'no such word'))).toBe('0 of 10,000 trajectories');
    expect(await page.evaluate(`document.querySelector('.detail').childElementCount`)).toBe(0);
    await page.evaluate(`document.querySelector('[type=reset]').click()`);
    expect(await page.evaluate(choose('sign', 'halfDecomposition'))).toBe('500 of 10,000 trajectories');
    expect(await page.evaluate(choose('sign', ''))).toBe('10,000 of 10,000 trajectories');
  });

  it('shows the segments, scores, group and both diagrams, and two methods side by side', async () => {
    await page.evaluate(`document.querySelector('.list').focus()`);
    await page.press('Home');
    await page.evaluate(choose('partner', 'search-r1'));
    const texts = (selector: string): Promise<string[]> =>
      page.evaluate(`[...document.querySelectorAll('${selector}')].map((node) => node.textContent)`);
    expect(await texts('.detail article h2')).toHaveLength(2);
    expect(await texts('article:first-of-type .segment .tag')).toEqual([
      'think',
      'search',
      'information for 2 sub-queries',
      'think',
      'answer',
    ]);
    expect(await texts('article:first-of-type .queries li')).toEqual(['Town0', 'River0']);
    expect(await texts('article:first-of-type .passages .figures')).toContain(' wiki-Town0 · score 7.250');
    expect(await texts('article:first-of-type svg.diagram')).toHaveLength(2);
    expect(await texts('article:first-of-type .group tbody tr')).toHaveLength(5);
    expect((await texts('article:last-of-type .tag')).filter((tag) => tag === 'search')).toHaveLength(2);
  });

  it('is accessible, with two trajectories side by side', async () => {
    expect(await accessibilityComplaints(page)).toEqual([]);
  }, 300_000);

  it('asks nothing of a network and leaves nothing on the console', () => {
    expect(page.requests).toEqual([]);
    expect(page.complaints).toEqual([]);
  });

  it('shows markup in trajectories as text', async () => {
    const hostile = path.join(folder, 'hostile.html');
    const data = hostileData();
    writeFileSync(hostile, viewerHtml({ title: 'Hostile', data, script: scriptOfSources() }));
    const other = await browser.newPage();
    await other.open(hostile);
    await other.evaluate(READY);
    expect(await other.evaluate('String(window.injected)')).toBe('undefined');
    expect(await other.evaluate(`document.querySelectorAll('#viewer script, #viewer img').length`)).toBe(0);
    expect(await other.evaluate(`document.querySelector('.segment.answer .text').textContent`)).toBe(
      INJECTION,
    );
    expect(await other.evaluate(`document.querySelector('.queries li').textContent`)).toBe(INJECTION);
    expect(other.complaints).toEqual([]);
  });

  it('works with scripts off', async () => {
    const still = await browser.newPage();
    await still.send('Emulation.setScriptExecutionDisabled', { value: true });
    await still.open(file);
    const { root } = await still.send<{ root: { nodeId: number } }>('DOM.getDocument', { depth: 0 });
    const { nodeIds } = await still.send<{ nodeIds: number[] }>('DOM.querySelectorAll', {
      nodeId: root.nodeId,
      selector: 'noscript tbody tr',
    });
    expect(nodeIds).toHaveLength(50);
  });
});
