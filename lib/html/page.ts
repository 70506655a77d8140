/** The frame of every page: one file with its styles and scripts inside and no way out to a network. */
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
  /** Rules of the content security policy beside those of every page, or in their place. */
  policy?: Readonly<Record<string, string>>;
}

/** Nothing is loaded from anywhere, not even from the folder of the page. */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'unsafe-inline'",
  'style-src': "'unsafe-inline'",
  'img-src': 'data: blob:',
  'base-uri': "'none'",
  'form-action': "'none'",
};

/** A complete HTML document. */
export function pageHtml({ title, description, body, styles = '', scripts = [], policy }: Page): string {
  const rules = Object.entries({ ...POLICY, ...policy }).map((rule) => rule.join(' '));
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${rules.join('; ')}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(title)}</title>`,
    `<meta name="description" content="${escapeHtml(description)}">`,
    '<link rel="icon" href="data:,">',
    `<style>${PAGE_STYLE}${styles}</style>`,
    '</head>',
    `<body>\n${body}`,
    ...scripts.map((script) => `<script>${inlineScript(script)}</script>`),
    '</body>',
    '</html>\n',
  ].join('\n');
}

/** A script's text with nothing that would end its element early. */
export function inlineScript(code: string): string {
  return code.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');
}

/** A value as JSON inside a `script` element of a data type. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

/** An element that carries bytes or text compressed; the page unpacks it by `unpackElement`. */
export function packedElement(id: string, content: string | Uint8Array): string {
  const packed = gzipSync(content, { level: 9 }).toString('base64');
  return `<script type="application/gzip" id="${escapeHtml(id)}">${packed}</script>`;
}

/** The script of a report; the library that draws charts is large, and comes only with them. */
export function reportScript({ hasCharts }: { hasCharts: boolean }): Promise<string> {
  const entry = hasCharts ? './browser/report-with-charts.js' : './browser/report.js';
  return bundleScript(new URL(entry, import.meta.url));
}
