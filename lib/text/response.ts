/**
 * Reads a response from its segments, which record who wrote what: environment text never
 * counts as the policy's, nor the policy's information blocks as the environment's.
 */
import { isLabelled } from './labelled-information.js';
import { anyOf, escapeRegex } from './regex.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  openTag,
  parseBlocks,
  parsePieces,
  splitQueries,
  type Tag,
} from './tags.js';
import { PROMPT_START, REPLY_START } from './template-marks.js';

export interface TextSegment {
  kind: 'prompt' | 'policy' | 'information' | 'notice';
  text: string;
}

/**
 * Joins adjacent policy segments and drops prompts. Exception: a `<think>` at the end of
 * a prompt, as in chat templates of reasoning models, opens the policy's first block.
 */
export function joinPolicySegments(segments: readonly TextSegment[]): TextSegment[] {
  const joined: TextSegment[] = [];
  let opening = '';
  for (const { kind, text } of segments) {
    const last = joined.at(-1);
    if (kind === 'prompt') opening = /<think>\s*$/.exec(text)?.[0] ?? '';
    else if (kind === 'policy' && last?.kind === 'policy') last.text += text;
    else {
      // A policy that writes the tag itself opens the block again.
      const isOpen = kind === 'policy' && opening !== '' && !/^\s*<think>/.test(text);
      joined.push({ kind, text: isOpen ? opening + text : text });
      opening = '';
    }
  }
  return joined;
}

/** Infers the query separator: `,` if results are labelled, as in RAG-R1, else `##`. */
export const inferSeparator = (segments: readonly TextSegment[]): string | undefined =>
  segments.some(({ kind, text }) => kind === 'information' && isLabelled(text)) ? ',' : undefined;

/**
 * The sub-queries of each executed search: a search counts if an information segment
 * follows. Algorithm 1 does not execute a search in the last generation.
 */
export function executedSearches(
  segments: readonly TextSegment[],
  separator = inferSeparator(segments),
): string[][] {
  const runs = joinPolicySegments(segments);
  return runs.flatMap((run, i) => {
    if (run.kind !== 'policy' || runs[i + 1]?.kind !== 'information') return [];
    const search = parseBlocks(run.text).findLast((block) => block.tag === 'search');
    const queries = splitQueries(search?.body ?? '', separator);
    return queries.length > 0 ? [queries] : [];
  });
}

/**
 * The body of the policy's last answer block, or null. Tags that a tokenizer fused with
 * other text (`</</search>`) are harmless: a block ends at the complete closing tag.
 */
export function finalAnswer(segments: readonly TextSegment[]): string | null {
  const runs = joinPolicySegments(segments).filter((segment) => segment.kind === 'policy');
  const blocks = runs.flatMap(({ text }) => parseBlocks(text));
  return blocks.findLast((block) => block.tag === 'answer')?.body.trim() ?? null;
}

const FOLLOWERS: Record<Tag | 'start', readonly Tag[]> = {
  start: ['think'],
  think: ['search', 'answer'],
  search: ['information'],
  information: ['think'],
  answer: [],
};

/** The tags of a segment's blocks, or the reason why the segment is malformed. */
function readTags({ kind, text }: TextSegment, separator?: string): Tag[] | string {
  if (kind === 'notice') return 'an action was not valid';
  if (kind === 'information') return ['information'];
  if (/<\/?information>/.test(text)) return 'the policy wrote an information tag';
  const tags: Tag[] = [];
  for (const piece of parsePieces(text)) {
    if (piece.kind === 'stray') {
      const stray = piece.text.trim();
      if (stray !== '') return `text outside of blocks: ${JSON.stringify(stray.slice(0, 60))}`;
    } else if (piece.tag === 'search' && splitQueries(piece.body, separator).length === 0)
      return 'a search without a query';
    else tags.push(piece.tag);
  }
  return tags;
}

/**
 * Returns why a response violates the format of Eq. 6, or null. The format: think, then
 * search or answer; information after each search, think after information; only white
 * space between blocks; answer last. Notices, and information tags written by the policy,
 * violate it. The content of information segments is not checked.
 */
export function formatFault(
  segments: readonly TextSegment[],
  separator = inferSeparator(segments),
): string | null {
  const blocks = joinPolicySegments(segments).map((run) => readTags(run, separator));
  const malformed = blocks.find((tags) => typeof tags === 'string');
  if (malformed !== undefined) return malformed;
  let last: Tag | 'start' = 'start';
  for (const tag of blocks.flat() as Tag[]) {
    if (!FOLLOWERS[last].includes(tag))
      return `expected ${FOLLOWERS[last].join(' or ') || 'nothing'} after ${last}, but got ${tag}`;
    last = tag;
  }
  return last === 'answer' ? null : 'the last block is not an answer';
}

/**
 * The ways environment text begins: an information block, Search-R1's message (which
 * contains tags and ends with a fixed sentence), or one of this project's notices.
 */
const OPENINGS = new RegExp(
  anyOf([
    /(?<=<\/search>)\s*(?<information><information>)/,
    /(?<message>My previous action is invalid\. If I want to search)/,
    ...[INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL].map(
      (notice) => new RegExp(escapeRegex(notice.trim())),
    ),
  ]),
  'g',
);

/** Whether a generation ends in a search, the only action answered with information. */
const endsInSearch = (run: string): boolean =>
  nextAction(run).end === run.length && parseBlocks(run).at(-1)?.end === run.length;

/** Search-R1's prompt without a chat template. */
const PLAIN_PROMPT = /^\s*Answer the given question\.[^]*?Question: .*\n/;

/** An example in Search-R1's and ParallelSearch's prompts that looks like an answer. */
const PROMPT_EXAMPLE = /For example, <answer>\s*Beijing\s*<\/answer>/;

/** Where replies start in a text that begins with its prompt; empty without a prompt. */
function replyStarts(text: string): number[] {
  const plain = PLAIN_PROMPT.exec(text);
  if (plain) return [plain[0].length];
  if (!PROMPT_START.test(text)) return [];
  return Array.from(text.matchAll(REPLY_START), ({ 0: marks, index }) => index + marks.length);
}

/** Names of the blocks that a policy writes. */
const BLOCKS = '(?:think|search|answer)';
const STARTS_WITH_BLOCK = new RegExp(`^\\s*<${BLOCKS}>`);
/** Marks of a chat template, such as `[/INST]` or `Assistant:`, up to the first block. */
const MARKS_BEFORE_BLOCK = `(?:(?!</?${BLOCKS}>)[^]){0,100}?[:>\\]]\\s*(?=<${BLOCKS}>)`;
/** A question mark that the prompt adds, and marks. */
const AFTER_QUESTION = new RegExp(`\\??(?:${MARKS_BEFORE_BLOCK})?`, 'y');
/** A line break or a mark; where a reply quotes its question, a sentence goes on. */
const ENDS_PROMPT = /^\??[^\S\n]*(?:\n|[<[#]|\p{L}+[:：])/u;

/**
 * Length of the prompt that a text begins with, in any chat template: instructions that
 * name the tags, up to the question. In a block, or in a thought that the chat template
 * opened, the policy quotes it.
 */
function promptLength(text: string, asked: string): number {
  const at = asked === '' ? -1 : text.indexOf(asked);
  if (at < 0 || STARTS_WITH_BLOCK.test(text)) return 0;
  const end = at + asked.length;
  const prompt = text.slice(0, end);
  const rest = text.slice(end);
  const isInThought = /<\/?think>/.exec(rest)?.[0] === '</think>';
  if (!ENDS_PROMPT.test(rest) || !prompt.includes('<answer>') || openTag(prompt) || isInThought)
    return 0;
  AFTER_QUESTION.lastIndex = end;
  AFTER_QUESTION.test(text);
  return AFTER_QUESTION.lastIndex;
}

/**
 * Splits a recorded text into segments. If the text repeats its prompt, as Search-R1's
 * logs do, everything before the reply is a prompt; in an unknown chat template, it is
 * found by `asked`, the question or the last message. An information block directly after
 * a search that ends a generation is the environment's; any other is the policy's. Known
 * notices become `notice` segments. {@link ambiguity} tells if this was a guess.
 */
export function splitTranscript(text: string, asked = ''): TextSegment[] {
  const start = replyStarts(text).at(-1) ?? promptLength(text, asked.trim());
  const prompt = { kind: 'prompt' as const, text: text.slice(0, start) };
  return [...(start > 0 ? [prompt] : []), ...splitResponse(text.slice(start))];
}

function splitResponse(response: string): TextSegment[] {
  const segments: TextSegment[] = [];
  const openings = new RegExp(OPENINGS);
  const last = {
    '': Infinity,
    '</information>': response.lastIndexOf('</information>'),
    'Let me try again.': response.lastIndexOf('Let me try again.'),
  };
  let position = 0;
  // Past the end of a generation, everything is the policy's own until a notice.
  let isPastEnd = false;
  for (let match; (match = openings.exec(response)); ) {
    const { information, message } = match.groups!;
    const closing = information ? '</information>' : message ? 'Let me try again.' : '';
    // Avoids scanning the whole text for each unclosed block.
    if (openings.lastIndex > last[closing]) continue;
    isPastEnd =
      Boolean(information) && (isPastEnd || !endsInSearch(response.slice(position, match.index)));
    if (isPastEnd) continue;
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

const SEVERAL_TURNS = 'the text has several turns of the model';

/**
 * For a response recorded without segments, returns why it is unclear who wrote what, or
 * null. Ambiguous are a prompt in an unknown chat template, several turns of the model,
 * such as with tool calls, an information block after a search that did not end its
 * generation, and a closing tag without an opening one, which a passage may contain.
 */
export function ambiguity(segments: readonly TextSegment[]): string | null {
  const prompts = segments.filter(({ kind }) => kind === 'prompt');
  const numStarts = prompts.map(({ text }) => replyStarts(text).length);
  if (numStarts.some((count) => count > 1)) return SEVERAL_TURNS;
  if (numStarts.includes(0)) return 'the text repeats its prompt in an unknown chat template';
  for (const { kind, text } of joinPolicySegments(segments)) {
    if (kind !== 'policy') continue;
    if (text.search(REPLY_START) >= 0) return SEVERAL_TURNS;
    if (PROMPT_EXAMPLE.test(text)) return "the text repeats its prompt's example of an answer";
    const marks = [...text.matchAll(/<(\/?)information>/g)];
    const searchEnds = new Set(
      parseBlocks(text).map(({ tag, end }) => (tag === 'search' ? end : -1)),
    );
    for (const [i, { 1: slash, index }] of marks.entries()) {
      if (slash && marks[i - 1]?.[1] !== '') return 'an information block ends without a beginning';
      if (!slash && searchEnds.has(text.slice(0, index).trimEnd().length))
        return 'an information block follows a search, but has no end or is in the middle of a generation';
    }
  }
  return null;
}
