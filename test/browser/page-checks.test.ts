/** The checks themselves: they find what is wrong with a bad page, and nothing in a good one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, startChromium, type Browser } from './chromium.js';
import { accessibilityComplaints } from './page-checks.js';

const BAD = `<!doctype html><html><body style="background: #fff">
<h1>A</h1><h3>B</h3><button></button><img src="data:,"><a href="#nowhere">dead</a><i id="i"></i><i id="i"></i>
<p style="color: #aaa">pale</p><div style="width: 900px">wide</div>
<div style="overflow-x: auto; width: 90px"><p style="width: 500px" aria-labelledby="gone">long</p></div>
<table><tr><td>1</td></tr></table>
</body></html>`;
const GOOD = `<!doctype html><html lang="en"><head><title>T</title></head><body style="background: #fff"><main>
<h1>A</h1><h2 id="b">B</h2><button>Do</button><img alt="nothing" src="data:,"><a href="#b">B</a>
<p style="color: #555">gray</p><div tabindex="0" role="group" aria-label="wide" style="overflow-x: auto"><p style="width: 900px">long</p></div>
<table><caption>C</caption><tr><th scope="row">a</th><td>1</td></tr></table>
</main></body></html>`;

describe.skipIf(!chromiumPath)('accessibilityComplaints', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'checks-'));
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });
  const complaintsOf = async (html: string): Promise<string[]> => {
    const file = path.join(folder, 'page.html');
    writeFileSync(file, html);
    const page = await browser.newPage();
    await page.open(file);
    return [...new Set(await accessibilityComplaints(page))];
  };

  it('finds what is wrong', async () => {
    const complaints = (await complaintsOf(BAD)).join('\n');
    for (const expected of [
      'no name: button',
      'no name: image',
      'heading 3 follows 1',
      '0 main landmarks',
      'two ids i',
      'aria-labelledby refers to gone',
      'dead link #nowhere',
      'table without headers',
      'scrolls only by mouse: <div',
      'no language',
      'no title',
      'light: 2.32 instead of 4.5: text "pale"',
      'pixels wide in a window of 320',
    ])
      expect(complaints).toContain(expected);
  });

  it('has nothing against a good page', async () => {
    expect(await complaintsOf(GOOD)).toEqual([]);
  });
});
