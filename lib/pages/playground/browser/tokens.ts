/**
 * Text token by token, with the probability of each: under the pointer, and by arrow
 * keys.
 */
import { h } from '../../../html/browser/dom.js';

/** Below this a token is marked: the policy hesitated. */
const UNSURE = 0.9;
const TAG = /^<(\/?)(think|search|information|answer)>$/;

/**
 * `97.3 %`, and `> 99.9 %` or `< 0.1 %` where rounding would say that something is
 * certain.
 */
export function percentText(probability: number): string {
  if (probability > 0.999) return '> 99.9 %';
  if (probability < 0.001) return '< 0.1 %';
  return `${(100 * probability).toFixed(1)} %`;
}

/**
 * An empty text.
 * @param label whose it is
 * @param tip the page's box that tells the probability of the token which is pointed at
 */
export function createTokenText(label: string, tip: HTMLElement) {
  let current = -1;
  /** The block that the next token is in. */
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
    'aria-label': `${label}. Arrow keys tell the probability of each token.`,
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
    add({
      tokenId,
      text,
      probability,
    }: {
      tokenId: number;
      text: string;
      probability: number;
    }): void {
      const [, closing, tag] = TAG.exec(text) ?? [];
      if (tag) block = tag;
      const classes = ['token', block, tag && 'tag', probability < UNSURE && 'unsure'].filter(
        Boolean,
      );
      const data = { 'data-id': tokenId, 'data-probability': percentText(probability) };
      node.append(h('span', { class: classes.join(' '), ...data }, text));
      if (closing) block = '';
    },
  };
}
