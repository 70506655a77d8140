/** The environment's block: what came back for each sub-query, printed for the policy and parsed again. */

/** The passages of one sub-query, best first, or why there are none. */
export type PrintedResult =
  | { status: 'ok'; passages: readonly { title: string; text: string }[] }
  | { status: 'failed'; reason: string };

const FAILED = 'Retrieval failed: ';
const NOTHING = 'Nothing found.';

/**
 * One line: white space collapsed, and every tag of the grammar defused (`<answer>` becomes `(answer)`), so
 * that a passage can neither close its block nor pose as an action.
 */
export function oneLine(text: string): string {
  return text
    .replace(/<(\/?(?:think|search|information|answer))>/g, '($1)')
    .replace(/\s+/g, ' ')
    .trim();
}

function printResult(result: PrintedResult): string {
  if (result.status === 'failed') return `${FAILED}${oneLine(result.reason)}`.trim();
  if (result.passages.length === 0) return NOTHING;
  return result.passages
    .map(({ title, text }, i) => `Doc ${i + 1}(Title: ${oneLine(title)}) ${oneLine(text)}`.trim())
    .join('\n');
}

/**
 * One information block with the results in sub-query order. Each passage is a line `Doc i(Title: t) text`,
 * numbered from 1 again for every sub-query (as the authors' code does); a failed or empty retrieval is a
 * line that says so.
 */
export function printInformation(results: readonly PrintedResult[]): string {
  return `<information>${results.map(printResult).join('\n')}</information>`;
}

/**
 * The index of the parenthesis that closes a title opened before `from`, or that of the first one where none
 * balances.
 */
function titleEnd(line: string, from: number): number {
  let depth = 1;
  for (let i = from; i < line.length; i++) {
    if (line[i] === '(') depth++;
    if (line[i] === ')' && --depth === 0) return i;
  }
  return line.indexOf(')', from);
}

function parsePassage(line: string): { number: number; title: string; text: string } | undefined {
  const head = /^Doc (\d+)\(Title: /.exec(line);
  const end = head ? titleEnd(line, head[0].length) : -1;
  if (!head || end < 0) return undefined;
  return {
    number: Number(head[1]),
    title: line.slice(head[0].length, end),
    text: line.slice(end + 1).trim(),
  };
}

/** A line that is the whole result of a sub-query. */
function parseResultLine(line: string): PrintedResult | undefined {
  if (line === NOTHING) return { status: 'ok', passages: [] };
  if (!line.startsWith(FAILED.trim())) return undefined;
  return { status: 'failed', reason: line.slice(FAILED.length).trim() };
}

/**
 * The inverse of `printInformation`, for the block or for its body. Exact where titles and texts are already
 * one line without tags and the parentheses of a title balance; lines of any other kind belong to the
 * passage before them.
 */
export function parseInformation(block: string): PrintedResult[] {
  const body = block.replace(/^\s*<information>/, '').replace(/<\/information>\s*$/, '');
  const results: PrintedResult[] = [];
  let passages: { title: string; text: string }[] = [];
  for (const line of body.split('\n').map((l) => l.trim())) {
    const result = parseResultLine(line);
    const passage = parsePassage(line);
    if (result) results.push(result);
    if (result || passage?.number === 1) passages = [];
    if (passage?.number === 1) results.push({ status: 'ok', passages });
    if (passage) passages.push({ title: passage.title, text: passage.text });
    else if (!result && passages.length > 0 && line !== '') passages[passages.length - 1].text += ` ${line}`;
  }
  return results;
}
