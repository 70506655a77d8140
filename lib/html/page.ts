/** The frame of every page: one file with its styles and scripts inside and no way out to a network. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { escapeHtml } from './cells.js';

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

const policyText = (rules: Readonly<Record<string, string>>): string =>
  Object.entries(rules)
    .map(([rule, sources]) => `${rule} ${sources}`)
    .join('; ');

/** A complete HTML document. */
export function pageHtml({ title, description, body, styles = '', scripts = [], policy }: Page): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policyText({ ...POLICY, ...policy })}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(title)}</title>`,
    `<meta name="description" content="${escapeHtml(description)}">`,
    '<link rel="icon" href="data:,">',
    `<style>${STYLE}${styles}</style>`,
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

/** The three bundles that draw charts, and the few lines that start them. */
export function chartScripts(): string[] {
  const require = createRequire(import.meta.url);
  const bundle = (name: string, file: string): string =>
    readFileSync(path.join(packageFolder(require, name), 'build', file), 'utf8').replace(
      /\/\/# sourceMappingURL.*$/m,
      '',
    );
  return [
    bundle('vega', 'vega.min.js'),
    bundle('vega-lite', 'vega-lite.min.js'),
    bundle('vega-embed', 'vega-embed.min.js'),
    DRAW_CHARTS,
  ];
}

/** Where a package lies; its `exports` need not name any file that we want. */
function packageFolder(require: NodeJS.Require, name: string): string {
  const folders = require.resolve.paths(name) ?? [];
  for (const folder of folders) {
    try {
      readFileSync(path.join(folder, name, 'package.json'));
      return path.join(folder, name);
    } catch {
      continue;
    }
  }
  throw new Error(`Expected the package ${name} to be installed. Run "npm ci".`);
}

/**
 * Puts each chart's interactive form in place of its picture, and buttons that save it beside the links to its data. A
 * picture whose chart cannot be drawn stays. A page that gets other charts later calls `drawCharts` again.
 */
const DRAW_CHARTS = `
function save(name, href) {
  Object.assign(document.createElement('a'), { download: name, href }).click();
}
function offerFiles(figure, { name, spec, view }) {
  const title = spec.title?.text ?? name;
  const json = () => URL.createObjectURL(new Blob([JSON.stringify(spec, null, 2)], { type: 'application/json' }));
  const offer = (label, action) => {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label, onclick: action });
    button.setAttribute('aria-label', label + ': ' + title);
    figure.querySelector('.downloads').append(' ', button);
  };
  offer('SVG', async () => save(name + '.svg', await view.toImageURL('svg')));
  offer('PNG', async () => save(name + '.png', await view.toImageURL('png', 3)));
  offer('Vega-Lite', () => save(name + '.vl.json', json()));
}
function drawChart({ dataset, textContent }) {
  const spec = JSON.parse(textContent);
  const { $schema, ...drawn } = spec; // names version 5, which JupyterLab has; this page has 6
  const figure = document.getElementById(dataset.chart);
  const drawing = figure.querySelector('.drawing');
  const live = document.createElement('div');
  return vegaEmbed(live, drawn, { mode: 'vega-lite', renderer: 'svg', ast: true, actions: false })
    .then(({ view }) => {
      drawing.replaceChildren(live);
      drawing.setAttribute('role', 'group');
      offerFiles(figure, { name: dataset.name, spec, view });
    })
    .catch((error) => console.error(error));
}
function drawCharts() {
  return Promise.all([...document.querySelectorAll('script[data-chart]')].map(drawChart));
}
void drawCharts();
`;

/** Shows the buttons that copy a text, where the browser allows copying. */
export const COPY_TEXT = `
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy);
  const status = button.parentElement.querySelector('[role=status]');
  button.hidden = !navigator.clipboard;
  button.onclick = () => navigator.clipboard.writeText(source.textContent)
    .then(() => (status.textContent = 'Copied.'), () => (status.textContent = 'The browser did not allow it: select the text and copy it.'));
}
`;

const STYLE = `
:root { --fg: #1b1f24; --soft: #57606a; --bg: #ffffff; --panel: #f5f6f8; --line: #d5d9df; --accent: #0b5cad; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --fg: #e6e9ee; --soft: #a3adba; --bg: #14171b; --panel: #1d2127; --line: #3a414b; --accent: #7ab8ff; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--bg); padding: .5rem; }
.layout { display: grid; grid-template-columns: minmax(0, 1fr); max-width: 86rem; margin: 0 auto; padding: 0 1.25rem 4rem; gap: 0 2.5rem; }
@media (min-width: 68rem) {
  .layout:has(nav) { grid-template-columns: 14rem minmax(0, 1fr); }
  nav.toc { position: sticky; top: 0; max-height: 100vh; overflow: auto; padding-top: 2rem; align-self: model; }
}
nav.toc { font-size: .9rem; padding-top: 1.5rem; }
nav.toc p { font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); margin: 0 0 .5rem; }
nav.toc ul { list-style: none; margin: 0; padding: 0; }
nav.toc li { margin: .25rem 0; line-height: 1.35; }
nav.toc li.level-3 { padding-left: 1rem; }
nav.toc a { text-decoration: none; }
nav.toc a:hover { text-decoration: underline; }
main > p, main > ul, main > ol, main > blockquote, .text { max-width: 46rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 2rem 0 1rem; }
h2 { font-size: 1.4rem; margin: 2.6rem 0 .8rem; padding-top: .4rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.12rem; margin: 1.8rem 0 .6rem; }
code, pre { font: .86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
:not(pre) > code { background: var(--panel); padding: .1em .3em; border-radius: 3px; }
pre { background: var(--panel); padding: .8rem 1rem; border-radius: 6px; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.bibtex { user-select: all; }
details.code { margin: .6rem 0; }
details.data { margin: .4rem 0; }
details > summary { cursor: pointer; color: var(--soft); font-size: .85rem; width: max-content; }
pre.stderr { border-left: 3px solid #c0392b; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .83rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; color: var(--soft); padding-bottom: .4rem; font-size: .9rem; }
th, td { padding: .28rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; }
thead th { white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 500; white-space: normal; }
th[scope=colgroup] { text-align: center; border-bottom: 1px solid var(--line); }
.downloads { margin: .3rem 0 1.2rem; font-size: .82rem; color: var(--soft); }
button { font: inherit; color: var(--accent); background: var(--bg); border: 1px solid var(--line); border-radius: 4px; padding: .1rem .5rem; cursor: pointer; }
.downloads button { border: 0; padding: 0; background: none; text-decoration: underline; }
td.figure, th.figure { text-align: right; }
tbody tr:hover { background: var(--panel); }
figure.chart { margin: 1.4rem 0; }
figure.chart .drawing { overflow-x: auto; }
figure.chart .vega-embed { max-width: none; }
figure.chart figcaption { color: var(--soft); font-size: .86rem; max-width: 46rem; }
figure.chart svg text { fill: var(--fg); }
figure.chart svg .role-axis-grid line { stroke: var(--line); }
figure.chart svg .role-axis-domain line, figure.chart svg .role-axis-tick line { stroke: var(--soft); }
dl.provenance { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1.2rem; font-size: .9rem; }
dl.provenance dt { color: var(--soft); }
dl.provenance dd { margin: 0; overflow-wrap: anywhere; }
ul.reports { list-style: none; padding: 0; display: grid; gap: 1rem; }
ul.reports > li { border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.25rem; }
ul.reports h3 { border: 0; margin: 0 0 .3rem; padding: 0; }
@media print {
  nav.toc, details.code, details.data, .downloads, .skip, button { display: none; }
  .layout { display: block; max-width: none; }
  figure.chart, table { break-inside: avoid; }
}
`;
