/** Markdown of notebooks as HTML, with headings that can be linked to and nothing that could run. */
import { Marked, type Tokens } from 'marked';
import { escapeHtml } from '../html/cells.js';

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

const SAFE_LINK = /^(https?:|mailto:|#|\.{0,2}\/|[\w-]+(\.[\w-]+)*([/#]|$))/i;

/** A renderer for the cells of one page: ids are unique within it, raw HTML is shown as text, links are checked. */
export function createMarkdown(): MarkdownRenderer {
  const headings: Heading[] = [];
  const marked = new Marked({ async: false, gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const html = this.parser.parseInline(tokens);
        const text = plainText(html);
        const id = uniqueId(text, headings);
        headings.push({ level: depth, text, id });
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag): string => escapeHtml(text),
      link({ href, tokens }: Tokens.Link): string {
        const label = this.parser.parseInline(tokens);
        return SAFE_LINK.test(href) ? `<a href="${escapeHtml(href)}">${label}</a>` : label;
      },
      image: ({ text }: Tokens.Image): string => escapeHtml(text),
    },
  });
  return { headings, render: (markdown) => marked.parse(markdown) as string };
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plainText(html: string): string {
  return html.replace(/<[^>]+>/g, '').replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]);
}

/** A readable id: `what-is-compared`, then `what-is-compared-2`. */
function uniqueId(text: string, headings: readonly Heading[]): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['section'];
  const base = words.join('-');
  const taken = new Set(headings.map((heading) => heading.id));
  for (let i = 1; ; i++) {
    const id = i === 1 ? base : `${base}-${i}`;
    if (!taken.has(id)) return id;
  }
}
