/** The checks find the faults of a bad page and none in a good one. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../folder.js';
import { chromiumPath, closeChromium, openPage } from './chromium.js';
import { accessibilityComplaints } from './page-checks.js';

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
    return [...new Set(await accessibilityComplaints(page))];
  };

  it('finds the faults of a bad page', async () => {
    const complaints = (await complaintsOf(BAD)).join('\n');
    for (const expected of [
      'light: button-name (critical): button',
      'light: image-alt (critical): img',
      'light: heading-order (moderate): h3',
      'light: landmark-one-main (moderate): html',
      'light: html-has-lang (serious): html',
      'light: document-title (serious): html',
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
});
