/** Renders the Markdown of notebooks. */
import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { extname, resolve, sep } from 'node:path';
import MarkdownIt, { type MarkdownIt as Parser, type Token } from 'markdown-it';
import { joinLines, MIME, type MimeBundle } from '../../notebook/nbformat.js';
import { markup, markupHtml, trustedHtml, type Content, type Markup } from '../../report/markup.js';
import { anyOf } from '../../text/regex.js';
import type { Heading } from '../sections.js';

/** MIME types of pictures, best first. */
export const PICTURES = [
  MIME.svg,
  ...['png', 'jpeg', 'gif', 'webp', 'avif', 'bmp'].map((kind) => `image/${kind}`),
];

const NAMESPACES = {
  xmlns: 'http://www.w3.org/2000/svg',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
};

const { lib, unescapeAll } = new MarkdownIt().utils;
const { decode } = lib.mdurl;

/** HTML's entities without XML's own. */
const HTML_ENTITY = /&(?!(?:amp|apos|gt|lt|quot);)[a-z]\w*;/gi;

/**
 * An SVG as a file: in a page, namespaces are optional, entities are HTML's, and the
 * encoding is its own.
 */
const svgFile = (text: string): string =>
  text
    .trim()
    .replace(/^<\?xml\b[^>]*\?>\s*/, '')
    .replace(HTML_ENTITY, unescapeAll)
    .replace(/<svg(?=[\s>/])([^>]*)/, (_, attributes: string) => {
      const missing = Object.entries(NAMESPACES).filter(
        ([name]) =>
          !new RegExp(`\\s${name}\\s*=`).test(attributes) &&
          (name === 'xmlns' || text.includes('xlink:')),
      );
      const added = missing.map(([name, namespace]) => ` ${name}="${namespace}"`).join('');
      return `<svg${added}${attributes}`;
    });

export function picture(mime: string, text: string, alt = ''): Markup {
  const base64 = mime === MIME.svg ? Buffer.from(svgFile(text)).toString('base64') : text.trim();
  return base64Picture(mime, base64, alt);
}

const base64Picture = (mime: string, base64: string, alt: string): Markup =>
  markup('img', { alt, src: `data:${mime};base64,${base64}` });

const ENDINGS: Readonly<Record<string, string>> = {
  '.svg': MIME.svg,
  '.jpg': 'image/jpeg',
  ...Object.fromEntries(PICTURES.slice(1).map((mime) => [`.${mime.slice('image/'.length)}`, mime])),
};

/** A picture in a notebook's folder or below; undefined for any other address. */
function filePicture(address: string, folder: string, alt: string): Markup | undefined {
  const file = resolve(folder, address);
  const mime = ENDINGS[extname(file).toLowerCase()];
  if (mime === undefined || !existsSync(file)) return undefined;
  if (!realpathSync(file).startsWith(realpathSync(folder) + sep)) return undefined;
  const bytes = readFileSync(file);
  // An SVG in another encoding declares it: its bytes stay.
  if (mime === MIME.svg && isUtf8(bytes)) return picture(mime, bytes.toString(), alt);
  return base64Picture(mime, bytes.toString('base64'), alt);
}

/** Pictures of a Markdown cell by name, then by MIME type. */
type Attachments = Readonly<Record<string, MimeBundle>>;

/** The picture at `attachment:NAME`; undefined for any other address. */
export function attachedPicture(
  address: string,
  attachments: Attachments = {},
  alt?: string,
): Markup | undefined {
  const name = /^attachment:(.*)$/.exec(decode(address))?.[1];
  if (name === undefined || !Object.hasOwn(attachments, name)) return undefined;
  const bundle = attachments[name];
  const mime = PICTURES.find((known) => known in bundle);
  if (mime === undefined) return undefined;
  const text = joinLines(bundle[mime] as string | string[]);
  // Jupyter base64-encodes every attachment, even SVG, which others write as text.
  const isEncodedSvg = mime === MIME.svg && !text.trimStart().startsWith('<');
  return picture(mime, isEncodedSvg ? Buffer.from(text, 'base64').toString() : text, alt);
}

export interface MarkdownRenderer {
  render: (markdown: string, attachments?: Attachments) => Content;
  /** Rendered so far, in order; so are the paragraphs' texts. */
  headings: Heading[];
  paragraphs: string[];
}

/** The text of inline Markdown without markup; formulas are kept verbatim. */
const plainText = (tokens: readonly Token[]): string =>
  restoreMarks(tokens.map(({ type, content }) => (/break$/.test(type) ? ' ' : content)).join(''));

/**
 * Creates a page's Markdown renderer: unique ids; raw HTML, unsafe links become text.
 * @param folder of the notebook, whose pictures are included. Default: none are
 */
export function createMarkdown(folder?: string): MarkdownRenderer {
  const headings: Heading[] = [];
  const paragraphs: string[] = [];
  const markdown = new MarkdownIt({ linkify: true });
  // Jupyter's links to a section have its text, with hyphens for spaces.
  const normalizeLink = markdown.normalizeLink.bind(markdown);
  markdown.normalizeLink = (url) =>
    /^#(?!cell-|$)/.test(url) ? `#${slug(decode(url))}` : normalizeLink(restoreMarks(url));
  keepMath(markdown);
  keepCells(markdown);
  // A page loads nothing: of pictures from elsewhere, it shows the address.
  const image = (alt: string, source: string, attachments?: Attachments): Content => {
    if (source.startsWith('data:')) return markup('img', { alt, src: source });
    const included =
      attachedPicture(source, attachments, alt) ??
      (folder === undefined ? undefined : filePicture(decode(source), folder, alt));
    return included ?? `${alt} (picture not included: ${source})`.trim();
  };
  markdown.renderer.rules.image = (tokens, i, _, env) => {
    const { attachments } = env as { attachments?: Attachments };
    return markupHtml(image(tokens[i].content, String(tokens[i].attrGet('src')), attachments));
  };
  markdown.core.ruler.push('texts', ({ tokens }) => {
    tokens.forEach((token, i) => {
      if (!['heading_open', 'paragraph_open'].includes(token.type)) return;
      const text = plainText(tokens[i + 1].children ?? []);
      if (token.type === 'paragraph_open') return void paragraphs.push(text);
      const id = uniqueId(text, headings);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), text, id });
    });
  });
  return {
    headings,
    paragraphs,
    render: (text, attachments) =>
      trustedHtml(restoreMarks(markdown.render(text, { attachments }))),
  };
}

const MATH = new RegExp(
  anyOf([
    /\$\$[^]+?\$\$/,
    /\\begin\{(\w+\*?)\}[^]+?\\end\{\1\}/,
    /\$(?![\s$])(?:\\.|[^\\$\n])*?(?<![\s\\])\$(?!\d)/,
    /\$ (?!\d)(?:\\.|[^\\$\n|])+? \$(?!\d)/,
    /\\\\\((?:(?!\\\\[()])[^\n])*\\\\\)/,
    /\\\\\[(?:(?!\\\\[[\]])[^])*\\\\\]/,
  ]),
  'y',
);
/** An escape, and a code span or its backticks: a dollar in them begins no formula. */
const ESCAPE = /\\[^]/;
const CODE_SPAN = /(?<ticks>`+)(?!`)(?:(?:(?!\n\s*\n)[^])*?(?<!`)\k<ticks>(?!`))?/;
const MATH_OR_OTHER = new RegExp(`${MATH.source}|(?<other>${anyOf([ESCAPE, CODE_SPAN])})`, 'g');
/** Bounds the work for a text full of formulas without an end. */
const MAX_FORMULA_LINES = 200;
/** Stands for a bar in a formula. */
const BAR = '\ufdd0';
/** Replaces the backslash of an unclosed `\begin`, whose end is then sought only once. */
const BACKSLASH = '\ufdd1';
const restoreMarks = (text: string): string =>
  text.replaceAll(BAR, '|').replaceAll(BACKSLASH, '\\');

function markUnclosed(text: string): string {
  const ends = new Map([...text.matchAll(/\\end\{(\w+\*?)\}/g)].map((end) => [end[1], end.index]));
  return text.replace(
    /(?<!\\)\\(begin\{(\w+\*?)\})/g,
    (begin: string, rest: string, name: string, place: number) =>
      (ends.get(name) ?? -1) > place ? begin : BACKSLASH + rest,
  );
}

/** Keeps formulas verbatim, as Jupyter does. */
function keepMath(markdown: Parser): void {
  // A bar in a formula must not end a table's cell.
  markdown.core.ruler.after('normalize', 'bars', (state) => {
    state.src = markUnclosed(state.src).replace(MATH_OR_OTHER, (text, ...match) => {
      const { other } = match.at(-1) as { other?: string };
      return other === undefined ? text.replaceAll('|', BAR) : text;
    });
  });
  markdown.inline.ruler.before('escape', 'math', (state, isSilent) => {
    MATH.lastIndex = state.pos;
    const [math] = MATH.exec(state.src) ?? [];
    if (math === undefined) return false;
    if (!isSilent) state.push('text', '', 0).content = math;
    state.pos += math.length;
    return true;
  });
  // Lines of a formula are neither lists nor headings.
  markdown.block.ruler.before(
    'code',
    'math',
    (state, line, _, isSilent) => {
      if (!/[$\\]/.test(state.src[state.bMarks[line] + state.tShift[line]] ?? '')) return false;
      const isInside = (i: number): boolean =>
        state.isEmpty(i) || state.sCount[i] >= state.blkIndent;
      const last = Math.min(state.lineMax, line + MAX_FORMULA_LINES);
      let end = line + 1;
      while (end < last && isInside(end)) end++;
      // Without the marks of a list or quote around it.
      const text = state.getLines(line, end, state.blkIndent, false).trimStart();
      MATH.lastIndex = 0;
      const [math] = MATH.exec(text) ?? [];
      if (!math?.includes('\n') || !/^[ \t]*(\n|$)/.test(text.slice(MATH.lastIndex))) return false;
      if (isSilent) return true;
      state.line = line + math.split('\n').length;
      state.push('paragraph_open', 'p', 1);
      Object.assign(state.push('inline', '', 0), { content: math, children: [] });
      state.push('paragraph_close', 'p', -1);
      return true;
    },
    { alt: ['paragraph'] },
  );
}

/** Keeps cells beyond a table's columns, which GFM drops. */
function keepCells(markdown: Parser): void {
  markdown.core.ruler.after('block', 'cells', (state) => {
    const lines = state.src.split('\n');
    let written: string[] = [];
    const newToken = (type: string, tag: string, nesting: -1 | 0 | 1, content = ''): Token =>
      Object.assign(new state.Token(type, tag, nesting), { content, children: [] });
    state.tokens = state.tokens.flatMap((token) => {
      if (token.type === 'tr_open')
        written = lines[token.map![0]].replace(/^[\s>]*\|?|(?<!\\)\|\s*$/g, '').split(/(?<!\\)\|/);
      if (token.type === 'th_open') written = []; // a header has no extra cells
      if (token.type === 'td_open') written.shift();
      if (token.type !== 'tr_close' || written.every((cell) => cell.trim() === '')) return token;
      const cells = written.flatMap((cell) => [
        newToken('td_open', 'td', 1),
        newToken('inline', '', 0, cell.trim()),
        newToken('td_close', 'td', -1),
      ]);
      return [...cells, token];
    });
  });
}

/** Ids of a page's own elements. */
const OWN_ID = /^(?:bibtex|chart-\d+|cite|content|later|provenance)$/;

const slug = (text: string): string => {
  const id = (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['section']).join('-');
  return OWN_ID.test(id) ? `${id}-section` : id;
};

/** Makes a readable id: `main-results`, then `main-results-2`. */
function uniqueId(text: string, headings: readonly Heading[]): string {
  const base = slug(text);
  const taken = new Set(headings.map((heading) => heading.id));
  let id = base;
  for (let i = 2; taken.has(id); i++) id = `${base}-${i}`;
  return id;
}
