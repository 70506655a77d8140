/** What one method thinks, searches, reads and answers, as it happens. */
import { h, type Content } from '../../../html/browser/dom.js';
import { shownResults, type ShownResult } from '../../../html/passages.js';
import { UNRELATED_PASSAGES, type AnswerEvent } from '../../../rollout/answer.js';
import { searchedQueries } from '../../../rollout/rollout.js';
import type { PlaygroundMethod } from '../setup.js';
import { createTokenText } from './tokens.js';

const FINISHES = {
  answer: '',
  budget: 'The turns are used up without an answer.',
  length: 'The context is full without an answer.',
} as const;

/** A sub-query, and what is known of its passages. */
const queryCard = (
  query: string,
  found: Content,
  selector: 'li.query' | 'li.query.waiting' = 'li.query',
) => h(selector, h('p.query-text', query), found);

function foundNodes({ failure, isUnlike, passages }: ShownResult): HTMLElement[] {
  if (failure !== null) return [h('p.found.failure', `Retrieval failed: ${failure}`)];
  if (passages.length === 0) return [h('p.found', 'Nothing found.')];
  const found = passages.map(({ title, text, score }) => {
    const figures = score !== null && h('span.figures', ` BM25 ${score.toFixed(1)}`);
    return h('p.found', h('strong', title), figures, h('br'), text);
  });
  return isUnlike ? [h('p.failure', UNRELATED_PASSAGES), ...found] : found;
}

/** Builds the column of a method. */
export function createColumn({ name, title, rollout }: PlaygroundMethod, tip: HTMLElement) {
  const prompt = h('p.prompt');
  const turns = h('ol.turns');
  const answer = h('p.answer');
  const heading = h('h2', { id: `title-${name}` }, title);
  const attributes = { 'data-method': name, 'aria-labelledby': heading.id };
  const node = h('article.column', attributes, heading, prompt, turns, answer);
  let writing: ReturnType<typeof createTokenText> | null = null;

  const beginTurn = () => {
    const text = createTokenText(`${title}, turn ${turns.childElementCount + 1}`, tip);
    turns.append(h('li.turn', text.node));
    return text;
  };
  const endTurn = (policyText: string): void => {
    writing = null;
    const queries = searchedQueries(policyText, rollout);
    const cards = queries?.map((query) =>
      queryCard(query, h('p.found', 'searching …'), 'li.query.waiting'),
    );
    if (cards)
      turns.lastElementChild?.append(
        h('ul.queries', { 'aria-label': `${cards.length} sub-queries` }, cards),
      );
  };
  /** A search of the last generation, which Algorithm 1 does not execute. */
  const giveUpWaiting = (why: string): void => {
    for (const card of turns.querySelectorAll('.waiting')) {
      card.classList.remove('waiting');
      card.querySelector('.found')!.textContent = why;
    }
  };

  return {
    node,
    /** Empties it for a new question. */
    clear(): void {
      writing = null;
      for (const part of [prompt, turns, answer]) part.replaceChildren();
    },
    receive(event: AnswerEvent): void {
      if (event.kind === 'token') {
        writing ??= beginTurn();
        writing.add(event);
      } else if (event.kind === 'end') {
        giveUpWaiting('not searched: the turns are used up');
        const given = event.trajectory.answer;
        const label = given === null ? FINISHES[event.trajectory.finish] : 'Answer: ';
        answer.replaceChildren(label, h('strong', given));
      } else if (event.segment === 'prompt') prompt.textContent = event.text.trim();
      else if (event.segment === 'policy') endTurn(event.text);
      else if (event.segment === 'information') {
        const results = shownResults(event.turn!, event.text);
        const cards = results.map((result) => queryCard(result.query, foundNodes(result)));
        turns.lastElementChild?.querySelector('.queries')?.replaceChildren(...cards);
      } else turns.lastElementChild?.append(h('p.notice', event.text.trim()));
    },
    /** Says that the answer will not come. */
    stop(): void {
      giveUpWaiting('stopped');
      if (answer.childNodes.length === 0) answer.textContent = 'Stopped.';
    },
  };
}
