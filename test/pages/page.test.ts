import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { bundleScript, dataScript, inlineScript, pageHtml } from '../../lib/pages/page.js';
import { markup, markupHtml, trustedHtml } from '../../lib/report/markup.js';
import { chromiumPath, closeChromium, openPage } from '../browser/chromium.js';
import { temporaryFolder } from '../folder.js';
import { INJECTION } from './viewer/synthetic.js';

afterAll(closeChromium);

/** As modules of `lib/` refer to their pages' scripts. */
const module = (name: string): URL => new URL(`../../lib/${name}`, import.meta.url);

describe('bundleScript', () => {
  it.each([
    'pages/browser/report.js',
    'pages/viewer/browser/main.js',
    'pages/runs/browser/main.js',
  ])('bundles %s into one classic script, with a cache', async (name) => {
    const script = await bundleScript(module(name));
    expect(() => new Script(script)).not.toThrow();
    expect(script).not.toMatch(/\bimport\(|\brequire\(/);
    expect(bundleScript(module(name))).toBe(bundleScript(module(name)));
  });

  it('reports a missing module', async () => {
    await expect(bundleScript(module('pages/absent.js'))).rejects.toThrow('absent');
  });
});

describe('pageHtml', () => {
  const page = { title: 'T', description: 'D', body: markup('p', 'Hello') };

  it('allows only its own scripts and styles, by hash', () => {
    const policy = { 'script-src': "'x'" };
    const html = pageHtml({ ...page, scripts: ['a()\r\n', 'b()'], policy });
    expect(html).not.toContain('unsafe-inline');
    expect(html).toMatch(/script-src ('sha256-[\w+/]{43}=' ){2}'x';/);
    expect(html).toMatch(/style-src 'sha256-[\w+/]{43}='/);
    expect(pageHtml(page)).toContain("script-src 'none'");
  });

  it.skipIf(!chromiumPath)('blocks scripts and styles injected into the page', async () => {
    const file = path.join(temporaryFolder(), 'page.html');
    const svg =
      '<svg><script>window.injected = 3</script></svg><style>p { color: rgb(1, 2, 3) }</style>';
    const text = '<p onclick="window.injected = 4" style="margin: 9px">Hello</p>';
    const body = trustedHtml(`${INJECTION}${svg}${text}`);
    writeFileSync(file, pageHtml({ ...page, body, scripts: ['window.own = 1'] }));
    const opened = await openPage(file);
    await opened.page.locator('p').click();
    const state = await opened.page.evaluate(() => {
      const { color, margin } = getComputedStyle(document.querySelector('p')!);
      return { own: 'own' in window, injected: 'injected' in window, color, margin };
    });
    expect(state).toMatchObject({ own: true, injected: false });
    expect([state.color, state.margin]).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/rgb\(1, 2, 3\)|9px/)]),
    );
    expect(opened.complaints.join()).toContain('Content Security Policy');
  });
});
describe('text inside scripts', () => {
  it('cannot close its element', () => {
    expect(inlineScript('a="</script><!--"')).toBe('a="<\\/script><\\!--"');
    const html = markupHtml(dataScript({ a: '</script>' }, { id: 'a' }));
    const [, json] = /^<script type="application\/json" id="a">([^<]*)<\/script>$/.exec(html)!;
    expect(JSON.parse(json)).toEqual({ a: '</script>' });
  });
});
