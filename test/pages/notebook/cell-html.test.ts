/** HTML of untrusted notebooks in a page, also in a real browser. */
import { picture } from '../../../lib/pages/notebook/markdown.js';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { CodeCell } from '../../../lib/notebook/nbformat.js';
import { MIME } from '../../../lib/notebook/nbformat.js';
import { cellOutput } from '../../../lib/pages/notebook/outputs.js';
import { reportHtml } from '../../../lib/pages/notebook/page.js';
import { isPlainHtml } from '../../../lib/pages/notebook/plain.js';
import { createTranscript, mimeBundle } from '../../../lib/report/display.js';
import { markupHtml } from '../../../lib/report/markup.js';
import { chromiumPath, closeChromium, openPage } from '../../browser/chromium.js';
import { temporaryFolder } from '../../folder.js';
import { code, markdown, notebookOf } from '../../notebook/notebooks.js';
import { syntheticReport, syntheticTable } from '../../report/fixtures.js';
import { INJECTION } from '../viewer/synthetic.js';

const segment = { kind: 'policy' as const, tokenIds: [], text: `<think>${INJECTION}</think>` };
const transcript = createTranscript(
  { question: INJECTION, segments: [segment], searchTurns: [] },
  'trajectories.html#search=%22Who%3F%22&method=a',
);

describe('isPlainHtml', () => {
  it('accepts the HTML of displays', async () => {
    const results = syntheticReport();
    const shown = [results, syntheticTable(results), { kind: 'finding', text: INJECTION } as const];
    for (const item of shown) {
      const html = String((await mimeBundle(item))[MIME.html]);
      expect(isPlainHtml(html), html).toBe(true);
    }
    const cell = markupHtml(cellOutput(transcript.html));
    expect(cell).toMatch(/^<div class="scroll"><div class="ps-transcript"/);
  });

  it.each([
    INJECTION,
    '<p onclick="x()">a</p>',
    '<p style="position:fixed">a</p>',
    '<p class=a>a</p>',
    '<a href="javascript:x()">a</a>',
    '<a href="java&#115;cript:x()">a</a>',
    '<a href="a.html:x()">a</a>',
    '<a href="//a.html">a</a>',
    '<div>',
    '</div></main>',
    '<p></div>',
    '<style>p{}</style>',
    '<form action="https://x.org"></form>',
    '<!-- a -->',
    '<p title="a"onclick="x()">a</p>',
    '<svg><p></p></svg>',
    '<p',
  ])('rejects %s', (html) => {
    expect(isPlainHtml(html)).toBe(false);
    expect(markupHtml(cellOutput(html))).toMatch(
      /^<iframe sandbox title="[^"]+" [^<>]*><\/iframe>(?:<pre>[^<]* not loaded here\.<\/pre>)?$/,
    );
  });
});

it('frames neither links, which could connect, nor other frames', () => {
  const nested = '<LINK rel="preconnect" href="https://x.org"><iframe srcdoc="&lt;link>"></iframe>';
  expect(markupHtml(cellOutput(`<p style="">a</p>${nested}`))).not.toMatch(/&lt;(link|iframe)/i);
});

afterAll(closeChromium);

describe.skipIf(!chromiumPath)('an untrusted notebook in Chromium', () => {
  it('runs, requests and loads nothing', async () => {
    const outputOf = (mime: string, text: string): CodeCell => ({
      ...(code(INJECTION) as CodeCell),
      outputs: [{ output_type: 'display_data', data: { [mime]: [text] }, metadata: {} }],
    });
    const attack = `${INJECTION}<script>parent.injected = 5; top.location = "https://example.com"</script>
      <a id="out" target="_top" href="https://example.com">out</a><img src="https://example.com/x.png"><h4>Table</h4>
      <style>h4 { color: red; background: url(https://example.com/y.png) }</style><i style="color: red">i</i>`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.injected = 6"><script>parent.injected = 7</script></svg>`;
    const outputs = [outputOf(MIME.html, attack), outputOf(MIME.svg, svg)];
    outputs.push(outputOf(MIME.html, transcript.html));
    const file = path.join(temporaryFolder(), 'foreign.html');
    const { html } = await reportHtml(notebookOf(markdown(`# T\n\n${INJECTION}`), ...outputs));
    writeFileSync(file, html);
    const { page, requests } = await openPage(file);
    const address = page.url();
    const frame = page.frameLocator('iframe');
    expect(await frame.locator('h4').textContent()).toBe('Table');
    for (const styled of ['h4', 'i'])
      expect(
        await frame.locator(styled).evaluate((element) => getComputedStyle(element).color),
      ).toBe('rgb(255, 0, 0)');
    await frame.locator('#out').click();
    expect(await page.evaluate(() => 'injected' in window)).toBe(false);
    expect(page.url()).toBe(address);
    await expect.poll(() => requests.filter((url) => /^https?:/.test(url))).toEqual([]);
    const image = page.locator('main img');
    expect(await image.evaluate((drawn: HTMLImageElement) => drawn.naturalWidth)).toBe(9);
    expect(await page.locator('.ps-transcript .think').count()).toBe(1);
  });

  it('draws SVG that is valid only within a page, as JupyterLab and nbconvert do', async () => {
    const bar = (attributes: string, inner = ''): string =>
      `<svg ${attributes} width="9" height="9">${inner}</svg>`;
    const own = 'xmlns="http://www.w3.org/2000/svg"';
    const use = '<g id="a"/><use xlink:href="#a"/>';
    const declared = `\n<?xml version="1.0" encoding="UTF-8"?>\n${bar(own)}`;
    const prefixed = '<s:svg xmlns:s="http://www.w3.org/2000/svg" width="9" height="9"/>';
    const text = bar(own, '<text>a&nbsp;b&eacute; &amp; &lt;</text>');
    const drawings = [bar(''), bar('', use), bar(own, use), declared, prefixed, text];
    const images = drawings.map((svg) => markupHtml(picture(MIME.svg, svg)));
    const file = path.join(temporaryFolder(), 'drawings.html');
    writeFileSync(file, images.join(''));
    const { page } = await openPage(file);
    const width = (image: HTMLImageElement): number => image.naturalWidth;
    for (const image of await page.locator('img').all())
      expect(await image.evaluate(width)).toBe(9);
  });
});
