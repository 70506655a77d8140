/** A page of recorded trajectories to filter, search, read and compare. */
import { sum } from 'd3-array';
import { writeFileSafely } from '../../io/files.js';
import { markup, type Content } from '../../report/markup.js';
import { KIND_STYLE, readStyles, SEGMENT_STYLE } from '../../report/styles.js';
import { tableMarkup } from '../../report/table-formats.js';
import { decimalText, countText } from '../../text/english.js';
import { scrollable } from '../figures.js';
import { bundleScript, packedElement, pageHtml } from '../page.js';
import type { ViewerData } from './data.js';

interface ViewerPage {
  title: string;
  data: ViewerData;
  /** One sentence about the trajectories. Default: their number. */
  description?: string;
  /** Folded away above the list. */
  about?: Content;
}

/** Maximum characters of text in a page: about half of V8's longest string. */
const MAX_CHARACTERS = 250e6;
/** Trajectories in the table for readers without scripts. */
const STATIC_ROWS = 50;

/**
 * Renders the page. The data is packed; trajectories reach the page as text, never as
 * HTML.
 * @throws Error if there is too much text for a page
 */
export async function viewerHtml({ title, data, about, ...page }: ViewerPage): Promise<string> {
  const length = sum(data.trajectories, ({ segments }) => sum(segments, ({ text }) => text.length));
  if (length > MAX_CHARACTERS)
    throw new Error(
      `Expected at most ${MAX_CHARACTERS / 1e6} million characters of text for a page, but got ${(length / 1e6).toFixed(0)} million. Pass fewer trajectories.`,
    );
  const count = countText(data.trajectories.length);
  const folded = markup('summary', 'About these trajectories');
  const loading = `Unpacking ${count} trajectories …`;
  const body = [
    markup(
      'main.static',
      { id: 'trajectory' },
      markup('h1', title),
      about && markup('details.about', { id: 'about' }, folded, markup('div', about)),
      markup('noscript', staticContent(data)),
    ),
    markup(
      'div.viewer',
      { id: 'viewer', hidden: true },
      markup('p', { id: 'loading', role: 'status' }, loading),
    ),
    packedElement('data', JSON.stringify(data)),
  ];
  return pageHtml({
    title,
    description: page.description ?? `${count} trajectories to filter, search, read and compare.`,
    body,
    contentId: 'trajectory',
    styles: KIND_STYLE + SEGMENT_STYLE + readStyles('page.css', import.meta.url),
    scripts: [await bundleScript(new URL('./browser/main.js', import.meta.url))],
  });
}

/** A table of the first trajectories, shown without JavaScript. */
function staticContent({ trajectories }: ViewerData): Content {
  const rows = trajectories.slice(0, STATIC_ROWS).map((trajectory) => {
    const { question, goldenAnswers, method, numTurns, answer, exactMatch, rewards } = trajectory;
    const figures = [String(numTurns), answer ?? '–', exactMatch ? 'yes' : 'no'];
    return [question, goldenAnswers.join(' / '), method, ...figures, decimalText(rewards.total)];
  });
  const count = countText(trajectories.length);
  const columns = ['Question', 'Gold answer', 'Method', 'Turns', 'Answer', 'Right', 'Reward'];
  const caption = `The first ${rows.length} of ${count} trajectories`;
  const needed = markup('code', 'DecompressionStream');
  return [
    markup(
      'p',
      'To filter and read all trajectories, this page needs JavaScript and ',
      needed,
      ' (any browser since 2023). It loads nothing from a network.',
    ),
    scrollable('First trajectories', tableMarkup({ caption, columns, rows })),
  ];
}

/** Writes the page; returns a line about it. */
export async function writeViewer(file: string, page: ViewerPage): Promise<string> {
  const html = await viewerHtml(page);
  await writeFileSafely(file, html);
  const count = countText(page.data.trajectories.length);
  const megabytes = Number((Buffer.byteLength(html) / 1e6).toPrecision(2));
  return `${count} ${count === '1' ? 'trajectory' : 'trajectories'}, ${megabytes} MB: ${file}`;
}
