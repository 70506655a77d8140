/**
 * Whether a response keeps the format. The judge works on segments, because only they say who wrote what:
 * the environment's text is never the model's format, and an information block written by the policy never
 * counts.
 */
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  parsePieces,
  splitQueries,
  type Tag,
} from './blocks.js';

/** As much of a trajectory's segment as the format needs. */
export interface TextSegment {
  kind: 'prompt' | 'policy' | 'information' | 'notice';
  text: string;
}

export interface FormatVerdict {
  ok: boolean;
  /** Why not, where `ok` is false. */
  reason?: string;
}

/** What may follow what; `start` is the beginning of the response. */
const FOLLOWERS: Record<Tag | 'start', readonly Tag[]> = {
  start: ['think'],
  think: ['search', 'answer'],
  search: ['information'],
  information: ['think'],
  answer: [],
};

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

/** The blocks that a policy segment adds to the sequence, or the reason why it is malformed. */
function policyTags(text: string): Tag[] | string {
  if (/<\/?information>/.test(text)) return 'the policy wrote an information tag';
  const tags: Tag[] = [];
  for (const piece of parsePieces(text)) {
    if (piece.kind === 'stray') {
      if (piece.text.trim() !== '')
        return `text outside of blocks: ${JSON.stringify(piece.text.trim().slice(0, 60))}`;
    } else if (piece.tag === 'search' && splitQueries(piece.body).length === 0)
      return 'a search without a query';
    else tags.push(piece.tag);
  }
  return tags;
}

/** The tags of a whole response in order, or the reason why it is malformed. */
function responseTags(segments: readonly TextSegment[]): Tag[] | string {
  const tags: Tag[] = [];
  for (const { kind, text } of joinPolicySegments(segments)) {
    if (kind === 'notice') return 'an action was not valid';
    const added = kind === 'information' ? (['information'] as Tag[]) : policyTags(text);
    if (typeof added === 'string') return added;
    tags.push(...added);
  }
  return tags;
}

/**
 * The format of Eq. 6: think, then search or answer; information after every search, think again after
 * information; nothing but white space between blocks; the last block is the answer. `information` segments
 * are known blocks whatever they hold; a `notice` segment makes the response malformed, and so does a policy
 * segment with an information tag.
 */
export function checkTrajectoryFormat(segments: readonly TextSegment[]): FormatVerdict {
  const tags = responseTags(segments);
  if (typeof tags === 'string') return { ok: false, reason: tags };
  let last: Tag | 'start' = 'start';
  for (const tag of tags) {
    if (!FOLLOWERS[last].includes(tag)) {
      const expected = FOLLOWERS[last].join(' or ') || 'nothing';
      return { ok: false, reason: `expected ${expected} after ${last}, but found ${tag}` };
    }
    last = tag;
  }
  return last === 'answer' ? { ok: true } : { ok: false, reason: 'the last block is not an answer' };
}

/** The same verdict on a recorded response, which is split into segments first. */
export function checkFormat(response: string): FormatVerdict {
  return checkTrajectoryFormat(splitTranscript(response));
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
