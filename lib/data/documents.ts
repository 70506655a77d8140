/**
 * Reads documents as sections: paragraphs under a title. Text, Markdown and HTML have one
 * section per heading; CSV, JSON and Parquet one per row.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import MarkdownIt from 'markdown-it';
import Papa from 'papaparse';
import { parse, type DefaultTreeAdapterTypes } from 'parse5';
import { unpack } from '../io/files.js';
import { nameFormat } from '../io/formats.js';
import { parseJson } from '../io/json.js';
import { readParquet } from '../io/parquet.js';
import { ownValue } from '../own-value.js';
import { formatList } from '../text/english.js';
import { isBenchmark } from './formats/read.js';
import { splitContents, withTitle } from './passage.js';

export interface Section {
  /** The document's title and the headings above the paragraphs, joined by ` - `. */
  title: string;
  /** Empty for a row without text. */
  paragraphs: string[];
  /** The row's id, if it has a column of ids. */
  id?: string;
  /** Whether the title is only the file's name. */
  isUntitled?: boolean;
  /** Where a row's title, text and id come from, for people. */
  source?: string;
}

/** The columns of CSV, JSON and Parquet to use. Default: guessed from their names. */
export interface Columns {
  title?: string;
  text?: string;
}

/** Reads a format. @throws Error saying what is wrong */
type Reader = (source: { text: string; name: string; columns: Columns }) => Section[];

const collapse = (text: string): string => text.replace(/\s+/g, ' ').trim();
const splitParagraphs = (text: string): string[] =>
  text
    .split(/\n\s*\n/)
    .map(collapse)
    .filter(Boolean);

/** Maximum words in a first line that counts as the title. */
const MAX_TITLE_WORDS = 12;

/** A short first paragraph that does not end like a sentence is the title. */
const readPlainText: Reader = ({ text, name }) => {
  const [first, ...others] = splitParagraphs(text);
  if (first === undefined) return [];
  const isTitle =
    others.length > 0 && first.split(' ').length <= MAX_TITLE_WORDS && !/[.!?:;,]$/.test(first);
  return isTitle
    ? [{ title: first, paragraphs: others }]
    : [{ title: name, paragraphs: [first, ...others], isUntitled: true }];
};

/** A paragraph (level 0) or a heading. */
interface Block {
  level: number;
  text: string;
}

/** Makes a section per heading. A document's only first-level heading is its title. */
function sectionBlocks(
  blocks: readonly Block[],
  titles: { given?: string; page?: string; name: string },
): Section[] {
  const top = blocks.filter(({ level }) => level === 1);
  const heading = top.length === 1 ? top[0].text : titles.page;
  const explicitTitle = titles.given || heading;
  const title = explicitTitle || titles.name;
  const sections: Section[] = [];
  let path: Block[] = [];
  let current: Section | undefined;
  for (const block of blocks) {
    if (block.level > 0) {
      path = path.filter(({ level }) => level < block.level);
      if (block !== top[0] || top.length > 1) path.push(block);
      current = undefined;
      continue;
    }
    if (!current) {
      const headings = path.map(({ text }) => text).filter((text) => text !== title);
      const isUntitled = !explicitTitle && headings.length === 0;
      current = { title: [title, ...headings].join(' - '), paragraphs: [], isUntitled };
      sections.push(current);
    }
    current.paragraphs.push(block.text);
  }
  return sections;
}

type Node = DefaultTreeAdapterTypes.ChildNode;

const names = (list: string): ReadonlySet<string> => new Set(list.split(' '));
const SKIPPED = names(
  'head script style noscript template nav footer svg iframe button select textarea',
);
const BLOCK = names(
  'address article aside blockquote body caption dd details div dl dt fieldset figcaption figure ' +
    'form header hr li main ol p section summary table tbody thead tr ul',
);

const childNodes = (node: DefaultTreeAdapterTypes.Node): Node[] =>
  'childNodes' in node ? node.childNodes : [];

const ROLES = new Map([
  ['main', 'main'],
  ['navigation', 'nav'],
  ['contentinfo', 'footer'],
]);

const attribute = (node: Node, name: string): string =>
  ('attrs' in node && node.attrs.find((given) => given.name === name)?.value) || '';

/** The tag name of an element, or of the element whose role it has. */
const elementName = (node: Node): string => ROLES.get(attribute(node, 'role')) ?? node.nodeName;

const findElements = (node: DefaultTreeAdapterTypes.Node, name: string): Node[] =>
  childNodes(node).flatMap((child) => [
    ...(elementName(child) === name ? [child] : []),
    ...findElements(child, name),
  ]);

function textContent(node: Node): string {
  if ('value' in node) return node.value;
  const name = elementName(node);
  if (name === 'br') return '\n';
  return name === 'img' ? attribute(node, 'alt') : childNodes(node).map(textContent).join('');
}

/** The headings and paragraphs, without navigation, footers and scripts. */
function htmlBlocks(root: DefaultTreeAdapterTypes.Node): Block[] {
  const blocks: Block[] = [];
  let buffer = '';
  const flush = (): void => {
    const text = collapse(buffer);
    if (text !== '') blocks.push({ level: 0, text });
    buffer = '';
  };
  const visit = (node: Node): void => {
    const name = elementName(node);
    if (name === '#text') buffer += (node as DefaultTreeAdapterTypes.TextNode).value;
    if (SKIPPED.has(name)) return;
    const level = Number(/^h([1-6])$/.exec(name)?.[1] ?? 0);
    if (level > 0 || BLOCK.has(name)) flush();
    if (level > 0) {
      // Documentation generators end headings with a link to themselves.
      const text = collapse(textContent(node)).replace(/\s*[#¶]+$/, '');
      if (text !== '') blocks.push({ level, text });
      return;
    }
    if (name === 'pre') {
      flush();
      const lines = textContent(node)
        .split('\n')
        .filter((line) => line.trim() !== '');
      blocks.push(...lines.map((text) => ({ level: 0, text: text.trim() })));
      return;
    }
    if (name === 'br') buffer += ' ';
    if (name === 'img') buffer += attribute(node, 'alt');
    if (['td', 'th'].includes(name) && buffer.trim() !== '') buffer += ' | ';
    childNodes(node).forEach(visit);
    if (BLOCK.has(name)) flush();
  };
  childNodes(root).forEach(visit);
  flush();
  return blocks;
}

/** The element with the page's content: `main`, the only `article`, or the whole page. */
function mainElement(page: DefaultTreeAdapterTypes.Document): DefaultTreeAdapterTypes.Node {
  const main = findElements(page, 'main');
  const articles = findElements(page, 'article');
  return main[0] ?? (articles.length === 1 ? articles[0] : page);
}

const readHtml: Reader = ({ text, name }) => {
  const page = parse(text);
  const [head] = findElements(page, 'title');
  const title = head && collapse(textContent(head));
  return sectionBlocks(htmlBlocks(mainElement(page)), { page: title, name });
};

/** YAML or TOML. Other text between two rules is part of the document. */
const FRONT_MATTER = /^(---|\+\+\+)\n(?=#|[^\n]*[:=])([\s\S]*?)\n\1[^\S\n]*(?:\n|$)/;
/** On one line, or on the indented ones that follow. */
const TITLE = /^title[^\S\n]*[:=][^\S\n]*(?:[|>][+-]?\n[^\S\n]+)?(\S.*(?:\n[^\S\n]+.*)*)/m;

/** In double quotes: a code, as PyYAML writes letters beyond ASCII, or one character. */
const ESCAPE = /\\(?:x(..)|u(.{4})|U(.{8})|(.))/g;

function statedTitle(matter: string): string {
  const title = collapse(TITLE.exec(matter)?.[1] ?? '');
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')/.exec(title) ?? [];
  if (single !== undefined) return single.replaceAll("''", "'");
  if (double === undefined) return title.replace(/ #.*/, '');
  const unescape = (_: string, x?: string, u?: string, U?: string, other = ''): string => {
    const code = parseInt(x ?? u ?? U ?? '', 16);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    return /[nrt_NLP]/.test(other) ? ' ' : other;
  };
  return collapse(double.replace(ESCAPE, unescape));
}

const readMarkdown: Reader = ({ text, name }) => {
  const matter = FRONT_MATTER.exec(text);
  const given = statedTitle(matter?.[2] ?? '');
  const html = new MarkdownIt({ html: true }).render(text.slice(matter?.[0].length ?? 0));
  return sectionBlocks(htmlBlocks(parse(html)), { given, name });
};

/** Column names in order of preference. */
const GUESSES = {
  title: ['title', 'wikipedia_title', 'name', 'question', 'heading', 'subject'],
  text: ['text', 'contents', 'content', 'body', 'passage', 'answer', 'description'],
  id: ['id', '_id', 'passage_id', 'pid', 'docid', 'doc_id', 'docno'],
};

/** Finds a column by name or by guess. @throws Error naming the available columns */
function findColumn(
  kind: keyof typeof GUESSES,
  names: readonly string[],
  given?: string,
): string | undefined {
  const wanted = given === undefined ? GUESSES[kind] : [given];
  const isSame = (name: string, other: string): boolean =>
    name === other || (given === undefined && name.trim().toLowerCase() === other);
  const matches = wanted.map((guess) => names.filter((name) => isSame(name, guess)));
  const [column, other] = matches.find(({ length }) => length > 0) ?? [];
  if (other !== undefined)
    throw new Error(
      `expected one column ${kind}, but got ${formatList([column!, other])}. ${kind === 'id' ? 'Rename one' : `Name it with --${kind}`}.`,
    );
  if (column === undefined && (given !== undefined || kind === 'text'))
    throw new Error(
      given === undefined
        ? `expected a column such as ${formatList(wanted)}, but got ${formatList(names)}. Name it with --${kind}.`
        : `expected a column ${given} (--${kind}), but got ${formatList(names)}.`,
    );
  return column;
}

/** The text of a cell; a list becomes one paragraph per item. */
function cellText(value: unknown, where: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '';
  if (Array.isArray(value)) return value.map((item) => cellText(item, where)).join('\n\n');
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array)
    throw new Error(`${where}: expected text in UTF-8, but got other bytes.`);
  const json = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  );
  throw new Error(`${where}: expected text, but got ${json.slice(0, 60)}.`);
}

/** Makes a section per row. */
function toSections(
  rows: readonly Readonly<Record<string, unknown>>[],
  { name, columns }: { name: string; columns: Columns },
): Section[] {
  if (rows.length === 0) return [];
  // The guess would be `question` and `answer`: passages that give the answers away.
  if (columns.text === undefined && isBenchmark(rows))
    throw new Error(
      "expected documents, but got a benchmark's questions. Convert the file with data convert, or name a column with --text.",
    );
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const textColumn = findColumn('text', names, columns.text)!;
  const others = names.filter((other) => other !== textColumn);
  const titleColumn = findColumn('title', others, columns.title);
  const idColumn = findColumn('id', others);
  const title = titleColumn ?? (textColumn === 'contents' ? 'contents' : "the file's name");
  const source = `text from ${textColumn}, titles from ${title}, ids ${idColumn ? `from ${idColumn}` : 'numbered'}`;
  return rows.map((row, i) => {
    const cell = (column: string | undefined): string =>
      column === undefined ? '' : cellText(ownValue(row, column), `row ${i + 1}, ${column}`);
    const body = cell(textColumn).trim();
    const given = collapse(cell(titleColumn));
    // FlashRAG's `contents` start with the title.
    const { title, text } =
      textColumn === 'contents'
        ? splitContents(withTitle(body, given))
        : { title: given, text: body };
    const paragraphs = splitParagraphs(text);
    const id = cell(idColumn) || undefined;
    return { title: title || name, paragraphs, id, isUntitled: title === '', source };
  });
}

const isRow = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readJsonLines: Reader = ({ text, ...source }) => {
  const rows = text.split('\n').flatMap((padded, i): Record<string, unknown>[] => {
    const line = padded.trim();
    if (line === '') return [];
    let value: unknown;
    try {
      value = parseJson(line);
    } catch (error) {
      throw new Error(`line ${i + 1}: ${(error as Error).message}`, { cause: error });
    }
    if (isRow(value)) return [value];
    throw new Error(`line ${i + 1}: expected an object, but got ${line.slice(0, 60)}.`);
  });
  return toSections(rows, source);
};

const readJson: Reader = ({ text, ...source }) => {
  const value: unknown = parseJson(text);
  const rows = Array.isArray(value) ? value : [value];
  const invalid = rows.findIndex((row) => !isRow(row));
  if (invalid >= 0)
    throw new Error(`expected a list of objects, but item ${invalid + 1} is not an object.`);
  return toSections(rows as Record<string, unknown>[], source);
};

const readCsv: Reader = ({ text, ...source }) => {
  // Not told of repeated names, the parser renames them.
  const [header = []] = Papa.parse<string[]>(text, { preview: 1, skipEmptyLines: 'greedy' }).data;
  const repeated = header.find((name, i) => header.indexOf(name) < i);
  if (repeated) throw new Error(`expected one column ${repeated}, but got several.`);
  const { data, errors } = Papa.parse<Record<string, unknown>>(text, {
    header: true,
    skipEmptyLines: 'greedy',
  });
  // A file with a single column has no delimiter to detect.
  const [error] = errors.filter(({ code }) => code !== 'UndetectableDelimiter');
  // Quote errors count the header as a row, other errors do not.
  const row = (error?.row ?? 0) + (error?.type === 'Quotes' ? 0 : 1);
  if (error) throw new Error(`row ${row}: ${error.message}`);
  return toSections(data, source);
};

const READERS: Readonly<Record<string, Reader>> = {
  txt: readPlainText,
  text: readPlainText,
  md: readMarkdown,
  markdown: readMarkdown,
  html: readHtml,
  htm: readHtml,
  csv: readCsv,
  tsv: readCsv,
  jsonl: readJsonLines,
  ndjson: readJsonLines,
  json: readJson,
};

/** File name endings that can be read; all but Parquet also with .gz. */
export const DOCUMENT_ENDINGS: readonly string[] = [...Object.keys(READERS), 'parquet'];

/** The ending of a file name, without `.gz`. */
export const documentEnding = (file: string): string =>
  /\.([^.]+)$/.exec(basename(file.toLowerCase(), '.gz'))?.[1] ?? '';

/** Windows-1252 from 0x80 on. Node before 23.7 decodes it as ISO 8859-1. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Byte order marks, read as ISO 8859-1. */
const MARKS = { ÿþ: 'utf-16le', þÿ: 'utf-16be', 'ï»¿': 'utf-8' };

/** Decodes UTF-8, UTF-16, or what an HTML page declares, if it has no byte order mark. */
function decodeDocument(bytes: Uint8Array, ending: string): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024));
  const stated = /^html?$/.test(ending) && /<meta[^>]+charset=["']?([\w-]+)/i.exec(head)?.[1];
  const mark = Object.entries(MARKS).find(([bytes]) => head.startsWith(bytes))?.[1];
  // As in HTML: a declaration that is read in ASCII is not in UTF-16.
  const encoding = mark ?? (stated && !/utf-16|unicode/i.test(stated) ? stated : 'utf-8');
  try {
    const decoder = new TextDecoder(encoding, { fatal: true });
    const text = decoder.decode(bytes);
    if (text.includes('\0')) throw new Error('not text');
    if (decoder.encoding !== 'windows-1252') return text;
    return text.replace(/[\u0080-\u009f]/g, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80]);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_STRING_TOO_LONG')
      throw new Error('expected at most half a gigabyte of text. Split the file.', { cause });
    const fault = cause instanceof RangeError ? 'this encoding is not known' : 'got other bytes';
    const reason = nameFormat(bytes) ?? `${fault}. Save it as UTF-8.`;
    const message = `expected text in ${encoding}, but ${reason}`;
    throw new Error(message, { cause });
  }
}

/**
 * Reads the sections of a file; the ending of its name selects the format.
 * @throws Error saying what is wrong with the file
 */
export async function readSections(file: string, columns: Columns = {}): Promise<Section[]> {
  const ending = documentEnding(file);
  const name = basename(file).replace(/(.)\..*$/, '$1');
  if (!DOCUMENT_ENDINGS.includes(ending))
    throw new Error(`expected one of the endings ${formatList(DOCUMENT_ENDINGS)}.`);
  if (ending === 'parquet') return toSections(await readParquet(file), { name, columns });
  const bytes = unpack(await readFile(file), file);
  const text = decodeDocument(bytes, ending).replace(/\r\n?/g, '\n');
  return READERS[ending]({ text, name, columns });
}
