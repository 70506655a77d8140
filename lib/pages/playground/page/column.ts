/** What one method thinks, searches, reads and answers, as it happens. */
import { searchedQueries } from '../../../rollout/rollout.js';
import type { SearchTurn } from '../../../rollout/trajectory.js';
import { finalAnswer } from '../../../text/turns.js';
import { element, type Child } from '../../viewer/page/dom.js';
import { shownResults, type ShownResult } from '../../viewer/page/passages.js';
import type { AnswerEvent } from '../answer.js';
import type { PlaygroundMethod } from '../setup.js';
import { createTokenText, type Tip, type TokenText } from './tokens.js';

export interface Column {
  node: HTMLElement;
  /** Empties it for a new question. */
  clear(): void;
  receive(event: AnswerEvent): void;
  /** Says that the answer will not come. */
  stop(): void;
}

const FINISHES = {
  answer: '',
  budget: 'The turns are used up without an answer.',
  length: 'The context is full without an answer.',
} as const;

/** A sub-query that waits for its passages. */
function waitingNode(query: string): HTMLElement {
  return element(
    'li',
    { class: 'query waiting' },
    element('p', { class: 'query-text' }, query),
    element('p', { class: 'found' }, 'searching …'),
  );
}

function foundNode({ failure, passages }: ShownResult): Child[] {
  if (failure !== null) return [element('p', { class: 'found failure' }, `Retrieval failed: ${failure}`)];
  if (passages.length === 0) return [element('p', { class: 'found' }, 'Nothing found.')];
  return passages.map(({ title, text, score }) =>
    element(
      'p',
      { class: 'found' },
      element('strong', {}, title),
      score === null ? null : element('span', { class: 'figures' }, ` BM25 ${score.toFixed(1)}`),
      element('br'),
      text,
    ),
  );
}

/** Builds the column of a method. */
export function createColumn({ name, title, rollout }: PlaygroundMethod, tip: Tip): Column {
  const prompt = element('p', { class: 'prompt' });
  const turns = element('ol', { class: 'turns' });
  const answer = element('p', { class: 'answer' });
  const headingId = `title-${name}`;
  const node = element(
    'article',
    { class: 'column', 'data-method': name, 'aria-labelledby': headingId },
    element('h2', { id: headingId }, title),
    prompt,
    turns,
    answer,
  );
  let writing: TokenText | null = null;
  let queries: HTMLElement | null = null;

  const beginTurn = (): TokenText => {
    const text = createTokenText(`${title}, turn ${turns.childElementCount + 1}`, tip);
    turns.append(element('li', { class: 'turn' }, text.node));
    return text;
  };
  const endTurn = (policyText: string): void => {
    writing = null;
    const searched = searchedQueries(policyText, rollout);
    if (!searched) return;
    queries = element(
      'ul',
      { class: 'queries', 'aria-label': `${searched.length} sub-queries` },
      ...searched.map(waitingNode),
    );
    turns.lastElementChild?.append(queries);
  };
  const showInformation = (turn: SearchTurn, text: string): void => {
    shownResults(turn, text).forEach((result, i) => {
      const card = queries?.children[i];
      card?.classList.remove('waiting');
      card?.querySelector('.found')?.replaceWith(...foundNode(result).filter((child) => child !== null));
    });
  };
  /** A search of the last generation, which Algorithm 1 does not execute. */
  const giveUpWaiting = (why: string): void => {
    for (const found of turns.querySelectorAll('.waiting .found')) found.textContent = why;
    for (const card of turns.querySelectorAll('.waiting')) card.classList.remove('waiting');
  };

  return {
    node,
    clear() {
      [writing, queries] = [null, null];
      for (const part of [prompt, turns, answer]) part.replaceChildren();
    },
    receive(event) {
      if (event.kind === 'token') {
        writing ??= beginTurn();
        writing.add(event);
      } else if (event.kind === 'end') {
        giveUpWaiting('not searched: the turns are used up');
        const given = finalAnswer(event.trajectory.segments);
        const label = given === null ? FINISHES[event.trajectory.finish] : 'Answer: ';
        answer.replaceChildren(label, element('strong', {}, given ?? ''));
      } else if (event.segment === 'prompt') prompt.textContent = event.text.trim();
      else if (event.segment === 'policy') endTurn(event.text);
      else if (event.segment === 'information') showInformation(event.turn!, event.text);
      else turns.lastElementChild?.append(element('p', { class: 'notice' }, event.text.trim()));
    },
    stop() {
      giveUpWaiting('stopped');
      if (answer.childNodes.length === 0) answer.textContent = 'Stopped.';
    },
  };
}
