/** Recorded trajectories as one HTML file to filter, search, read and compare. */
import { sum } from 'd3-array';
import { escapeHtml } from '../../html/markup.js';
import { bundleScript, packedElement, pageHtml } from '../../html/page.js';
import { KIND_STYLE, SEGMENT_STYLE } from '../../html/styles.js';
import { tableHtml } from '../../html/table.js';
import { writeFileSafely } from '../../io/files.js';
import type { ViewerData } from './data.js';

export interface ViewerPage {
  title: string;
  data: ViewerData;
  /** One sentence on the trajectories; by default, how many there are. */
  description?: string;
  /** HTML folded away above the list. */
  about?: string;
}

/** Maximum characters of text in a page: about half of the longest string in V8. */
const MAX_CHARACTERS = 250e6;
/** Trajectories in the table for readers without scripts. */
const STATIC_ROWS = 50;

/**
 * The page. The data is packed; trajectories reach the page as text, never as HTML.
 * @throws Error if there is too much text for a page
 */
export async function viewerHtml({ title, data, about, ...page }: ViewerPage): Promise<string> {
  const length = sum(data.trajectories, ({ segments }) => sum(segments, ({ text }) => text.length));
  if (length > MAX_CHARACTERS)
    throw new Error(
      `Expected at most ${MAX_CHARACTERS / 1e6} million characters of text for a page, but got ${(length / 1e6).toFixed(0)} million. Pass fewer trajectories.`,
    );
  const count = data.trajectories.length.toLocaleString('en');
  const body = [
    `<main id="trajectory" class="static"><h1>${escapeHtml(title)}</h1>`,
    about
      ? `<details id="about" class="about"><summary>About these trajectories</summary><div>${about}</div></details>`
      : '',
    `<noscript>${staticHtml(data)}</noscript></main>`,
    '<div id="viewer" class="viewer" hidden>',
    `<p id="loading" role="status">Unpacking ${count} trajectories …</p>`,
    '</div>',
    packedElement('data', JSON.stringify(data)),
  ].join('\n');
  return pageHtml({
    title,
    description: page.description ?? `${count} trajectories to filter, search, read and compare.`,
    body,
    contentId: 'trajectory',
    styles: `${KIND_STYLE}${STYLES}`,
    scripts: [await bundleScript(new URL('./browser/main.js', import.meta.url))],
  });
}

/** A table of the first trajectories, shown without JavaScript. */
function staticHtml({ trajectories }: ViewerData): string {
  const rows = trajectories.slice(0, STATIC_ROWS).map((trajectory) => {
    const { question, goldenAnswers, method, numTurns, answer, exactMatch, rewards } = trajectory;
    const figures = [String(numTurns), answer ?? '–', exactMatch ? 'yes' : 'no'];
    return [question, goldenAnswers.join(' / '), method, ...figures, rewards.total.toFixed(3)];
  });
  const count = trajectories.length.toLocaleString('en');
  const columns = ['Question', 'Gold answer', 'Method', 'Turns', 'Answer', 'Right', 'Reward'];
  const caption = `The first ${rows.length} of ${count} trajectories`;
  return (
    '<p>To filter and read all trajectories, this page needs JavaScript and <code>DecompressionStream</code> (any browser since 2023). It loads nothing from a network.</p>' +
    `<div class="scroll" role="region" aria-label="First trajectories" tabindex="0">${tableHtml({ caption, columns, rows })}</div>`
  );
}

/** Writes the page; returns a line about it. */
export async function writeViewer(file: string, page: ViewerPage): Promise<string> {
  const html = await viewerHtml(page);
  await writeFileSafely(file, html);
  const count = page.data.trajectories.length.toLocaleString('en');
  return `${count} trajectories, ${(Buffer.byteLength(html) / 1e6).toFixed(1)} MB: ${file}`;
}

const STYLES = `.static { padding: 1rem 1.25rem; }
.viewer { display: grid; grid-template: auto minmax(0, 1fr) / minmax(18rem, 27rem) minmax(0, 1fr); height: 100vh; }
body:has(> .site) { display: flex; flex-direction: column; height: 100vh; }
body:has(> .site) .viewer { flex: 1; height: auto; min-height: 0; }
.viewer[hidden] { display: none; }
.viewer > header { grid-column: 1 / -1; padding: .6rem 1rem; border-bottom: 1px solid var(--line); background: var(--panel); }
.viewer > #loading { padding: 1rem; }
.viewer h1 { font-size: 1.15rem; margin: 0 0 .4rem; }
.about { font-size: .86rem; }
.viewer .about { margin: 0 0 .4rem; }
.about > div { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 2rem; }
.about p { margin: .4rem 0; max-width: 46rem; }
.about h2 { border: 0; font-size: 1rem; margin: .4rem 0; padding: 0; }
.controls { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: end; font-size: .82rem; }
.controls label { display: grid; gap: .1rem; color: var(--soft); }
.controls input, .controls select, .viewer button { font: inherit; color: var(--fg); background: var(--bg); border: 1px solid var(--soft); border-radius: 4px; padding: .2rem .4rem; max-width: 11rem; }
.controls .fold { display: none; }
.controls .chips { display: flex; flex-wrap: wrap; gap: .3rem .4rem; flex-basis: 100%; margin: 0; padding: 0; border: 0; }
.controls .chips legend { float: left; color: var(--soft); padding: .15rem .4rem 0 0; }
.controls .chip { display: inline-flex; align-items: center; gap: .3rem; color: var(--fg); background: var(--bg); border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .6rem; cursor: pointer; }
.controls .chip:has(:checked) { border-color: var(--accent); background: color-mix(in srgb, var(--accent) 16%, var(--bg)); }
.controls .chip:has(:focus-visible) { outline: 2px solid var(--accent); }
.controls .chip input { margin: 0; accent-color: var(--accent); }
.side { display: grid; grid-template-rows: auto minmax(0, 1fr); border-right: 1px solid var(--line); min-height: 0; }
.count { margin: 0; padding: .3rem 1rem; font-size: .82rem; color: var(--soft); border-bottom: 1px solid var(--line); }
.list { overflow-y: auto; contain: strict; min-height: 0; }
.list:focus-visible { outline-offset: -3px; }
.spacer { position: relative; }
.row { position: absolute; inset: 0 0 auto; height: 68px; padding: .35rem 1rem; border-bottom: 1px solid var(--line); border-left: 4px solid transparent; cursor: pointer; line-height: 1.35; }
.row span { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.row-title { font-size: .9rem; }
.row .row-facts { display: flex; justify-content: space-between; gap: .8rem; font-size: .78rem; color: var(--soft); }
.row-facts > span { flex: none; }
.row .row-method { flex: 0 1 auto; color: var(--fg); }
.row .row-labels { font-size: .78rem; color: var(--bad); }
.row[aria-selected=true] .row-labels { color: var(--fg); }
.row.right { border-left-color: var(--good); }
.row.wrong { border-left-color: var(--bad); }
.row:hover { background: var(--panel); }
.row[aria-selected=true] { background: color-mix(in srgb, var(--accent) 16%, var(--bg)); }
.row[aria-selected=true] .row-facts { color: var(--fg); }
.detail { overflow: auto; padding: 0 1.25rem 3rem; min-width: 0; }
.detail.two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1.5rem; align-content: start; }
.missing { grid-column: 1 / -1; color: var(--soft); }
.detail article { min-width: 0; }
.detail h2 { border: 0; font-size: 1.2rem; line-height: 1.3; margin: 1rem 0 .6rem; padding: 0; }
dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1rem; font-size: .86rem; margin: 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
ul.labels { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem; padding: 0; margin: .7rem 0; font-size: .8rem; }
ul.labels li { color: var(--bad); border: 1px solid var(--bad); border-radius: 4px; padding: .05rem .5rem; overflow-wrap: anywhere; }
.diagrams { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; margin: 1rem 0; }
figure.diagram { margin: 0; min-width: 0; }
figure.diagram figcaption, .scores caption { font-size: .8rem; color: var(--soft); }
figure.diagram .scroll { margin: .3rem 0; }
svg.diagram { display: block; font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.2; }
svg .head { fill: var(--soft); }
svg .box rect { fill: var(--panel); stroke: var(--soft); }
svg .box text { fill: var(--fg); }
svg .box-title { font-weight: 600; }
svg .box-detail { font-size: 11px; }
svg .asked rect { stroke: var(--search); fill: color-mix(in srgb, var(--search) var(--tint), var(--bg)); }
svg .missed rect { stroke: var(--bad); stroke-dasharray: 4 3; fill: var(--bg); }
svg .stray rect { stroke-dasharray: 4 3; }
svg .right rect { stroke: var(--good); stroke-width: 2; }
svg .failed rect, svg .wrong rect { stroke: var(--bad); stroke-width: 2; }
.scores { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: start; margin: 1rem 0; }
.scores tr.total th, .scores tr.total td { font-weight: 700; border-top: 2px solid var(--line); }
.scores td, .scores th { vertical-align: middle; }
.scores tr.current { background: color-mix(in srgb, var(--accent) 16%, var(--bg)); }
.bar { position: relative; display: inline-block; width: 8rem; height: .7rem; background: linear-gradient(var(--soft), var(--soft)) 50% / 1px 100% no-repeat; }
.bar > span { position: absolute; top: 1px; bottom: 1px; background: var(--good); }
.bar.below > span { background: var(--bad); }
${SEGMENT_STYLE}@media (max-width: 52rem) {
  .viewer { grid-template: auto 40vh auto / minmax(0, 1fr); height: auto; }
  body:has(> .site) { display: block; height: auto; }
  .side { border-right: 0; border-bottom: 1px solid var(--line); }
  .detail.two { grid-template-columns: minmax(0, 1fr); }
  .controls .fold { display: block; }
  .controls:has(.fold[aria-expanded=false]) > :not(:first-child, .fold) { display: none; }
}
@media print {
  body:has(> .site) { display: block; height: auto; }
  .viewer { display: block; height: auto; }
  .viewer > header form, .side { display: none; }
  .detail { overflow: visible; }
  .segment, table, figure { break-inside: avoid; }
  svg, .bar > span, .segment { print-color-adjust: exact; }
}
`;
