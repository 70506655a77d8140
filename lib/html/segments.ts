/** The segments of a trajectory, coloured by what they are. */
import { UNRELATED_PASSAGES } from '../rollout/trajectory.js';
import { parsePieces, splitQueries, type Piece } from '../text/tags.js';
import type { TextSegment } from '../text/response.js';
import { markup, type Markup } from './markup.js';
import { shownResults, type ShownPassage, type ShownResult, type ShownTurn } from './passages.js';

/** A titled part of the transcript; the title says in words what the colour says. */
const part = (kind: string, title: string, ...children: Markup[]): Markup =>
  markup(`li.segment.${kind}`, markup('span.tag', title), children);

const textMarkup = (text: string): Markup => markup('div.text', text.trim());
const foldedMarkup = (summary: string, text: string): Markup =>
  markup('details', markup('summary', summary), markup('pre', text));

function pieceMarkup(piece: Piece): Markup | null {
  if (piece.kind === 'stray')
    return piece.text.trim() === ''
      ? null
      : part('stray', 'outside of blocks', textMarkup(piece.text));
  const { tag, body } = piece;
  if (tag === 'information') return part('stray', 'information by the policy', textMarkup(body));
  if (tag !== 'search') return part(tag, tag, textMarkup(body));
  const queries = splitQueries(body).map((query) => markup('li', query));
  return part('search', 'search', markup('ul.queries', queries));
}

function passageMarkup({ title, text, id, score }: ShownPassage): Markup {
  const figures = [id, score === null ? null : `score ${score.toFixed(3)}`].filter(
    (x) => x !== null,
  );
  const shown = figures.length > 0 && markup('span.figures', ` ${figures.join(' · ')}`);
  return markup('li', markup('strong', title), shown, markup('div.text', text));
}

/** A sub-query and its passages. */
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

/** The environment's block: passages by sub-query, and folded, what the policy read. */
function informationMarkup(text: string, turn: ShownTurn = { queries: [], results: [] }): Markup {
  const results = shownResults(turn, text);
  if (results.length === 0) return part('information', 'information', textMarkup(text));
  const { length } = turn.queries;
  const title = `information for ${length} ${length === 1 ? 'sub-query' : 'sub-queries'}`;
  const columns = markup('div.results', results.map(resultMarkup));
  return part('information', title, columns, foldedMarkup('As the policy read it', text));
}

/**
 * All segments in order, as a list.
 * @param turns one an information segment; absent ones are told from its text
 */
export function segmentsMarkup(
  segments: readonly TextSegment[],
  turns: readonly (ShownTurn | undefined)[],
): Markup {
  let turn = 0;
  const items = segments.map(({ kind, text }) => {
    if (kind === 'policy') return parsePieces(text).map(pieceMarkup);
    if (kind === 'information') return informationMarkup(text, turns[turn++]);
    if (kind === 'prompt') return markup('li.segment.prompt', foldedMarkup('Prompt', text));
    return part('notice', 'notice', textMarkup(text));
  });
  return markup('ol.segments', items);
}
