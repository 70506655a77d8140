/**
 * Markdown of notebooks as HTML, with headings that can be linked to and nothing that
 * could run.
 */
import MarkdownIt from 'markdown-it';

export interface Heading {
  level: number;
  text: string;
  id: string;
}

export interface MarkdownRenderer {
  render: (markdown: string) => string;
  /** The headings rendered so far, in order. */
  headings: Heading[];
}

/**
 * A renderer for the cells of one page: ids are unique within it, raw HTML is shown as
 * text, links that could run are too.
 */
export function createMarkdown(): MarkdownRenderer {
  const headings: Heading[] = [];
  const markdown = new MarkdownIt({ linkify: true });
  // A page loads nothing from elsewhere: of a picture its alternative text stays.
  markdown.renderer.rules.image = (tokens, i) => markdown.utils.escapeHtml(tokens[i].content);
  markdown.core.ruler.push('heading-ids', ({ tokens }) => {
    tokens.forEach((token, i) => {
      if (token.type !== 'heading_open') return;
      const inline = tokens[i + 1].children ?? [];
      const text = inline.map(({ content }) => content).join('');
      const id = uniqueId(text, headings);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), text, id });
    });
  });
  return { headings, render: (text) => markdown.render(text) };
}

/** A readable id: `what-is-compared`, then `what-is-compared-2`. */
function uniqueId(text: string, headings: readonly Heading[]): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['section'];
  const base = words.join('-');
  const taken = new Set(headings.map((heading) => heading.id));
  let id = base;
  for (let i = 2; taken.has(id); i++) id = `${base}-${i}`;
  return id;
}

/** The anchor of a notebook's cell in its page. */
export const cellAnchor = (cellId: string): string => `cell-${cellId}`;
