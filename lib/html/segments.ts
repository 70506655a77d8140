/** The segments of a trajectory, coloured by what they are. */
import { parsePieces, splitQueries, type Piece } from '../text/blocks.js';
import type { TextSegment } from '../text/format.js';
import type { ViewerData, ViewerTrajectory, ViewerTurn } from '../pages/viewer/data.js';
import { nodeOf } from '../pages/viewer/page/dom.js';
import { markup, type Markup, type MarkupChild } from './markup.js';
import { shownResults, type ShownPassage, type ShownResult } from '../pages/viewer/page/passages.js';

/** A titled part of the transcript; the title says in words what the colour says. */
function part(kind: string, title: string, ...children: MarkupChild[]): Markup {
  return markup('li', { class: `segment ${kind}` }, markup('span', { class: 'tag' }, title), ...children);
}

const textMarkup = (text: string): Markup => markup('div', { class: 'text' }, text.trim());

function queriesMarkup(queries: readonly string[]): Markup {
  return markup('ul', { class: 'queries' }, ...queries.map((query) => markup('li', {}, query)));
}

function pieceMarkup(piece: Piece): Markup | null {
  if (piece.kind === 'stray') {
    return piece.text.trim() === '' ? null : part('stray', 'outside of blocks', textMarkup(piece.text));
  }
  if (piece.tag === 'search') return part('search', 'search', queriesMarkup(splitQueries(piece.body)));
  if (piece.tag === 'information') return part('stray', 'information by the policy', textMarkup(piece.body));
  return part(piece.tag, piece.tag, textMarkup(piece.body));
}

function passageMarkup({ title, text, id, score }: ShownPassage): Markup {
  const figures = [id, score === null ? null : `score ${score.toFixed(3)}`]
    .filter((x) => x !== null)
    .join(' · ');
  return markup(
    'li',
    {},
    markup('strong', {}, title),
    figures ? markup('span', { class: 'figures' }, ` ${figures}`) : null,
    markup('div', { class: 'text' }, text),
  );
}

function resultMarkup({ query, failure, passages }: ShownResult): Markup {
  const found =
    failure !== null
      ? markup('p', { class: 'failure' }, `Retrieval failed: ${failure}`)
      : passages.length === 0
        ? markup('p', {}, 'Nothing found.')
        : markup('ol', { class: 'passages' }, ...passages.map(passageMarkup));
  return markup('div', { class: 'result' }, markup('p', { class: 'query' }, query), found);
}

/** The environment's block: passages by sub-query, and folded, what the policy read. */
function informationMarkup(text: string, turn: ViewerTurn | undefined): Markup {
  const results = shownResults(turn ?? { queries: [], results: [] }, text);
  if (results.length === 0) return part('information', 'information', textMarkup(text));
  const asRead = markup(
    'details',
    {},
    markup('summary', {}, 'As the policy read it'),
    markup('pre', {}, text),
  );
  const columns = markup('div', { class: 'results' }, ...results.map(resultMarkup));
  const count = turn?.queries.length ?? 0;
  const title = `information for ${count} ${count === 1 ? 'sub-query' : 'sub-queries'}`;
  return part('information', title, columns, asRead);
}

function promptMarkup(text: string): Markup {
  const folded = markup('details', {}, markup('summary', {}, 'Prompt'), markup('pre', {}, text));
  return markup('li', { class: 'segment prompt' }, folded);
}

/**
 * All segments in order, as a list.
 * @param turns one an information segment; absent ones are told from its text
 */
export function segmentsMarkup(
  segments: readonly TextSegment[],
  turns: readonly (ViewerTurn | undefined)[],
): Markup {
  let turn = 0;
  const items = segments.flatMap(({ kind, text }): (Markup | null)[] => {
    if (kind === 'policy') return parsePieces(text).map(pieceMarkup);
    if (kind === 'information') return [informationMarkup(text, turns[turn++])];
    return [kind === 'prompt' ? promptMarkup(text) : part('notice', 'notice', textMarkup(text))];
  });
  return markup('ol', { class: 'segments' }, ...items);
}

/** The list of a recorded trajectory. */
export function segmentsNode({ segments, turns }: ViewerTrajectory, data: ViewerData): HTMLElement {
  const texts = segments.map(([kind, place]) => ({ kind, text: data.texts[place] }));
  return nodeOf(
    segmentsMarkup(
      texts,
      turns.map((place) => data.turns[place]),
    ),
  );
}
