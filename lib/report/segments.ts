/** Renders a trajectory's segments as coloured blocks, with the retrieved passages. */
import { shownTexts, UNRELATED_PASSAGES, type SearchResult } from '../rollout/trajectory.js';
import { decimalText, plural } from '../text/english.js';
import { inferSeparator, type TextSegment } from '../text/response.js';
import { parsePieces, splitQueries, type TagPiece, parseInformation } from '../text/tags.js';
import { markup, type Markup } from './markup.js';

/** A titled part of the transcript; the title repeats what the colour means. */
const part = (kind: string, title: string, ...children: Markup[]): Markup =>
  markup(`li.segment.${kind}`, markup('span.tag', title), children);

const textMarkup = (text: string): Markup => markup('div.text', text.trim());
const foldedMarkup = (summary: string, text: string): Markup =>
  markup('details', markup('summary', summary), markup('pre', text));

function pieceMarkup(piece: TagPiece, separator?: string): Markup | null {
  if (piece.kind === 'stray')
    return piece.text.trim() === ''
      ? null
      : part('stray', 'outside of blocks', textMarkup(piece.text));
  const { tag, body } = piece;
  if (tag === 'information') return part('stray', 'information by the policy', textMarkup(body));
  if (tag !== 'search') return part(tag, tag, textMarkup(body));
  const queries = splitQueries(body, separator).map((query) => markup('li', query));
  return part('search', 'search', markup('ul.queries', queries));
}

function passageMarkup({ title, text, id, score }: ShownPassage): Markup {
  const figures = [id, score === null ? null : `score ${decimalText(score)}`].filter(
    (x) => x !== null,
  );
  const shown = figures.length > 0 && markup('span.figures', ` ${figures.join(' · ')}`);
  return markup('li', markup('strong', title), shown, markup('div.text', text));
}

export function resultMarkup({ query, failure, isUnlike, passages }: ShownResult): Markup {
  const found =
    failure !== null
      ? markup('p.failure', `Retrieval failed: ${failure}`)
      : passages.length === 0
        ? markup('p', 'Nothing found.')
        : markup('ol.passages', passages.map(passageMarkup));
  const alike = isUnlike && markup('p.failure', UNRELATED_PASSAGES);
  return markup('div.result', markup('p.query', query), alike, found);
}

/** An information block: passages by sub-query, and the raw text, folded. */
function informationMarkup(text: string, turn: ShownTurn = { queries: [], results: [] }): Markup {
  const results = shownResults(turn, text);
  if (results.length === 0) return part('information', 'information', textMarkup(text));
  const title = `information for ${plural(turn.queries.length, 'sub-query', 'sub-queries')}`;
  const columns = markup('div.results', results.map(resultMarkup));
  return part('information', title, columns, foldedMarkup('As the policy read it', text));
}

/**
 * Renders the segments of a trajectory.
 * @param turns one per information segment; missing ones are parsed from the text
 */
export function segmentsMarkup(
  {
    segments,
    querySeparator = inferSeparator(segments),
  }: { segments: readonly TextSegment[]; querySeparator?: string },
  turns: readonly (ShownTurn | undefined)[],
): Markup {
  let turn = 0;
  const items = segments.map(({ kind, text }) => {
    if (kind === 'policy')
      return parsePieces(text).map((piece) => pieceMarkup(piece, querySeparator));
    if (kind === 'information') return informationMarkup(text, turns[turn++]);
    if (kind === 'prompt') return markup('li.segment.prompt', foldedMarkup('Prompt', text));
    return part('notice', 'notice', textMarkup(text));
  });
  return markup('ol.segments', items);
}

/** A turn's sub-queries and results; plain transcripts have no scores. */
export interface ShownTurn {
  queries: readonly string[];
  results: readonly (SearchResult | { status: 'unscored' })[];
}

interface ShownPassage {
  title: string;
  /** Empty if unknown. */
  text: string;
  id: string | null;
  score: number | null;
}

interface ShownResult {
  /** The sub-query, or all of the turn's if they cannot be matched to results. */
  query: string;
  /** Why retrieval failed, or null. */
  failure: string | null;
  /** Whether the best passage is unrelated to the query. */
  isUnlike: boolean;
  passages: ShownPassage[];
}

/** Results by sub-query: recorded scores, and the text that the policy read. */
export function shownResults({ queries, results }: ShownTurn, information: string): ShownResult[] {
  const printed = parseInformation(information);
  const number = Math.max(results.length, printed.length);
  const recordedTexts = shownTexts(results, information);
  return Array.from({ length: number }, (_, k): ShownResult => {
    const [recorded, read] = [results[k], printed[k]];
    const query = queries.length === number ? queries[k] : queries.join(' ## ');
    const failed = [recorded, read].find((result) => result?.status === 'failed');
    if (failed) {
      const failure =
        recorded?.status === 'failed' ? (recorded.detail ?? recorded.reason) : failed.reason;
      return { query, failure, isUnlike: false, passages: [] };
    }
    const texts = read?.status === 'ok' ? read.passages : [];
    const passages =
      recorded?.status === 'ok'
        ? recorded.passages.map(({ id, title, score }, j) => ({
            id,
            title,
            score,
            text: recordedTexts[k][j],
          }))
        : texts.map((passage) => ({ ...passage, id: null, score: null }));
    const isUnlike = recorded?.status === 'ok' && recorded.isUnlike === true;
    return { query, failure: null, isUnlike, passages };
  });
}
