/**
 * What a response did, read from its segments, because only they say who wrote what: the environment's text is
 * never the model's, and an information block written by the policy never counts.
 */
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
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
 * The sub-queries of each search that was executed: the last search of a policy run that an information
 * segment follows. A search in the last generation, which Algorithm 1 doesn't execute, is none.
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
 * The trimmed body of the last answer block that the policy wrote, or null. Tags that a tokenizer welded together
 * (`</</search>`) are harmless: a block ends at the complete closing tag.
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
 * Why a response breaks the format of Eq. 6, or null where it keeps it: think, then search or answer; information
 * after every search, think again after information; nothing but white space between blocks; the last block is the
 * answer. `information` segments are known blocks whatever they hold; a `notice` segment makes the response
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
/** Messages to be taken as the environment's: this project's two, and Search-R1's, which holds tags. */
const NOTICE_PATTERN = new RegExp(
  `${escaped(INVALID_ACTION_NOTICE)}|${escaped(INVALID_ACTION_NOTICE_FULL)}|` +
    'My previous action is invalid\\. If I want to search.*?Let me try again\\.',
  's',
);
const INFORMATION_PATTERN = /(?<=<\/search>)\s*<information>.*?<\/information>/s;
const ENVIRONMENT_PATTERN = new RegExp(`(${INFORMATION_PATTERN.source})|(${NOTICE_PATTERN.source})`, 'gs');

/**
 * Splits a recorded response into segments. An information block is the environment's where it follows a
 * `</search>` at once (generation stops there, so the policy can't have written it); any other is the
 * policy's own and counts as such. Known notices become `notice` segments.
 */
export function splitTranscript(response: string): TextSegment[] {
  const segments: TextSegment[] = [];
  let position = 0;
  for (const match of response.matchAll(ENVIRONMENT_PATTERN)) {
    if (match.index > position)
      segments.push({ kind: 'policy', text: response.slice(position, match.index) });
    segments.push({ kind: match[1] === undefined ? 'notice' : 'information', text: match[0] });
    position = match.index + match[0].length;
  }
  if (position < response.length) segments.push({ kind: 'policy', text: response.slice(position) });
  return segments;
}
