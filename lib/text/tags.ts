/**
 * The tag grammar of a transcript. Rollout and format reward use the same parser.
 *
 *     <think> reasoning </think>
 *     <search> sub-query ## sub-query </search>
 *     <information> passages </information>      written by the environment only
 *     <answer> short answer </answer>
 *
 * A block is an opening tag whose next tag is its closing tag. Blocks therefore never
 * nest; everything else, including a lone tag, is stray text.
 */
import { formatLabelled, parseLabelled } from './labelled-information.js';

export type Tag = 'think' | 'search' | 'information' | 'answer';

/** Separates the sub-queries of a search; RAG-R1 uses a comma. */
export const QUERY_SEPARATOR = '##';

/** A generation ends at the first of these. */
export const STOP_STRINGS = ['</search>', '</answer>'] as const;

/** What the small policy reads after an invalid action (Algorithm 1); has no tags. */
export const INVALID_ACTION_NOTICE = '\nMy action is not correct. Let me rethink.\n';

/** The same for real language models: Search-R1's message without its tags. */
export const INVALID_ACTION_NOTICE_FULL =
  '\nMy previous action is invalid. To search, I should put the query between search tags; to give the final answer, ' +
  'I should put it between answer tags. Let me try again.\n';

/** The same as a user message to a chat model. */
export const INVALID_ACTION_MESSAGE =
  'Your last message has no valid action. To search, put the query between <search> and </search>; to give the final answer, ' +
  'put it between <answer> and </answer>.';

/** A block, or the text between blocks. `text.slice(start, end)` is its source. */
export type TagPiece =
  | { kind: 'block'; tag: Tag; body: string; start: number; end: number }
  | { kind: 'stray'; text: string; start: number; end: number };

type Block = Extract<TagPiece, { kind: 'block' }>;

const TAG_PATTERN = /<(\/?)(think|search|information|answer)>/g;

/** The tag left open at the end of an unfinished text, if any. */
export function openTag(text: string): Tag | undefined {
  const [, closing, tag] = [...text.matchAll(TAG_PATTERN)].at(-1) ?? [];
  return closing === '' ? (tag as Tag) : undefined;
}

/** Splits a text into blocks and stray text, without gaps. */
export function parsePieces(text: string): TagPiece[] {
  const tags = [...text.matchAll(TAG_PATTERN)];
  const pieces: TagPiece[] = [];
  let position = 0;
  for (let i = 0; i + 1 < tags.length; i++) {
    const [open, close] = [tags[i], tags[i + 1]];
    if (open[1] === '/' || close[1] !== '/' || open[2] !== close[2]) continue;
    if (open.index > position) pieces.push(strayPiece(text, position, open.index));
    const end = close.index + close[0].length;
    const body = text.slice(open.index + open[0].length, close.index);
    pieces.push({ kind: 'block', tag: open[2] as Tag, body, start: open.index, end });
    position = end;
  }
  if (position < text.length) pieces.push(strayPiece(text, position, text.length));
  return pieces;
}

function strayPiece(text: string, start: number, end: number): TagPiece {
  return { kind: 'stray', text: text.slice(start, end), start, end };
}

export function parseBlocks(text: string): Block[] {
  return parsePieces(text).filter((piece) => piece.kind === 'block');
}

/** Splits the body of a search into trimmed, non-empty sub-queries. */
export function splitQueries(body: string, separator = QUERY_SEPARATOR): string[] {
  return body
    .split(separator)
    .map((query) => query.trim())
    .filter((query) => query !== '');
}

/** The policy's action, up to `end`; the text after it is dropped. */
type Action =
  | { kind: 'search'; queries: string[]; end: number }
  | { kind: 'answer'; answer: string; end: number }
  | { kind: 'invalid'; end: number };

/**
 * Parses the action of a generation: the block closed by the first `</search>` or
 * `</answer>`. Invalid if there is no such tag or block, or if a search has no sub-query.
 */
export function nextAction(policyText: string, separator = QUERY_SEPARATOR): Action {
  const closing = /<\/(?:search|answer)>/.exec(policyText);
  if (!closing) return { kind: 'invalid', end: policyText.length };
  const end = closing.index + closing[0].length;
  const block = parseBlocks(policyText.slice(0, end)).at(-1);
  if (block?.end !== end) return { kind: 'invalid', end };
  if (block.tag === 'answer') return { kind: 'answer', answer: block.body.trim(), end };
  const queries = splitQueries(block.body, separator);
  return queries.length > 0 ? { kind: 'search', queries, end } : { kind: 'invalid', end };
}

/** Formats `<tag> body </tag>`. @throws RangeError if the body contains a tag */
export function formatBlock(tag: Tag, body: string): string {
  const inner = body.match(TAG_PATTERN)?.[0];
  if (inner)
    throw new RangeError(
      `Expected text without tags, but got ${inner} in ${JSON.stringify(body)}.`,
    );
  return `<${tag}> ${body.trim()} </${tag}>`;
}

/** Joins sub-queries as the prompts show them: `a ## b`, or `a,b` as in RAG-R1. */
export const joinQueries = (queries: readonly string[], separator = QUERY_SEPARATOR): string =>
  queries.join(separator === ',' ? separator : ` ${separator} `);

/**
 * Formats `<search> a ## b </search>`.
 * @throws RangeError for no queries, or a query that could not be parsed back
 */
export function formatSearch(queries: readonly string[], separator = QUERY_SEPARATOR): string {
  if (queries.length === 0) throw new RangeError('Expected at least one sub-query, but got none.');
  for (const query of queries) {
    if (query.trim() === '' || query.includes(separator)) {
      throw new RangeError(
        `Expected a sub-query with words and without ${separator}, but got ${JSON.stringify(query)}.`,
      );
    }
  }
  const trimmed = queries.map((query) => query.trim());
  return formatBlock('search', joinQueries(trimmed, separator));
}

/** The passages of a sub-query, best first, or the reason why its search failed. */
export type PrintedResult =
  | { status: 'ok'; passages: readonly { title: string; text: string }[] }
  | { status: 'failed'; reason: string };

const FAILED = 'Retrieval failed: ';
const NOTHING = 'Nothing found.';

/** Makes one line without tags, so that a passage can neither end its block nor act. */
export function oneLine(text: string): string {
  return escapeTags(text).replace(/\s+/g, ' ').trim();
}

/** Turns `<answer>` into `(answer)`. */
export const escapeTags = (text: string): string => text.replace(TAG_PATTERN, '($1$2)');

/**
 * How a turn's results are printed. `lines`: in the order of the queries, as in the
 * authors' code. `json`: labelled with the queries, as in RAG-R1.
 */
export const INFORMATION_FORMS = ['lines', 'json'] as const;
type InformationForm = (typeof INFORMATION_FORMS)[number];

/** Formats the result of one sub-query; passages are numbered from 1. */
export function formatResult(result: PrintedResult, form: InformationForm = 'lines'): string {
  if (result.status === 'failed') return `${FAILED}${oneLine(result.reason)}`.trim();
  if (result.passages.length === 0) return form === 'json' ? '' : NOTHING;
  return result.passages
    .map(({ title, text }, i) => {
      const [head, rest] = [oneLine(title), oneLine(text)];
      // RAG-R1's corpus has three spaces after the title.
      return form === 'json'
        ? `Doc ${i + 1}: ${head}${TITLE_GAP}${rest}`.trim()
        : `Doc ${i + 1}(Title: ${head}) ${rest}`.trim();
    })
    .join('\n');
}

const TITLE_GAP = '   ';

/** Wraps texts of {@link formatResult} in a block; `json` labels them with queries. */
export function wrapResults(
  texts: readonly string[],
  { form = 'lines', queries = [] }: { form?: InformationForm; queries?: readonly string[] } = {},
): string {
  if (form === 'lines') return `<information>${texts.join('\n')}</information>`;
  const query = queries.map(escapeTags);
  return `\n<information>\n${formatLabelled({ query, documents: [...texts] })}\n</information>\n`;
}

/**
 * Formats results, in sub-query order, as an information block. A passage is a line `Doc
 * i(Title: t) text`, numbered from 1 for each sub-query as in the authors' code. An empty
 * or failed search is one line.
 */
export const formatInformation = (results: readonly PrintedResult[]): string =>
  wrapResults(results.map((result) => formatResult(result)));

/** The index of the parenthesis that closes a title, or of the first one if none does. */
function titleEnd(line: string, from: number): number {
  let depth = 1;
  for (let i = from; i < line.length; i++) {
    if (line[i] === '(') depth++;
    if (line[i] === ')' && --depth === 0) return i;
  }
  return line.indexOf(')', from);
}

interface Passage {
  number: number;
  title: string;
  text: string;
}

function parsePassage(line: string): Passage | undefined {
  const head = /^Doc (\d+)\(Title: /.exec(line);
  const end = head ? titleEnd(line, head[0].length) : -1;
  if (!head || end < 0) return undefined;
  return {
    number: Number(head[1]),
    title: line.slice(head[0].length, end),
    text: line.slice(end + 1).trim(),
  };
}

/** Parses a passage of RAG-R1. Without its corpus' gap, the whole line is the title. */
function parseDocument(line: string): Passage | undefined {
  const [, number, contents] = /^Doc (\d+):(?: (.*))?$/.exec(line) ?? [];
  if (number === undefined) return undefined;
  const [title, ...rest] = (contents ?? '').split(TITLE_GAP);
  return { number: Number(number), title, text: rest.join(TITLE_GAP) };
}

/** Parses the line of an empty or failed search. */
function parseResultLine(line: string): PrintedResult | undefined {
  if (line === NOTHING) return { status: 'ok', passages: [] };
  if (!line.startsWith(FAILED.trim())) return undefined;
  return { status: 'failed', reason: line.slice(FAILED.length).trim() };
}

/**
 * Parses an information block or its body, whole or cut: the inverse of {@link
 * wrapResults}. Exact if titles and texts are single lines without tags, and parentheses
 * in titles are balanced. Other lines belong to the passage before them.
 */
export function parseInformation(block: string): PrintedResult[] {
  const body = block.replace(/^\s*<information>/, '').replace(/<\/information>\s*$/, '');
  const labelled = parseLabelled(body);
  if (!labelled) return parseResults(body, parsePassage);
  return labelled.documents.map(
    (text) => parseResults(text, parseDocument)[0] ?? { status: 'ok', passages: [] },
  );
}

/** Splits results: a passage numbered 1 starts the next one. */
function parseResults(body: string, parse: (line: string) => Passage | undefined): PrintedResult[] {
  const results: PrintedResult[] = [];
  let passages: { title: string; text: string }[] = [];
  for (const line of body.split('\n').map((l) => l.trim())) {
    const result = parseResultLine(line);
    const passage = parse(line);
    if (result) results.push(result);
    if (result || passage?.number === 1) passages = [];
    if (passage?.number === 1) results.push({ status: 'ok', passages });
    if (passage) passages.push({ title: passage.title, text: passage.text });
    else if (!result && passages.length > 0 && line !== '')
      passages[passages.length - 1].text += ` ${line}`;
  }
  return results;
}
