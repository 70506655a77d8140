/** The checks find the errors of a bad page and none in a good one. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../folder.js';
import { closeChromium, openPage, testsPages } from './chromium.js';
import { accessibilityComplaints, chartComplaints } from './page-checks.js';
import { layoutComplaints } from './page-checks.js';

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

describe.skipIf(!testsPages)('accessibilityComplaints (needs Chromium and test:full)', () => {
  const file = path.join(temporaryFolder(), 'page.html');
  afterAll(closeChromium);
  const complaintsOf = async (html: string, find = accessibilityComplaints): Promise<string> => {
    writeFileSync(file, html);
    const { page } = await openPage(file);
    return [...new Set(await find(page))].join('\n');
  };

  it('finds the errors of a bad page', async () => {
    const complaints = await complaintsOf(BAD);
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
    expect(await complaintsOf(GOOD)).toBe('');
  });

  it('finds clipped text, captions out of view, and overlapping text', async () => {
    const inLayout = (body: string): Promise<string> =>
      complaintsOf(`<!doctype html><body>${body}`, layoutComplaints);
    const scroll = (caption: string): string =>
      `<div style="overflow-x: auto"><table><caption style="text-align: left; white-space: nowrap; ${caption}">${'caption '.repeat(60)}</caption><tr><td style="white-space: nowrap">${'cell '.repeat(300)}</td></tr></table></div>`;
    const box = 'width: 4rem; overflow: hidden; white-space: nowrap';
    const above = '<p style="margin: 0">one text</p>';
    const good = `<p style="${box}; text-overflow: ellipsis">a long text that says so</p>${above}<p>another</p>`;
    const folded = `<details><p style="${box}">folded, too long</p></details>`;
    const wrapping = scroll('white-space: normal; max-width: 90vw');
    expect(await inLayout(`${good}${wrapping}${folded}`)).toBe('');
    const cut = await inLayout(`<p style="${box}">too long a text</p>`);
    expect(cut).toMatch(/390 pixels: cut: "too long a text"/);
    expect(await inLayout(scroll(''))).toMatch(/390 pixels: cut: "caption/);
    const covered = await inLayout(`${above}<p style="margin: -1.1em 0 0">another</p>`);
    expect(covered).toMatch(/1440 pixels: "one text" is on top of "another"/);
  });

  it('finds clipped and overlapping chart labels', async () => {
    const label = (text: string, place: string): string => `<text ${place}>${text}</text>`;
    const inChart = (...labels: string[]): Promise<string> => {
      const drawing = `<svg width="200" height="100">${labels.join('')}</svg>`;
      const page = `<!doctype html><div class="picture">${drawing}</div>`;
      return complaintsOf(page, chartComplaints);
    };
    const slanted = [40, 80].map((x, i) =>
      label(`label ${i}`, `transform="translate(${x} 90) rotate(-40)"`),
    );
    expect(await inChart(label('apart', 'x="9" y="20"'), ...slanted)).toBe('');
    const cut = await inChart(label('too long', 'x="170" y="20"'), label('a', 'y="60"'));
    expect(cut).toMatch(/390 pixels: cut: "too long"/);
    const covered = await inChart(label('one', 'x="9" y="20"'), label('two', 'x="20" y="24"'));
    expect(covered).toMatch(/"one" is on top of "two"/);
    const ending = label('2.70', 'x="60" y="20" text-anchor="end"');
    expect(await inChart(ending, label('2.75', 'x="61" y="20"'))).toMatch(
      /"2\.70" runs into "2\.75"/,
    );
  });
});
