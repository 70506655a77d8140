/**
 * The page of a training run: its curves, its guards, its newest rollouts. Live, or as
 * the run's report.
 */
import path from 'node:path';
import { group, mean } from 'd3-array';
import type { TrainConfig } from '../../methods/config.js';
import type { Provenance } from '../../evaluation/table.js';
import { type TableCells } from '../../html/cells.js';
import { citationHtml } from '../../report/citation.js';
import { chartHtml, tableFigureHtml } from '../../report/figures.js';
import { contentsHtml } from '../../report/html.js';
import { bundleScript } from '../../html/bundle.js';
import { pageHtml, reportScript } from '../../html/page.js';
import { PROVENANCE, provenanceHtml } from '../../html/provenance.js';
import { renderSvg } from '../../report/render.js';
import { runCharts, type StepMetrics } from './charts.js';
import { figureText } from '../../report/text.js';
import type { RecordedRun } from '../../rollout/recorded.js';
import { guardsOf, isAlarming, type Guard, type GuardSettings } from '../../training/guards.js';
import { writeFileSafely } from '../../io/files.js';
import { escapeHtml, markup, markupHtml, type Markup } from '../../html/markup.js';
import { segmentsMarkup } from '../../html/segments.js';
import { KIND_STYLE, SEGMENT_STYLE } from '../../html/styles.js';
import { readRun, type RunState } from './folder.js';

/** What is known of a run before it begins. */
export interface RunDescription {
  config: TrainConfig;
  /** What goes under "Where the numbers come from". */
  provenance: Provenance;
}

const STYLES = `${KIND_STYLE}${SEGMENT_STYLE}
.live { font-size: .9rem; color: var(--soft); }
.alarm { color: var(--bad); font-weight: 600; }
.calm { color: var(--good); }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; }
.curves figure { min-width: 0; }
.gold { color: var(--soft); margin: 0 0 .4rem; }
details.rollout { margin: .3rem 0; }
details.rollout > summary { font-size: .9rem; width: auto; }
`;

/** Groups of rollouts that are shown. */
const MOST_GROUPS = 8;

const SECTIONS = [
  { id: 'guards', text: 'Guards' },
  { id: 'curves', text: 'Curves' },
  { id: 'rollouts', text: 'Newest rollouts' },
] as const;

/** The whole page; the live one asks its server for news. */
export async function runPageHtml(
  run: RunDescription,
  state: RunState,
  { isLive = false }: { isLive?: boolean } = {},
): Promise<string> {
  const { method, model, seed } = run.config;
  const title = `Training: ${method} from ${model}, seed ${seed}`;
  const cite = { id: 'cite', text: 'To cite' };
  const headings = [...SECTIONS, PROVENANCE, cite].map((heading) => ({ ...heading, level: 2 }));
  const script = isLive
    ? bundleScript(new URL('./browser/live.js', import.meta.url))
    : reportScript({ hasCharts: true });
  const { commit } = run.provenance;
  const body = [
    '<a class="skip" href="#content">Skip to the content</a>',
    `<div class="layout">${contentsHtml(headings)}<main id="content"><h1>${escapeHtml(title)}</h1>`,
    isLive ? LIVE_CONTROLS : '',
    await runContentHtml(run, state),
    provenanceHtml(run.provenance),
    `${citationHtml(title, typeof commit === 'string' ? commit : undefined)}</main></div>`,
  ].join('\n');
  return pageHtml({
    title,
    body,
    styles: STYLES,
    description: 'The curves, the guards and the newest rollouts of a training run.',
    scripts: [await script],
    // The live page may ask the server that it comes from, and nobody else.
    policy: isLive ? { 'connect-src': "'self'" } : {},
  });
}

/** Milliseconds between two requests of the live page. */
export const POLL_MS = 2000;

const LIVE_CONTROLS = `<p class="live"><label><input type="checkbox" id="live" data-poll-ms="${POLL_MS}" checked> Update during training</label> <span role="status" id="live-status"></span></p>`;

/** The part of the page that changes. */
export async function runContentHtml({ config }: RunDescription, state: RunState): Promise<string> {
  const [guards, curves, rollouts] = SECTIONS;
  return [
    `<div id="run" data-version="${escapeHtml(state.version)}">`,
    `<p id="progress">${escapeHtml(progressText(config, state.steps))}</p>`,
    `<h2 id="${guards.id}">${guards.text}</h2>${guardsHtml(state.steps, config.guards)}`,
    `<h2 id="${curves.id}">${curves.text}</h2>${await curvesHtml(state.steps)}`,
    `<h2 id="${rollouts.id}">${rollouts.text}</h2>${rolloutsHtml(state.rollouts)}`,
    '</div>',
  ].join('\n');
}

const NO_STEP = '<p>No step is done yet.</p>';

/** `Step 12 of 30 is done; 14 s a step.` */
function progressText({ grpo }: TrainConfig, steps: readonly StepMetrics[]): string {
  if (steps.length === 0) return `The first of ${grpo.steps} steps is under way.`;
  const seconds = mean(
    steps,
    ({ metrics }) => (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0),
  )!;
  return `${steps.length} of ${grpo.steps} steps are done; a step takes ${seconds.toFixed(1)} seconds.`;
}

/** Every guard with the newest value, and how often its limit was passed. */
function guardsHtml(steps: readonly StepMetrics[], settings: GuardSettings): string {
  const newest = steps.at(-1);
  if (!newest) return NO_STEP;
  const rings = (guard: Guard, { metrics }: StepMetrics): boolean =>
    guard.metric in metrics && isAlarming(guard, metrics[guard.metric]);
  const guards = guardsOf(settings).filter(({ metric }) => metric in newest.metrics);
  const ringing = guards.filter((guard) => rings(guard, newest));
  const cells: TableCells = {
    caption: `Signs of a run that goes wrong, at step ${newest.step}.`,
    columns: [
      'Metric',
      'Now',
      'Value',
      'Alarming',
      'Steps with an alarm',
      'Then',
      'What it would mean',
    ],
    rows: guards.map((guard) => [
      guard.metric,
      ringing.includes(guard) ? 'ALARM' : 'ok',
      figureText(newest.metrics[guard.metric]),
      `${guard.bad} ${guard.limit}`,
      String(steps.filter((step) => rings(guard, step)).length),
      guard.action,
      guard.meaning,
    ]),
  };
  const verdict =
    ringing.length === 0
      ? '<p class="calm">All guards are quiet.</p>'
      : `<p class="alarm">Alarm: ${escapeHtml(ringing.map(({ meaning }) => meaning).join('; '))}.</p>`;
  return verdict + tableFigureHtml(cells, 'guards');
}

async function curvesHtml(steps: readonly StepMetrics[]): Promise<string> {
  if (steps.length === 0) return NO_STEP;
  const figures = runCharts(steps).map(async ({ id, chart }) =>
    chartHtml({ id: `curve-${id}`, name: id, spec: chart.spec, svg: await renderSvg(chart) }),
  );
  return `<div class="curves">${(await Promise.all(figures)).join('\n')}</div>`;
}

/** Rollouts by question, each folded behind a line that says how it went. */
function rolloutsHtml(rollouts: readonly RecordedRun[]): string {
  if (rollouts.length === 0) return NO_STEP;
  const groups = group(rollouts, ({ id }) => id);
  const shown = [...groups.values()].slice(0, MOST_GROUPS);
  const some = shown.length < groups.size ? `, the first ${shown.length} of them shown` : '';
  const intro = `<p>Step ${rollouts[0].step}: ${rollouts.length} rollouts of ${groups.size} questions${some}. Within a group, training makes those with a positive advantage more likely.</p>`;
  return [intro, ...shown.flatMap(groupMarkup).map(markupHtml)].join('\n');
}

const groupMarkup = (rollouts: readonly RecordedRun[]): Markup[] => [
  markup('h3', rollouts[0].question ?? rollouts[0].id),
  markup('p.gold', `Right would be: ${rollouts[0].goldenAnswers.join(' / ')}`),
  ...rollouts.map(rolloutMarkup),
];

const rolloutMarkup = (run: RecordedRun, i: number): Markup =>
  markup(
    'details.rollout',
    markup('summary', [`Rollout ${i + 1}`, ...factsOf(run)].join(' · ')),
    segmentsMarkup(run.segments, run.searchTurns ?? []),
  );

/** What is said of a rollout in few words. */
export function factsOf({ searchTurns, rewards, advantage }: RecordedRun): string[] {
  const turns = searchTurns ?? [];
  return [
    ...(rewards?.outcome !== undefined ? [rewards.outcome === 1 ? '✓ right' : '✗ wrong'] : []),
    `${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}`,
    ...(rewards ? [`reward ${figureText(rewards.total, 2)}`] : []),
    ...(typeof advantage === 'number' ? [`advantage ${figureText(advantage, 2)}`] : []),
  ];
}

/**
 * Writes the page of a run into its folder as `report.html`, one file that works offline.
 * Returns its path.
 */
export async function writeRunReport(folder: string, run: RunDescription): Promise<string> {
  const file = path.join(folder, 'report.html');
  await writeFileSafely(file, await runPageHtml(run, await readRun(folder)));
  return file;
}
