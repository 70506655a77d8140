/** Cuts a turn's results to the policy's token limit, as `informationCut` says. */
import type { Retriever } from '../retrieval/retriever.js';
import { isTimedOutSearch, type SearchOutcome } from '../retrieval/search.js';
import { formatResult, parseInformation, wrapResults, type PrintedResult } from '../text/tags.js';
import { cutWords } from '../text/words.js';
import type { RolloutOptions } from './options.js';
import type { Dialogue, Row } from './dialogue.js';
import type { SearchResult, Segment } from './trajectory.js';

/**
 * If the best passage scores below this fraction of a full match, it shares only common
 * words with the query. Catches nearly all queries about things missing from the corpus,
 * and about 1 % of valid ones.
 */
const MIN_SCORE_FRACTION = 0.1;

/** Shown to the policy when a search fails; the server's own error is only recorded. */
const SEARCH_FAILED = { status: 'failed', reason: 'the search engine gave no answer.' } as const;

/** How much of a sub-query's result the policy sees. */
interface Visible {
  depth: number;
  /** Whether the last of them is cut. */
  isLastCut: boolean;
}

function toSearchResult(
  outcome: SearchOutcome,
  { depth, isLastCut }: Visible,
  fullScore = 0,
): SearchResult {
  if (outcome.status === 'failed')
    return {
      ...SEARCH_FAILED,
      detail: outcome.reason.replace(/\p{C}+/gu, ' ').slice(0, 200),
      ...(isTimedOutSearch(outcome) && { isTimeout: true }),
    };
  const passages = outcome.passages
    .slice(0, depth)
    .map(({ passage: { id, title }, score }, i) => ({
      id,
      title,
      score,
      ...(isLastCut && i === depth - 1 && { isCut: true as const }),
    }));
  const numLeftOut = outcome.passages.length - passages.length;
  const isUnlike = passages.length > 0 && passages[0].score < MIN_SCORE_FRACTION * fullScore;
  return {
    status: 'ok',
    passages,
    ...(numLeftOut > 0 ? { numLeftOut } : {}),
    ...(isUnlike ? { isUnlike } : {}),
  };
}

/** The top `depth` passages of a sub-query, in the form the policy sees. */
const printable = (
  outcome: SearchOutcome,
  depth: number,
  { maxPassageWords = Infinity }: Pick<RolloutOptions, 'maxPassageWords'>,
): PrintedResult =>
  outcome.status === 'failed'
    ? SEARCH_FAILED
    : {
        status: 'ok',
        passages: outcome.passages
          .slice(0, depth)
          .map(({ passage: { title, text } }) => ({
            title,
            text: cutWords(text, maxPassageWords),
          })),
      };

const printedPassages = (result: PrintedResult | undefined) =>
  result?.status === 'ok' ? result.passages : [];

/** Finds out how many passages of a result are still visible after a cut. */
function countVisible(whole: PrintedResult | undefined, cut: PrintedResult | undefined): Visible {
  const passages = printedPassages(cut);
  const depth = passages.length;
  if (depth === 0) return { depth, isLastCut: false };
  const last = passages[depth - 1];
  const wholeLast = printedPassages(whole).at(depth - 1);
  const isWhole = last.title === wholeLast?.title && last.text.startsWith(wholeLast.text);
  return { depth, isLastCut: !isWhole };
}

/** Returns the information segment of a turn, and a record of the passages it shows. */
export function fitResults(
  row: Row,
  { queries, outcomes }: { queries: string[]; outcomes: readonly SearchOutcome[] },
  { dialogue, retriever }: { dialogue: Dialogue; retriever: Retriever },
  options: RolloutOptions,
): { segment: Segment; results: SearchResult[] } {
  const { topK, informationCut = 'passage', informationForm: form } = options;
  const maxTokens = dialogue.roomForInformation(row);
  const fits = (segment: Segment): boolean => dialogue.countTokens(segment) <= maxTokens;
  const print = (texts: readonly string[]): Segment => dialogue.formatResults(row, queries, texts);
  const formatResults = (depth: number): string[] =>
    outcomes.map((outcome) => formatResult(printable(outcome, depth, options), form));
  const record = (visible: readonly Visible[]): SearchResult[] =>
    outcomes.map((outcome, i) =>
      toSearchResult(outcome, visible[i], retriever.fullScore?.(queries[i])),
    );
  const bestOnly = (depth: number): Visible[] => outcomes.map(() => ({ depth, isLastCut: false }));

  let depth = topK;
  let texts = formatResults(depth);
  let segment = print(texts);
  if (fits(segment)) return { segment, results: record(bestOnly(depth)) };
  if (informationCut === 'passage') {
    while (depth > 1 && !fits(segment)) segment = print(formatResults(--depth));
    return { segment, results: record(bestOnly(depth)) };
  }
  const read = (text: string): PrintedResult | undefined =>
    parseInformation(wrapResults([text], { form, queries: [''] }))[0];
  const whole = texts.map(read);
  if (informationCut === 'query') {
    // Tags and labels count, too; a cut text can have more tokens next to another.
    const frame = dialogue.countTokens(print(texts.map(() => '')));
    let share = Math.floor((maxTokens - frame) / texts.length);
    const wholeTexts = texts;
    do {
      texts = wholeTexts.map((text) => dialogue.cutText(text, Math.max(0, share)));
      segment = print(texts);
    } while (!fits(segment) && share-- > 0);
    if (fits(segment))
      return {
        segment,
        results: record(whole.map((result, i) => countVisible(result, read(texts[i])))),
      };
  }
  segment = dialogue.cutSegment(segment, Math.max(0, maxTokens));
  const left = parseInformation(segment.text);
  return { segment, results: record(whole.map((result, i) => countVisible(result, left[i]))) };
}
