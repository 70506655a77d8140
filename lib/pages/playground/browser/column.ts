/** One method's turns as they happen, token by token. */
import type { Markup } from '../../../report/markup.js';
import { resultMarkup, shownResults } from '../../../report/segments.js';
import { NO_ANSWER } from '../../../rollout/trajectory.js';
import { h } from '../../browser/dom.js';
import type { PlaygroundMethod } from '../setup.js';
import type { PlaygroundEvent } from './worker.js';

type Token = NonNullable<Extract<PlaygroundEvent, { type: 'text' }>['token']>;

/** Tokens with a lower probability are marked. */
const UNSURE = 0.9;
const TAG = /^<(\/?)(think|search|information|answer)>$/;

/** `97.3 %`; never rounds to certainty. */
export function percentText(probability: number): string {
  if (probability > 0.999) return '> 99.9 %';
  if (probability < 0.001) return '< 0.1 %';
  return `${(100 * probability).toFixed(1)} %`;
}

/** A text that shows token probabilities in the box `tip` on hover and arrow keys. */
function createTokenText(label: string, tip: HTMLElement) {
  let current = -1;
  /** The block of the next token. */
  let block = '';
  const point = (token: Element | null | undefined): void => {
    node.querySelector('.current')?.classList.remove('current');
    tip.textContent = '';
    if (!(token instanceof HTMLElement)) return;
    token.classList.add('current');
    tip.textContent = `“${token.textContent}” ${token.dataset.probability ?? ''}`;
    const { left, bottom } = token.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${bottom + 4}px`;
  };
  const hide = (): void => point(null);
  const node = h('div.tokens', {
    role: 'group',
    tabindex: 0,
    onpointerleave: hide,
    onblur: hide,
    'aria-label': `${label}. Use the arrow keys for token probabilities.`,
    onpointerover: ({ target }) =>
      point(target instanceof Element ? target.closest('.token') : null),
  });
  node.addEventListener('keydown', (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === 'Escape') hide();
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    current = Math.min(node.childElementCount - 1, Math.max(0, current + move));
    point(node.children[current]);
  });
  return {
    node,
    add(text: string, { id, probability }: Token): void {
      const [, closing, tag] = TAG.exec(text) ?? [];
      if (tag) block = tag;
      const classes = ['token', block, tag && 'tag', probability < UNSURE && 'unsure'];
      const data = { 'data-id': id, 'data-probability': percentText(probability) };
      node.append(h('span', { class: classes.filter(Boolean).join(' '), ...data }, text));
      if (closing) block = '';
    },
  };
}

const resultsNode = (cards: readonly (Node | Markup)[]): HTMLElement =>
  h('div.results', { role: 'group', 'aria-label': `${cards.length} sub-queries` }, cards);

export function createColumn({ name, title }: PlaygroundMethod, tip: HTMLElement) {
  const prompt = h('p.prompt');
  const turns = h('ol.turns');
  const answer = h('p.answer');
  const heading = h('h2', { id: `title-${name}` }, title);
  const attributes = { 'data-method': name, 'aria-labelledby': heading.id };
  const node = h('article.column', attributes, heading, prompt, turns, answer);
  let text: ReturnType<typeof createTokenText> | null = null;

  const beginTurn = () => {
    const begun = createTokenText(`${title}, turn ${turns.childElementCount + 1}`, tip);
    turns.append(h('li.turn', begun.node));
    return begun;
  };
  const endTurn = (queries: readonly string[] | null): void => {
    text = null;
    if (!queries) return;
    const cards = queries.map((query) =>
      h('div.result.waiting', h('p.query', query), h('p.state', 'searching …')),
    );
    turns.lastElementChild?.append(resultsNode(cards));
  };
  /** Marks sub-queries that will get no result: stopped, or out of turns. */
  const giveUpWaiting = (why: string): void => {
    for (const card of turns.querySelectorAll('.waiting')) {
      card.classList.remove('waiting');
      card.querySelector('.state')!.textContent = why;
    }
  };

  return {
    node,
    clear(): void {
      text = null;
      for (const part of [prompt, turns, answer]) part.replaceChildren();
    },
    receive(event: PlaygroundEvent): void {
      if (event.type === 'text') {
        text ??= beginTurn();
        text.add(event.text, event.token!); // chat models do not run in the browser
      } else if (event.type === 'end') {
        giveUpWaiting('not searched: out of turns');
        const { answer: given, finish } = event.trajectory;
        answer.replaceChildren(
          given === null ? NO_ANSWER[finish as keyof typeof NO_ANSWER] : 'Answer: ',
          h('strong', given),
        );
      } else if (event.segment === 'prompt') prompt.textContent = event.text.trim();
      else if (event.segment === 'policy') endTurn(event.queries);
      else if (event.segment === 'information') {
        const cards = shownResults(event.turn!, event.text).map(resultMarkup);
        turns.lastElementChild?.querySelector('.results')?.replaceWith(resultsNode(cards));
      } else turns.lastElementChild?.append(h('p.notice', event.text.trim()));
    },
    /** Shows that no answer will come. */
    stop(): void {
      giveUpWaiting('stopped');
      if (answer.childNodes.length === 0) answer.textContent = 'Stopped.';
    },
  };
}
