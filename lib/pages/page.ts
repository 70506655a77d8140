/** The frame of every page: one file with its styles and scripts that loads nothing. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import {
  markup,
  markupHtml,
  trustedHtml,
  type Attributes,
  type Content,
  type Markup,
} from '../report/markup.js';
import { readStyles } from '../report/styles.js';

export interface Page {
  title: string;
  description: string;
  body: Content;
  /** Id of the main content, for a skip link. */
  contentId?: string;
  styles?: string;
  /** Scripts to run after the body, in order. */
  scripts?: readonly string[];
  /** A large script that runs once the page is responsive. */
  laterScript?: string;
  policy?: Readonly<Record<string, string>>;
}

/** Pages load nothing, not even from their own folder. */
const POLICY = {
  'default-src': "'none'",
  'img-src': 'data: blob:',
  'media-src': 'data:',
  'base-uri': "'none'",
  'form-action': "'none'",
};

/** CSP sources for inline elements with these contents; all others are blocked. */
const cspHashes = (contents: readonly string[]): string =>
  contents
    .map((content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`)
    .join(' ');

/** Matches tags, scripts and preformatted text, or a number before its percent sign. */
const PERCENT = /<(script|pre)\b[^]*?<\/\1>|<[^>]*>|(?<number>\d) %/g;

/** Keeps numbers on the line of their percent sign. */
const keepPercents = (html: string): string =>
  html.replace(PERCENT, (match, _, number?: string) => (number ? `${number}\u00a0%` : match));

export function pageHtml(page: Page): string {
  const { contentId = 'content', styles = '', scripts = [], laterScript = '', policy } = page;
  const style = `${readStyles('page.css', import.meta.url)}${styles}`;
  const later = inlineScript(laterScript);
  const code = [...scripts, later && RUN_LATER].filter(Boolean).map(inlineScript);
  const hashed = { 'script-src': [...code, later].filter(Boolean), 'style-src': [style] };
  const rules: Record<string, string> = { ...POLICY, ...policy };
  for (const [rule, contents] of Object.entries(hashed))
    rules[rule] = [cspHashes(contents), policy?.[rule]].filter(Boolean).join(' ') || "'none'";
  const csp = Object.entries(rules).map((rule) => rule.join(' '));
  const meta = (name: string, content: string): Markup => markup('meta', { name, content });
  const head = markup(
    'head',
    markup('meta', { charset: 'utf-8' }),
    markup('meta', { 'http-equiv': 'Content-Security-Policy', content: csp.join('; ') }),
    meta('viewport', 'width=device-width, initial-scale=1'),
    meta('color-scheme', 'light dark'),
    markup('title', page.title),
    meta('description', page.description),
    markup('link', { rel: 'icon', href: 'data:,' }),
    markup('style', trustedHtml(style)),
  );
  const body = markup(
    'body',
    markup('a.skip', { href: `#${contentId}` }, 'Skip to the content'),
    trustedHtml(SITE_MARKS.join('')),
    trustedHtml(keepPercents(markupHtml(page.body))),
    later && markup('script', { type: 'text/plain', id: 'later' }, trustedHtml(later)),
    code.map((script) => markup('script', trustedHtml(script))),
  );
  return `<!doctype html>\n${markupHtml(markup('html', { lang: 'en' }, head, body))}\n`;
}

/** Runs the inert script, which the page's policy allows by its hash. */
const RUN_LATER = `addEventListener('load', () => setTimeout(() => {
const { textContent } = document.getElementById('later');
document.body.append(Object.assign(document.createElement('script'), { textContent }));
}))`;

/** Mark the place of the navigation bar, which standalone pages do not have. */
const SITE_MARKS = ['<!-- site -->', '<!-- end of site -->'] as const;

/** Adds a navigation bar to a page, or replaces it. */
export function withNavigation(html: string, links: Content): string {
  const [from, to] = SITE_MARKS.map((mark) => html.indexOf(mark));
  if (from < 0 || to < from) return html;
  const bar = markupHtml(markup('nav.site', { 'aria-label': 'Pages' }, links));
  return `${html.slice(0, from + SITE_MARKS[0].length)}${bar}${html.slice(to)}`;
}

/** A script that cannot end its element; has HTML's line ends, for the hash. */
export function inlineScript(code: string): string {
  return code
    .replace(/\r\n?/g, '\n')
    .replace(/<\/(script)/gi, '<\\/$1')
    .replace(/<!--/g, '<\\!--');
}

/** A value as JSON in a `script` element. */
export function dataScript(value: unknown, attributes: Attributes): Markup {
  const json = JSON.stringify(value).replace(/</g, '\\u003c');
  return markup('script', { type: 'application/json', ...attributes }, trustedHtml(json));
}

/** Embeds compressed content, to be read by `unpackElement`. */
export function packedElement(id: string, content: string | Uint8Array): Markup {
  const packed = gzipSync(content, { level: 9 }).toString('base64');
  return markup('script', { type: 'application/gzip', id }, packed);
}

const bundles = new Map<string, Promise<string>>();

/**
 * Bundles a module and its imports as one classic script, because a page opened from disk
 * cannot import. Cached.
 * @param module such as `new URL('./page/main.js', import.meta.url)`
 */
export function bundleScript(module: URL): Promise<string> {
  const file = fileURLToPath(module);
  if (!bundles.has(file)) bundles.set(file, bundle(file));
  return bundles.get(file)!;
}

async function bundle(compiled: string): Promise<string> {
  const { build } = await import('rolldown');
  // Tests run the TypeScript sources without compiling them.
  const file = existsSync(compiled) ? compiled : compiled.replace(/\.js$/, '.ts');
  const { output } = await build({
    input: file,
    platform: 'browser',
    write: false,
    logLevel: 'warn',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    // The policy of pages forbids `eval`, which zod would try.
    output: {
      format: 'iife',
      minify: true,
      comments: false,
      intro: 'globalThis.__zod_globalConfig = { jitless: true };',
    },
  });
  return output[0].code;
}
