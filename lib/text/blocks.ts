/**
 * The tag grammar of a transcript, parsed and printed in one place: the rollout executes what this parser
 * finds, and the format reward judges what this parser finds.
 *
 *     <think> reasoning </think>
 *     <search> sub-query ## sub-query </search>
 *     <information> passages </information>      written by the environment only
 *     <answer> short answer </answer>
 *
 * A block is an opening tag whose next tag is its own closing tag; blocks therefore never nest, and whatever
 * is not part of a block (a lone tag included) is stray text.
 */
export const TAGS = ['think', 'search', 'information', 'answer'] as const;
export type Tag = (typeof TAGS)[number];

/** Between two sub-queries of one search. */
export const QUERY_SEPARATOR = '##';

/** A generation ends with the first of these. */
export const STOP_STRINGS = ['</search>', '</answer>'] as const;

/**
 * What the environment says after an action that can't be executed (Algorithm 1), for the small policy.
 * Neither form holds a tag, so that a notice is never read as an action.
 */
export const INVALID_ACTION_NOTICE = '\nMy action is not correct. Let me rethink.\n';

/** The same for real language models: the meaning of Search-R1's message. */
export const INVALID_ACTION_NOTICE_FULL =
  '\nMy previous action is invalid. To search, I should put the query between search tags; to give the final answer, ' +
  'I should put it between answer tags. Let me try again.\n';

/** A complete block, or the text between blocks; `text.slice(start, end)` is the piece as written. */
export type Piece =
  | { kind: 'block'; tag: Tag; body: string; start: number; end: number }
  | { kind: 'stray'; text: string; start: number; end: number };

export type Block = Extract<Piece, { kind: 'block' }>;

const TAG_PATTERN = /<(\/?)(think|search|information|answer)>/g;

/** Cuts a text into blocks and stray text; the pieces follow each other without gaps. */
export function parsePieces(text: string): Piece[] {
  const tags = [...text.matchAll(TAG_PATTERN)];
  const pieces: Piece[] = [];
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

function strayPiece(text: string, start: number, end: number): Piece {
  return { kind: 'stray', text: text.slice(start, end), start, end };
}

/** The complete blocks of a text, in order. */
export function parseBlocks(text: string): Block[] {
  return parsePieces(text).filter((piece) => piece.kind === 'block');
}

/** The sub-queries in the body of a search: split on `##`, trimmed, empty ones dropped. */
export function splitQueries(body: string): string[] {
  return body
    .split(QUERY_SEPARATOR)
    .map((query) => query.trim())
    .filter((query) => query !== '');
}

/** What the policy asks for; text from `end` on is dropped. */
export type Action =
  | { kind: 'search'; queries: string[]; end: number }
  | { kind: 'answer'; answer: string; end: number }
  | { kind: 'invalid'; end: number };

/**
 * The first action in newly generated text. Generation ends at the first `</search>` or `</answer>`, so only
 * the block that this tag closes counts; the action is invalid where it closes none, where there is no such
 * tag, and where a search holds no sub-query.
 */
export function nextAction(policyText: string): Action {
  const closing = /<\/(?:search|answer)>/.exec(policyText);
  if (!closing) return { kind: 'invalid', end: policyText.length };
  const end = closing.index + closing[0].length;
  const block = parseBlocks(policyText.slice(0, end)).at(-1);
  if (block?.end !== end) return { kind: 'invalid', end };
  if (block.tag === 'answer') return { kind: 'answer', answer: block.body.trim(), end };
  const queries = splitQueries(block.body);
  return queries.length > 0 ? { kind: 'search', queries, end } : { kind: 'invalid', end };
}

/** Throws where `text` holds a tag, which would break the grammar. */
function refuseTags(text: string): void {
  const tag = text.match(TAG_PATTERN)?.[0];
  if (tag) throw new RangeError(`Expected text without tags, but got ${tag} in ${JSON.stringify(text)}.`);
}

/** One block, `<tag> body </tag>`; throws where the body holds a tag. */
export function printBlock(tag: Tag, body: string): string {
  refuseTags(body);
  return `<${tag}> ${body.trim()} </${tag}>`;
}

/** `<search> a ## b </search>`; throws where there is no query, or one is blank or holds `##` or a tag. */
export function printSearch(queries: readonly string[]): string {
  if (queries.length === 0) throw new RangeError('Expected at least one sub-query, but got none.');
  for (const query of queries) {
    if (query.trim() === '' || query.includes(QUERY_SEPARATOR)) {
      throw new RangeError(
        `Expected a sub-query with words and without ##, but got ${JSON.stringify(query)}.`,
      );
    }
  }
  return printBlock('search', queries.map((query) => query.trim()).join(` ${QUERY_SEPARATOR} `));
}
