/**
 * Reads a response from its segments, which tell who wrote what: environment text never
 * counts as the policy's, nor an information block of the policy as the environment's.
 */
import { isLabelled } from './labelled-information.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  parseBlocks,
  parsePieces,
  splitQueries,
  type Tag,
} from './tags.js';

export interface TextSegment {
  kind: 'prompt' | 'policy' | 'information' | 'notice';
  text: string;
}

/**
 * Joins adjacent policy segments and drops prompts, except for a `<think>` that a chat
 * template ends with, as those of reasoning models do: it opens the policy's first block.
 */
export function joinPolicySegments(segments: readonly TextSegment[]): TextSegment[] {
  const joined: TextSegment[] = [];
  let opening = '';
  for (const { kind, text } of segments) {
    const last = joined.at(-1);
    if (kind === 'prompt') opening = /<think>\s*$/.exec(text)?.[0] ?? '';
    else if (kind === 'policy' && last?.kind === 'policy') last.text += text;
    else {
      // A policy that writes the tag again has opened the block itself.
      const isOpen = kind === 'policy' && opening !== '' && !/^\s*<think>/.test(text);
      joined.push({ kind, text: isOpen ? opening + text : text });
      opening = '';
    }
  }
  return joined;
}

/** The query separator, if not recorded: `,` with labels, as in RAG-R1, else `##`. */
export const inferSeparator = (segments: readonly TextSegment[]): string | undefined =>
  segments.some(({ kind, text }) => kind === 'information' && isLabelled(text)) ? ',' : undefined;

/**
 * The sub-queries of each executed search: the last search before an information segment.
 * Algorithm 1 does not execute a search in the last generation.
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
 * The body of the policy's last answer block, or null. Tags fused by a tokenizer
 * (`</</search>`) are harmless: a block ends at the complete closing tag.
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

/** The blocks of a segment, or why it is malformed. */
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
 * Why a response breaks the format of Eq. 6, or null. The format: think, then search or
 * answer; information after every search and think after information; only white space
 * between blocks; the answer is last. A notice, or an information tag written by the
 * policy, breaks it; the content of information segments is not checked.
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

const escaped = (text: string): string => text.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/**
 * The beginning of environment text: information, Search-R1's message (which contains
 * tags and ends with a fixed sentence), or one of this project's notices.
 */
const OPENINGS = new RegExp(
  '(?<=</search>)\\s*(?<information><information>)|(?<message>My previous action is invalid\\. If I want to search)|' +
    `${escaped(INVALID_ACTION_NOTICE)}|${escaped(INVALID_ACTION_NOTICE_FULL)}`,
  'g',
);

/** Whether a generation ends in a search, the only action answered with information. */
const endsInSearch = (run: string): boolean =>
  nextAction(run).end === run.length && parseBlocks(run).at(-1)?.end === run.length;

/** Where chat templates begin a prompt, and where they begin the model's answer. */
const PROMPT_START =
  /^\s*(?:<s>|<bos>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>)?\s*(?:<\|im_start\|>|<\|start_header_id\|>|\[INST\]|<start_of_turn>|<\|(?:user|system)\|>|<\|start\|>|<｜User｜>)/;
const ANSWER_START =
  /<\|im_start\|>assistant\n|<\|start_header_id\|>assistant<\|end_header_id\|>\n*|\[\/INST\]|<start_of_turn>model\n|<\|assistant\|>\n?|<\|start\|>assistant\n?|<｜Assistant｜>/g;
/** Search-R1's prompt without a chat template. */
const PLAIN_PROMPT = /^\s*Answer the given question\.[^]*?Question: .*\n/;

/** The example in prompts of Search-R1 and ParallelSearch, which looks like an answer. */
const PROMPT_EXAMPLE = /For example, <answer>\s*Beijing\s*<\/answer>/;

/** Where the answers start in a text that begins with its prompt; empty if none does. */
function answerStarts(text: string): number[] {
  const plain = PLAIN_PROMPT.exec(text);
  if (plain) return [plain[0].length];
  if (!PROMPT_START.test(text)) return [];
  return Array.from(text.matchAll(ANSWER_START), ({ 0: tag, index }) => index + tag.length);
}

/**
 * Splits a recorded text into segments. What stands before the answer in a text that
 * repeats its prompt, as Search-R1's logs do, is a prompt. An information block directly
 * after a search that ends a generation is the environment's; any other is the policy's.
 * Known notices become `notice` segments. {@link ambiguity} tells if this is a guess.
 */
export function splitTranscript(text: string): TextSegment[] {
  const start = answerStarts(text).at(-1) ?? 0;
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
  // The policy wrote past the end of a generation: everything is its own until a notice.
  let isPastEnd = false;
  for (let match; (match = openings.exec(response)); ) {
    const { information, message } = match.groups!;
    const closing = information ? '</information>' : message ? 'Let me try again.' : '';
    // Avoids a search through the whole text for each unclosed block.
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

/**
 * Why a response recorded without segments does not tell who wrote what, or null: an
 * information block after a search that did not end its generation, or a closing tag
 * without an opening one, as a passage may contain.
 */
export function ambiguity(segments: readonly TextSegment[]): string | null {
  const prompts = segments.filter(({ kind }) => kind === 'prompt');
  if (prompts.some(({ text }) => answerStarts(text).length > 1))
    return 'the text has several turns of the model';
  for (const { kind, text } of joinPolicySegments(segments)) {
    if (kind !== 'policy') continue;
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
