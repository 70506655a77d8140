/** The checks find the faults of a bad page and none in a good one. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../folder.js';
import { chromiumPath, closeChromium, openPage } from './chromium.js';
import {
  accessibilityComplaints,
  chartComplaints,
  layoutComplaints,
  THOROUGH,
} from './page-checks.js';

const BAD = `<!doctype html><html><body style="background: #fff">
<h1>A</h1><h3>B</h3><button></button><img src="data:,"><a href="#nowhere">dead</a><i id="i"></i><i id="i"></i>
<p style="color: #aaa">pale</p><div style="width: 900px">wide</div>
<svg><text y="9" fill="#ddd">drawn</text></svg>
<div class="narrow" style="overflow-x: auto; width: 90px"><p style="white-space: nowrap" aria-labelledby="gone">a line that its box is too narrow for</p></div>
<table><tr><td>1</td></tr></table><figure>A</figure>
</body></html>`;
const GOOD = `<!doctype html><html lang="en"><head><title>T</title></head><body style="background: #fff"><main>
<h1>A</h1><h2 id="b">B</h2><button>Do</button><img alt="nothing" src="data:,"><a href="#b">B</a>
<p style="color: #555">gray</p><div tabindex="0" role="group" aria-label="wide" style="overflow-x: auto"><p style="width: 900px">long</p></div>
<table><caption>C</caption><tr><th scope="row">a</th><td>1</td></tr></table>
</main></body></html>`;

describe.skipIf(!chromiumPath)('accessibilityComplaints (needs Chromium)', () => {
  const file = path.join(temporaryFolder(), 'page.html');
  afterAll(closeChromium);
  const complaintsOf = async (html: string): Promise<string[]> => {
    writeFileSync(file, html);
    const { page } = await openPage(file);
    return [...new Set(await accessibilityComplaints(page, THOROUGH))];
  };

  it('finds the faults of a bad page', async () => {
    const complaints = (await complaintsOf(BAD)).join('\n');
    for (const expected of [
      'button-name (critical): button',
      'image-alt (critical): img',
      'heading-order (moderate): h3',
      'landmark-one-main (moderate): html',
      'html-has-lang (serious): html',
      'document-title (serious): html',
      'light: color-contrast (serious): body > p',
      'dark: color-contrast (serious): body > p',
      'light: 2.32 instead of 4.5: text "pale"',
      'light: 1.36 instead of 4.5: text "drawn"',
      'scrollable-region-focusable (serious): .narrow',
      'two ids i',
      'aria-labelledby refers to gone',
      'dead link #nowhere',
      'no name: figure',
      'table without headers',
      'pixels wide in a window of 320',
    ])
      expect(complaints).toContain(expected);
  });

  it('finds nothing in a good page', async () => {
    expect(await complaintsOf(GOOD)).toEqual([]);
  });

  it('finds texts that are cut, captions out of view, and texts on top of each other', async () => {
    const layoutComplaintsOf = async (body: string): Promise<string> => {
      writeFileSync(file, `<!doctype html><body>${body}`);
      const { page } = await openPage(file);
      return (await layoutComplaints(page, THOROUGH)).join('\n');
    };
    const scroll = (caption: string): string =>
      `<div style="overflow-x: auto"><table><caption style="text-align: left; white-space: nowrap; ${caption}">${'caption '.repeat(60)}</caption><tr><td style="white-space: nowrap">${'cell '.repeat(300)}</td></tr></table></div>`;
    const box = 'width: 4rem; overflow: hidden; white-space: nowrap';
    const above = '<p style="margin: 0">one text</p>';
    const good = `<p style="${box}; text-overflow: ellipsis">a long text that says so</p>${above}<p>another</p>`;
    expect(
      await layoutComplaintsOf(
        `${good}${scroll('white-space: normal; max-width: 90vw')}<details><p style="${box}">folded, too long</p></details>`,
      ),
    ).toBe('');
    expect(await layoutComplaintsOf(`<p style="${box}">too long a text</p>`)).toMatch(
      /390 pixels: cut: "too long a text"/,
    );
    expect(await layoutComplaintsOf(scroll(''))).toMatch(/390 pixels: cut: "caption/);
    expect(await layoutComplaintsOf(`${above}<p style="margin: -1.1em 0 0">another</p>`)).toMatch(
      /1440 pixels: "one text" is on top of "another"/,
    );
  });

  it('finds labels of a chart that are cut or on top of each other', async () => {
    const drawing = (texts: string): string =>
      `<!doctype html><div class="picture"><svg width="200" height="100">${texts}</svg></div>`;
    const chartComplaintsOf = async (texts: string): Promise<string> => {
      writeFileSync(file, drawing(texts));
      const { page } = await openPage(file);
      return (await chartComplaints(page)).join('\n');
    };
    const slanted = [40, 80].map(
      (x, i) => `<text transform="translate(${x} 90) rotate(-40)">label ${i}</text>`,
    );
    expect(await chartComplaintsOf(`<text x="9" y="20">apart</text>${slanted.join('')}`)).toBe('');
    expect(
      await chartComplaintsOf('<text x="170" y="20">too long</text><text y="60">a</text>'),
    ).toMatch(/390 pixels: cut: "too long"/);
    expect(
      await chartComplaintsOf('<text x="9" y="20">one</text><text x="20" y="24">two</text>'),
    ).toMatch(/"one" is on top of "two"/);
    expect(
      await chartComplaintsOf(
        '<text x="60" y="20" text-anchor="end">2.70</text><text x="61" y="20">2.75</text>',
      ),
    ).toMatch(/"2\.70" runs into "2\.75"/);
  });
});
