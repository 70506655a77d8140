/** The frame of the pages of runs: sections, kept up to date during training. */
import { markup, type Content, type Markup } from '../../report/markup.js';
import { KIND_STYLE, readStyles, SEGMENT_STYLE } from '../../report/styles.js';
import { bundleScript, pageHtml, type Page } from '../page.js';
import { layout, type Heading } from '../sections.js';

/**
 * Renders a page of sections.
 * @param headings of all sections, for the contents
 * @param main what is below the page's title
 */
export async function sectionsPage({
  title,
  headings,
  main,
  isLive = false,
  ...page
}: Pick<Page, 'title' | 'description'> & {
  headings: readonly Heading[];
  main: Content;
  isLive?: boolean;
}): Promise<string> {
  return pageHtml({
    ...page,
    title,
    body: layout(headings, [markup('h1', title), isLive && liveControls(), main]),
    styles: KIND_STYLE + SEGMENT_STYLE + readStyles('page.css', import.meta.url),
    laterScript: await bundleScript(new URL('./browser/main.js', import.meta.url)),
    ...(isLive && { policy: { 'connect-src': "'self'" } }), // only to its own server
  });
}

export const POLL_MS = 2000;

function liveControls(): Markup {
  const box = { type: 'checkbox', id: 'live', 'data-poll-ms': POLL_MS, checked: true };
  const label = markup('label', markup('input', box), ' Update during training');
  return markup('p.live', label, ' ', markup('span', { role: 'status', id: 'live-status' }));
}

/** The part that a live page replaces. @param source prefix of a request for it */
export const liveMarkup = (
  { version, source = 'content?' }: { version: string; source?: string },
  content: Content,
): Markup => markup('div', { id: 'run', 'data-version': version, 'data-source': source }, content);
