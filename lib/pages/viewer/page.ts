/**
 * Recorded trajectories as one self-contained page to filter, search, read and compare.
 */
import { writeFileSafely } from '../../io/files.js';
import { bundleScript } from '../../html/bundle.js';
import { tableHtml } from '../../html/cells.js';
import { escapeHtml } from '../../html/markup.js';
import { packedElement, pageHtml } from '../../html/page.js';
import { KIND_STYLE } from '../../html/styles.js';
import type { ViewerData, ViewerTrajectory } from './data.js';
import { VIEWER_STYLE } from './styles.js';

export interface ViewerPage {
  title: string;
  data: ViewerData;
  /**
   * What the trajectories are, in a sentence; by default how many, and what one can do
   * with them.
   */
  description?: string;
  /**
   * HTML to be unfolded above the list: what the trajectories are, and where they come
   * from.
   */
  about?: string;
}

/** Trajectories in the table for readers without scripts. */
const STATIC_ROWS = 50;

/**
 * The whole page. The data lie in it compressed, and all text of trajectories reaches the
 * page as text, never as HTML.
 */
export async function viewerHtml({ title, data, ...page }: ViewerPage): Promise<string> {
  const count = data.trajectories.length.toLocaleString('en');
  const body = [
    '<a class="skip" href="#trajectory">Skip to the trajectory</a>',
    `<main id="trajectory" class="static"><h1>${escapeHtml(title)}</h1>`,
    page.about ? aboutHtml(page.about) : '',
    `<noscript>${staticHtml(data)}</noscript></main>`,
    '<div id="viewer" class="viewer" hidden>',
    `<p id="loading" role="status">Unpacking ${count} trajectories …</p>`,
    '</div>',
    packedElement('data', JSON.stringify(data)),
  ].join('\n');
  const whatItDoes = `${count} recorded trajectories: filter, search, read turn by turn, compare two methods.`;
  const description = page.description ?? whatItDoes;
  const styles = `${KIND_STYLE}${VIEWER_STYLE}`;
  const script = await bundleScript(new URL('./browser/main.js', import.meta.url));
  return pageHtml({ title, description, body, styles, scripts: [script] });
}

const aboutHtml = (about: string): string =>
  `<details id="about" class="about"><summary>About these trajectories</summary><div>${about}</div></details>`;

/**
 * What shows where scripts are off: what is needed, and the first trajectories as a
 * table.
 */
function staticHtml(data: ViewerData): string {
  const rows = data.trajectories
    .slice(0, STATIC_ROWS)
    .map((trajectory) => staticRow(trajectory, data));
  const numbers = `first ${rows.length} of ${data.trajectories.length.toLocaleString('en')} trajectories`;
  const table = tableHtml({
    caption: `The ${numbers}`,
    columns: ['Question', 'Gold', 'Method', 'Turns', 'Answer', 'Right', 'Reward'],
    rows,
  });
  const label = 'The first trajectories';
  return [
    '<p>To filter, search and read the trajectories, this page needs JavaScript and a browser that knows ',
    `<code>DecompressionStream</code> (any since 2023). It loads nothing from a network. Below are the ${numbers}.</p>`,
    `<div class="scroll" role="region" aria-label="${label}" tabindex="0">${table}</div>`,
  ].join('');
}

function staticRow(trajectory: ViewerTrajectory, { questions }: ViewerData): string[] {
  const { question, goldenAnswers } = questions[trajectory.question];
  return [
    question,
    goldenAnswers.join(' / '),
    trajectory.method,
    String(trajectory.numTurns),
    trajectory.answer ?? '–',
    trajectory.exactMatch ? 'yes' : 'no',
    trajectory.rewards.total.toFixed(3),
  ];
}

/** Writes the page and returns a line that says what it holds. */
export async function writeViewer(file: string, page: ViewerPage): Promise<string> {
  const html = await viewerHtml(page);
  await writeFileSafely(file, html);
  const count = page.data.trajectories.length.toLocaleString('en');
  return `${count} trajectories, ${(Buffer.byteLength(html) / 1e6).toFixed(1)} MB: ${file}`;
}
