/**
 * What a response did, read from its segments, because only they say who wrote what:
 * the environment's text is never the model's, and an information block written by the
 * policy never counts.
 */
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  parseBlocks,
  parsePieces,
  splitQueries,
  type Tag,
} from './tags.js';

/** As much of a trajectory's segment as is needed here. */
export interface TextSegment {
  kind: 'prompt' | 'policy' | 'information' | 'notice';
  text: string;
}

/** Neighbouring policy segments joined, prompts left out. */
export function joinPolicySegments(segments: readonly TextSegment[]): TextSegment[] {
  const joined: TextSegment[] = [];
  for (const { kind, text } of segments) {
    const last = joined.at(-1);
    if (kind === 'policy' && last?.kind === 'policy') last.text += text;
    else if (kind !== 'prompt') joined.push({ kind, text });
  }
  return joined;
}

/**
 * The sub-queries of each search that was executed: the last search of a policy run
 * that an information segment follows. A search in the last generation, which Algorithm 1
 * doesn't execute, is none.
 */
export function executedSearches(segments: readonly TextSegment[]): string[][] {
  const runs = joinPolicySegments(segments);
  return runs.flatMap((run, i) => {
    if (run.kind !== 'policy' || runs[i + 1]?.kind !== 'information') return [];
    const search = parseBlocks(run.text).findLast((block) => block.tag === 'search');
    const queries = splitQueries(search?.body ?? '');
    return queries.length > 0 ? [queries] : [];
  });
}

/**
 * The trimmed body of the last answer block that the policy wrote, or null. Tags that a
 * tokenizer welded together (`</</search>`) are harmless: a block ends at the complete
 * closing tag.
 */
export function finalAnswer(segments: readonly TextSegment[]): string | null {
  const runs = joinPolicySegments(segments).filter((segment) => segment.kind === 'policy');
  const blocks = runs.flatMap(({ text }) => parseBlocks(text));
  return blocks.findLast((block) => block.tag === 'answer')?.body.trim() ?? null;
}

/** What may follow what; `start` is the beginning of the response. */
const FOLLOWERS: Record<Tag | 'start', readonly Tag[]> = {
  start: ['think'],
  think: ['search', 'answer'],
  search: ['information'],
  information: ['think'],
  answer: [],
};

/** The blocks that a segment adds to the sequence, or the reason why it is malformed. */
function tagsOf({ kind, text }: TextSegment): Tag[] | string {
  if (kind === 'notice') return 'an action was not valid';
  if (kind === 'information') return ['information'];
  if (/<\/?information>/.test(text)) return 'the policy wrote an information tag';
  const tags: Tag[] = [];
  for (const piece of parsePieces(text)) {
    if (piece.kind === 'stray') {
      const stray = piece.text.trim();
      if (stray !== '') return `text outside of blocks: ${JSON.stringify(stray.slice(0, 60))}`;
    } else if (piece.tag === 'search' && splitQueries(piece.body).length === 0)
      return 'a search without a query';
    else tags.push(piece.tag);
  }
  return tags;
}

/**
 * Why a response breaks the format of Eq. 6, or null where it keeps it: think, then
 * search or answer; information after every search, think again after information;
 * nothing but white space between blocks; the last block is the answer. `information`
 * segments are known blocks whatever they hold; a `notice` segment makes the response
 * malformed, and so does a policy segment with an information tag.
 */
export function formatFault(segments: readonly TextSegment[]): string | null {
  const found = joinPolicySegments(segments).map(tagsOf);
  const malformed = found.find((tags) => typeof tags === 'string');
  if (malformed !== undefined) return malformed;
  let last: Tag | 'start' = 'start';
  for (const tag of found.flat() as Tag[]) {
    if (!FOLLOWERS[last].includes(tag))
      return `expected ${FOLLOWERS[last].join(' or ') || 'nothing'} after ${last}, but found ${tag}`;
    last = tag;
  }
  return last === 'answer' ? null : 'the last block is not an answer';
}

const escaped = (text: string): string => text.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/**
 * Where the environment begins to speak: with information, or with a message. Of the
 * messages, Search-R1's holds tags and ends with a sentence of its own; this project's
 * two are here as they are.
 */
const OPENINGS = new RegExp(
  '(?<=</search>)\\s*(?<information><information>)|(?<message>My previous action is invalid\\. If I want to search)|' +
    `${escaped(INVALID_ACTION_NOTICE)}|${escaped(INVALID_ACTION_NOTICE_FULL)}`,
  'g',
);

/**
 * Whether a generation of the policy ends in a search: the first tag that stops
 * generation is its last word, and closes a search block. The environment answers nothing
 * else with information.
 */
const endsInSearch = (run: string): boolean =>
  nextAction(run).end === run.length && parseBlocks(run).at(-1)?.end === run.length;

/**
 * Splits a recorded response into segments. An information block is the environment's
 * where it follows at once upon a search that ends a generation, since generation stops
 * there; any other is the policy's own and counts as such. Known notices become `notice`
 * segments. Where that is a guess, {@link ambiguity} says so.
 */
export function splitTranscript(response: string): TextSegment[] {
  const segments: TextSegment[] = [];
  const openings = new RegExp(OPENINGS);
  const lastOf = (closing: string): number => response.lastIndexOf(closing);
  const last = {
    '': Infinity,
    '</information>': lastOf('</information>'),
    'Let me try again.': lastOf('Let me try again.'),
  };
  let position = 0;
  // Whether the policy has gone on where a generation would have stopped; then all is its
  // own until the next notice.
  let hasGoneOn = false;
  for (let match; (match = openings.exec(response));) {
    const { information, message } = match.groups!;
    const closing = information ? '</information>' : message ? 'Let me try again.' : '';
    // Without this, each of many blocks that are left open would be sought an end for in
    // all of the text.
    if (openings.lastIndex > last[closing]) continue;
    hasGoneOn =
      Boolean(information) && (hasGoneOn || !endsInSearch(response.slice(position, match.index)));
    if (hasGoneOn) continue;
    const end = response.indexOf(closing, openings.lastIndex) + closing.length;
    if (match.index > position)
      segments.push({ kind: 'policy', text: response.slice(position, match.index) });
    segments.push({
      kind: information ? 'information' : 'notice',
      text: response.slice(match.index, end),
    });
    openings.lastIndex = position = end;
  }
  if (position < response.length) segments.push({ kind: 'policy', text: response.slice(position) });
  return segments;
}

/**
 * Why the text of a response that was recorded without segments does not tell who wrote
 * what, or null where it does: a block of information after a search whose generation had
 * not stopped, or the end of one that nothing begins, as a passage may hold.
 */
export function ambiguity(segments: readonly TextSegment[]): string | null {
  for (const { kind, text } of joinPolicySegments(segments)) {
    if (kind !== 'policy') continue;
    const marks = [...text.matchAll(/<(\/?)information>/g)];
    const searchEnds = new Set(
      parseBlocks(text).map(({ tag, end }) => (tag === 'search' ? end : -1)),
    );
    for (const [i, { 1: slash, index }] of marks.entries()) {
      if (slash && marks[i - 1]?.[1] !== '')
        return 'a block of information ends that has not begun';
      if (!slash && searchEnds.has(text.slice(0, index).trimEnd().length))
        return 'a block of information follows a search, but has no end, or generation had not stopped before';
    }
  }
  return null;
}
