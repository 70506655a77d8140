/**
 * HTML that a notebook's cell has shown: of this library's displays, or of anything else.
 */
import { escapeHtml } from './markup.js';
import { TRANSCRIPT_STYLE } from './styles.js';

const ELEMENTS =
  'a b caption code div details dd dl dt em h2 h3 h4 header li ol p pre span strong summary table tbody td th thead tr ul';
const TAG = new Set(ELEMENTS.split(' '));
const ATTRIBUTE =
  ' (?:(?:class|colspan|rowspan|role|scope|tabindex|title|aria-[a-z]+)="[^"<>]*"|open|href="(?:(?:#|https://)[^"<>]*|[\\w-]+[.]html(?:#[^"<>]*)?)")';
const TOKEN = new RegExp(
  `[^<]+|<(?<opened>[a-z][a-z0-9]*)(?:${ATTRIBUTE})*>|</(?<closed>[a-z][a-z0-9]*)>`,
  'y',
);

/**
 * Whether HTML is what displays write: texts, lists and tables in whole elements, without
 * style, script, form or picture.
 */
export function isPlainHtml(html: string): boolean {
  const open: string[] = [];
  const token = new RegExp(TOKEN);
  while (token.lastIndex < html.length) {
    const groups = token.exec(html)?.groups;
    if (!groups) return false;
    const { opened, closed } = groups;
    if (opened && !TAG.has(opened)) return false;
    if (opened) open.push(opened);
    if (closed && open.pop() !== closed) return false;
  }
  return open.length === 0;
}

const OWN_STYLE = `<style>${TRANSCRIPT_STYLE}</style>`;

/**
 * A cell's HTML for a page: plain HTML as it is, all other in a frame where no script
 * runs and nothing reaches the page.
 */
export function cellOutputHtml(html: string): string {
  const content = html.startsWith(OWN_STYLE) ? html.slice(OWN_STYLE.length) : html;
  if (isPlainHtml(content)) return `<div class="scroll">${content}</div>`;
  return `<iframe sandbox title="Output of a cell" width="100%" height="360" srcdoc="${escapeHtml(html)}"></iframe>`;
}
