/** The frame of every page: one file with its styles and scripts that loads nothing. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { escapeHtml, markup, markupHtml } from '../report/markup.js';
import { readStyles } from '../report/styles.js';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Page {
  title: string;
  description: string;
  body: string;
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

/** Renders a complete HTML document. */
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
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${csp.join('; ')}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(page.title)}</title>`,
    `<meta name="description" content="${escapeHtml(page.description)}">`,
    '<link rel="icon" href="data:,">',
    `<style>${style}</style>`,
    '</head>',
    `<body>\n<a class="skip" href="#${contentId}">Skip to the content</a>`,
    SITE_MARKS.join(''),
    keepPercents(page.body),
    later && `<script type="text/plain" id="later">${later}</script>`,
    ...code.map((script) => `<script>${script}</script>`),
    '</body>',
    '</html>\n',
  ].join('\n');
}

/** Runs the inert script, which the page's policy allows by its hash. */
const RUN_LATER = `addEventListener('load', () => setTimeout(() => {
const { textContent } = document.getElementById('later');
document.body.append(Object.assign(document.createElement('script'), { textContent }));
}))`;

/** Marks the place of the navigation bar, which standalone pages do not have. */
export const SITE_MARKS = ['<!-- site -->', '<!-- end of site -->'] as const;

/** A script that cannot end its element; has HTML's line ends, for the hash. */
export function inlineScript(code: string): string {
  return code
    .replace(/\r\n?/g, '\n')
    .replace(/<\/(script)/gi, '<\\/$1')
    .replace(/<!--/g, '<\\!--');
}

/** Embeds a value as JSON in a `script` element of a data type. */
export function inlineJson(value: unknown): string {
  return JSON.stringify(value)
    .replace(/</g, '\\u003c')
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}

/** Embeds compressed content, to be read by `unpackElement`. */
export function packedElement(id: string, content: string | Uint8Array): string {
  const packed = gzipSync(content, { level: 9 }).toString('base64');
  return `<script type="application/gzip" id="${escapeHtml(id)}">${packed}</script>`;
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

export const PROVENANCE: Heading = {
  level: 2,
  text: 'Where the numbers come from',
  id: 'provenance',
};

const PROVENANCE_TITLES: Record<string, string> = {
  seed: 'Seed',
  seeds: 'Seeds',
  commit: 'Commit',
  configHash: 'Configuration hash',
  backend: 'Backend',
  hardware: 'Hardware',
  node: 'Node',
  durationSeconds: 'Duration (seconds)',
  repeats: 'Repeats',
  warmUps: 'Seeds of initial models',
  questions: 'Questions',
  testDrawnFrom: 'Seed of the test questions (hash of a commit)',
  load: 'Machine load',
  figures: 'Figures',
  costs: 'Cost of a request (ms)',
  generation: 'Model call',
  recorded: 'Recorded earlier',
  timing: 'Seconds per question',
  computedHere: 'Computed on this machine',
  takenFromRecords: 'From records',
};

/** Lists the provenance as names and values after `intro`, folded unless `isOpen`. */
export function provenanceHtml(
  provenance: Readonly<Record<string, unknown>>,
  { intro = '', isOpen = false } = {},
): string {
  const list = Object.entries(provenance).map(([name, value]) => [
    markup('dt', PROVENANCE_TITLES[name] ?? name),
    markup('dd', valueText(value)),
  ]);
  const { id, text } = PROVENANCE;
  const summary = markup('summary', 'Seeds, commit, machine');
  const details = markup('details', { open: isOpen }, summary, markup('dl.provenance', list));
  const heading = markup('h2', text);
  return markupHtml(
    markup('section', { id }, heading, intro !== '' && markup('p', intro), details),
  );
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${valueText(inner)}`)
      .join('; ');
  }
  return JSON.stringify(value) ?? '–';
}

export interface Heading {
  level: number;
  text: string;
  id: string;
}

/** Lays out a page's body: a table of contents, if there are headings, and `main`. */
export function layoutHtml(headings: readonly Heading[], main: string): string {
  const contents = headings.length > 0 ? contentsHtml(headings) : '';
  return `<div class="layout">${contents}\n<main id="content">\n${main}</main></div>`;
}

/** The table of contents: links to headings of levels 2 and 3. */
function contentsHtml(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  const items = shown.map(({ level, text, id }) => {
    return `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`;
  });
  return `<nav class="toc" aria-label="Contents"><details open><summary>Contents</summary><ul>${items.join('')}</ul></details></nav>`;
}
