/** The segments of a trajectory, coloured by what they are. */
import { parsePieces, splitQueries, type Piece } from '../../text/blocks.js';
import type { ViewerData, ViewerTrajectory, ViewerTurn } from '../data.js';
import { element, type Child } from './dom.js';
import { shownResults, type ShownPassage, type ShownResult } from './passages.js';

/** A titled part of the transcript; the title says in words what the colour says. */
function part(kind: string, title: string, ...children: Child[]): HTMLElement {
  return element('li', { class: `segment ${kind}` }, element('span', { class: 'tag' }, title), ...children);
}

const textNode = (text: string): HTMLElement => element('div', { class: 'text' }, text.trim());

function queriesNode(queries: readonly string[]): HTMLElement {
  return element('ul', { class: 'queries' }, ...queries.map((query) => element('li', {}, query)));
}

function pieceNode(piece: Piece): HTMLElement | null {
  if (piece.kind === 'stray') {
    return piece.text.trim() === '' ? null : part('stray', 'outside of blocks', textNode(piece.text));
  }
  if (piece.tag === 'search') return part('search', 'search', queriesNode(splitQueries(piece.body)));
  if (piece.tag === 'information') return part('stray', 'information by the policy', textNode(piece.body));
  return part(piece.tag, piece.tag, textNode(piece.body));
}

function passageNode({ title, text, id, score }: ShownPassage): HTMLElement {
  const figures = [id, score === null ? null : `score ${score.toFixed(3)}`]
    .filter((x) => x !== null)
    .join(' · ');
  return element(
    'li',
    {},
    element('strong', {}, title),
    figures ? element('span', { class: 'figures' }, ` ${figures}`) : null,
    element('div', { class: 'text' }, text),
  );
}

function resultNode({ query, failure, passages }: ShownResult): HTMLElement {
  const found =
    failure !== null
      ? element('p', { class: 'failure' }, `Retrieval failed: ${failure}`)
      : passages.length === 0
        ? element('p', {}, 'Nothing found.')
        : element('ol', { class: 'passages' }, ...passages.map(passageNode));
  return element('div', { class: 'result' }, element('p', { class: 'query' }, query), found);
}

/** The environment's block: passages by sub-query, and folded, what the policy read. */
function informationNode(text: string, turn: ViewerTurn | undefined): HTMLElement {
  const results = shownResults(turn ?? { queries: [], results: [] }, text);
  if (results.length === 0) return part('information', 'information', textNode(text));
  const asRead = element(
    'details',
    {},
    element('summary', {}, 'As the policy read it'),
    element('pre', {}, text),
  );
  const columns = element('div', { class: 'results' }, ...results.map(resultNode));
  const count = turn?.queries.length ?? 0;
  const title = `information for ${count} ${count === 1 ? 'sub-query' : 'sub-queries'}`;
  return part('information', title, columns, asRead);
}

function promptNode(text: string): HTMLElement {
  const folded = element('details', {}, element('summary', {}, 'Prompt'), element('pre', {}, text));
  return element('li', { class: 'segment prompt' }, folded);
}

/** All segments in order. */
export function segmentsNode({ segments, turns }: ViewerTrajectory, data: ViewerData): HTMLElement {
  let turn = 0;
  const nodes = segments.flatMap(([kind, place]): (HTMLElement | null)[] => {
    const text = data.texts[place];
    if (kind === 'policy') return parsePieces(text).map(pieceNode);
    if (kind === 'information') return [informationNode(text, data.turns[turns[turn++]])];
    return [kind === 'prompt' ? promptNode(text) : part('notice', 'notice', textNode(text))];
  });
  return element('ol', { class: 'segments' }, ...nodes);
}
