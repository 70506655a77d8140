/**
 * The frame of every page: one file with its styles and scripts inside and no way out to
 * a network.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { bundleScript } from './bundle.js';
import { escapeHtml } from './markup.js';
import { PAGE_STYLE } from './styles.js';

export interface Page {
  title: string;
  description: string;
  /** HTML of the page's `body`. */
  body: string;
  /** Styles beside those of every page. */
  styles?: string;
  /** Scripts that run after the body, in order. */
  scripts?: readonly string[];
  /**
   * Rules of the content security policy beside those of every page; those of scripts and
   * styles are added to the hashes.
   */
  policy?: Readonly<Record<string, string>>;
}

/** Of what charts say of a point; Vega's own style would be refused. */
const TOOLTIP_STYLE = `
#vg-tooltip-element { visibility: hidden; position: fixed; z-index: 9; padding: .5rem; font-size: .75rem; background: var(--bg); color: var(--fg); border: 1px solid var(--line); border-radius: 3px; }
#vg-tooltip-element.visible { visibility: visible; }
#vg-tooltip-element td.key { color: var(--soft); text-align: right; padding-right: .3rem; }
`;

/** Nothing is loaded from anywhere, not even from the folder of the page. */
const POLICY = {
  'default-src': "'none'",
  'img-src': 'data: blob:',
  'base-uri': "'none'",
  'form-action': "'none'",
};

/**
 * Allows inline elements by what they hold; nothing else that finds its way into the page
 * runs or styles it.
 */
const hashesOf = (contents: readonly string[]): string =>
  contents
    .map((content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`)
    .join(' ');

/** A complete HTML document. */
export function pageHtml({
  title,
  description,
  body,
  styles = '',
  scripts = [],
  policy,
}: Page): string {
  const style = `${PAGE_STYLE}${TOOLTIP_STYLE}${styles}`;
  const code = scripts.map(inlineScript);
  const hashed = { 'script-src': code, 'style-src': [style] };
  const rules: Record<string, string> = { ...POLICY, ...policy };
  for (const [rule, contents] of Object.entries(hashed))
    rules[rule] = [hashesOf(contents), policy?.[rule]].filter(Boolean).join(' ') || "'none'";
  const csp = Object.entries(rules).map((rule) => rule.join(' '));
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${csp.join('; ')}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(title)}</title>`,
    `<meta name="description" content="${escapeHtml(description)}">`,
    '<link rel="icon" href="data:,">',
    `<style>${style}</style>`,
    '</head>',
    `<body>\n${body}`,
    ...code.map((script) => `<script>${script}</script>`),
    '</body>',
    '</html>\n',
  ].join('\n');
}

/**
 * A script's text with nothing that would end its element early; line ends as HTML reads
 * them, for the hash.
 */
export function inlineScript(code: string): string {
  return code
    .replace(/\r\n?/g, '\n')
    .replace(/<\/(script)/gi, '<\\/$1')
    .replace(/<!--/g, '<\\!--');
}

/** A value as JSON inside a `script` element of a data type. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

/**
 * An element that carries bytes or text compressed; the page unpacks it by
 * `unpackElement`.
 */
export function packedElement(id: string, content: string | Uint8Array): string {
  const packed = gzipSync(content, { level: 9 }).toString('base64');
  return `<script type="application/gzip" id="${escapeHtml(id)}">${packed}</script>`;
}

/**
 * The script of a report; the library that draws charts is large, and comes only with
 * them.
 */
export function reportScript({ hasCharts }: { hasCharts: boolean }): Promise<string> {
  const entry = hasCharts ? './browser/report-with-charts.js' : './browser/report.js';
  return bundleScript(new URL(entry, import.meta.url));
}
