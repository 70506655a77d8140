/** Parts that the pages of runs share: sections, training curves, rollouts by step. */
import { group } from 'd3-array';
import { escapeHtml, markup, markupHtml, type Markup } from '../report/markup.js';
import { bundleScript, layoutHtml, packedElement, pageHtml, type Page } from './page.js';
import { highlightLines } from '../report/charts/lines.js';
import { segmentsMarkup } from '../report/segments.js';
import { KIND_STYLE, readStyles, SEGMENT_STYLE } from '../report/styles.js';
import { parseModelName } from '../training/models.js';
import { axisTitle, bandChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { trainingRows } from '../report/charts/curves.js';
import { chartHtml } from './figures.js';
import { renderSvg } from '../report/charts/render.js';
import { figureText } from '../report/text.js';
import type { VegaLiteSpec } from '../report/charts/spec.js';
import type { Trajectory } from '../rollout/trajectory.js';
import type { StepMetrics } from './run/folder.js';
import type { BandPoint } from './run/reference.js';
import { plural } from '../text/english.js';

export interface Section {
  id: string;
  text: string;
  html: string;
}

export const sectionHtml = ({ id, text, html }: Section): string =>
  `<h2 id="${id}">${text}</h2>${html}`;

/**
 * Renders a page of sections.
 * @param headings of all sections, for the contents
 * @param main HTML below the page's title
 */
export async function sectionsPage({
  title,
  headings,
  main,
  isLive = false,
  ...page
}: Pick<Page, 'title' | 'description'> & {
  headings: readonly Pick<Section, 'id' | 'text'>[];
  main: string;
  isLive?: boolean;
}): Promise<string> {
  const contents = headings.map(({ id, text }) => ({ id, text, level: 2 }));
  const parts = [`<h1>${escapeHtml(title)}</h1>`, isLive ? LIVE_CONTROLS : '', main];
  return pageHtml({
    ...page,
    title,
    body: layoutHtml(contents, parts.join('\n')),
    styles: KIND_STYLE + SEGMENT_STYLE + readStyles('run/page.css', import.meta.url),
    laterScript: await bundleScript(new URL('./run/browser/main.js', import.meta.url)),
    ...(isLive && { policy: { 'connect-src': "'self'" } }), // only to its own server
  });
}

export const POLL_MS = 2000;
const LIVE_CONTROLS = `<p class="live"><label><input type="checkbox" id="live" data-poll-ms="${POLL_MS}" checked> Update during training</label> <span role="status" id="live-status"></span></p>`;

/** The part that a live page replaces. @param source prefix of a request for it */
export const liveHtml = (
  { version, source = 'content?' }: { version: string; source?: string },
  html: readonly string[],
): string =>
  `<div id="run" data-version="${escapeHtml(version)}" data-source="${escapeHtml(source)}">${html.join('\n')}</div>`;

/** A metric of a run over its steps. */
export interface Curve {
  name: string;
  metric: string;
  steps: readonly StepMetrics[];
  /** A band of recorded runs, drawn behind the curve. */
  band?: readonly BandPoint[];
}

export interface CurvesChart {
  id: string;
  title: string;
  unit: string;
  curves: readonly Curve[];
  /** Name of the initial model, which tells whether the run is of the small world. */
  model?: string;
  /** The data folder of the questions; absent for the small world. */
  data?: string;
  /** Names of the curves that stand out. Default: all. */
  highlight?: readonly string[];
}

/** Curves with at most this many steps have a point at each value. */
const MAX_POINTS = 60;

/** The minutes of rollouts and updates up to a step. */
function minutesBy(steps: readonly StepMetrics[]): (step: number) => number {
  let seconds = 0;
  const minutes = new Map(
    steps.map(({ step, metrics: { rollout_seconds = 0, update_seconds = 0 } }) => [
      step,
      (seconds += rollout_seconds + update_seconds) / 60,
    ]),
  );
  return (step) => Number((minutes.get(Math.floor(step)) ?? NaN).toPrecision(4));
}

/** A layer with the curves' bands, each with its median, behind the curves. */
function bandLayers(curves: readonly Curve[], chart: VegaLiteSpec): VegaLiteSpec[] {
  const values = curves.flatMap(({ name, band = [] }) =>
    band.map(([step, low, median, high]) => ({ curve: name, step, low, median, high })),
  );
  if (values.length === 0) return [];
  const lines = (chart.layer as { encoding: Record<string, object> }[]).at(-1)!;
  const { x, color, y } = lines.encoding;
  const area = {
    mark: { type: 'area', opacity: 0.16, aria: false },
    encoding: { x, color, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  };
  const median = {
    mark: { type: 'line', strokeWidth: 1, opacity: 0.55, aria: false },
    encoding: { x, color, y: { ...y, field: 'median' } },
  };
  return [{ data: { values }, layer: [area, median] }];
}

const CURVE_KNOBS = `<p class="knobs"><label>Smoothing <input type="range" id="smoothing" min="0" max="0.95" step="0.05" value="0"></label> <label>Horizontal axis <select id="axis"><option value="step">steps</option><option value="minutes">minutes</option></select></label></p>`;

/**
 * Charts of training curves, except empty ones, with controls for smoothing and axis, and
 * the questions of all of them.
 * @param maxPoints longer curves are averaged over windows of steps
 */
export async function curvesHtml(
  charts: readonly CurvesChart[],
  maxPoints = Infinity,
): Promise<string> {
  const [{ model, data }] = charts;
  const isSmallWorld = !data && model !== undefined && parseModelName(model) !== null;
  const questions = data ? `Questions: ${data}.` : isSmallWorld ? `${SMALL_WORLD_NOTE}.` : '';
  const figures = charts.map(async ({ id, title, unit, curves, highlight }) => {
    const rows = curves.flatMap(({ name, metric, steps }) => {
      const points = steps.map((step) => {
        return { ...step.metrics, step: step.step, method: name, model: '', seed: 1 };
      });
      const minutes = minutesBy(steps);
      return trainingRows(points, [metric], maxPoints).map(({ step, value }) => {
        const point = { metric: curves[0].metric, step, curve: name, value };
        return { ...point, minutes: minutes(step) };
      });
    });
    if (rows.length === 0) return '';
    const numCurves = new Set(rows.map(({ curve }) => curve)).size;
    const chart = bandChart(rows, {
      title,
      x: 'step',
      color: 'curve',
      yTitle: axisTitle(title, unit),
      width: 330,
      height: 180,
      points:
        rows.length <= numCurves * (curves.some(({ band }) => band) ? MAX_POINTS / 4 : MAX_POINTS),
      legend: numCurves > 1,
    });
    const layer = [...bandLayers(curves, chart.spec), ...(chart.spec.layer as VegaLiteSpec[])];
    const spec = { ...chart.spec, layer };
    const drawn = highlight ? highlightLines(spec, highlight) : spec;
    const { values } = chart.spec.data as { values: object[] };
    const timed = values.map((value, i) => ({ ...value, minutes: rows[i].minutes }));
    return chartHtml({
      id: `curve-${id}`,
      name: id,
      // The reader chooses which curves stand out.
      spec: { ...spec, data: { values: timed } },
      svg: await renderSvg({ title, spec: drawn }),
    });
  });
  const html = (await Promise.all(figures)).join('\n').trim();
  const about = questions && markupHtml(markup('p', questions));
  return html && `${CURVE_KNOBS}${about}<div class="curves">${html}</div>`;
}

/** Maximum number of rollout groups shown per step. */
const MAX_GROUPS = 8;

/** The rollouts of a step by question, each folded behind a summary. */
export function rolloutsHtml(rollouts: readonly Trajectory[], maxGroups = MAX_GROUPS): string {
  if (rollouts.length === 0) return '<p>No rollouts recorded.</p>';
  const groups = [
    ...group(rollouts, ({ questionId, question }) => `${questionId}\n${question}`).values(),
  ];
  const shown = groups.slice(0, maxGroups);
  const first = shown.length < groups.length ? ` (first ${shown.length} shown)` : '';
  const counts = `${rollouts.length} rollouts of ${groups.length} questions${first}`;
  const intro = `Step ${rollouts[0].step}: ${counts}. A positive advantage makes a rollout more likely, a negative one less.`;
  return [markup('p', intro), ...shown.flatMap(groupMarkup)].map(markupHtml).join('\n');
}

const groupMarkup = (rollouts: readonly Trajectory[]): Markup[] => [
  markup('h3', rollouts[0].question || rollouts[0].questionId),
  markup('p.gold', `Gold answer: ${rollouts[0].goldenAnswers.join(' / ')}`),
  ...rollouts.map((run, i) =>
    markup(
      'details.rollout',
      markup('summary', [`Rollout ${i + 1}`, ...rolloutFacts(run)].join(' · ')),
      segmentsMarkup(run, run.searchTurns),
    ),
  ),
];

/** The rollouts of a run, or where a page can request them. */
export interface SteppedRollouts {
  name: string;
  /** All steps, and the prefix of a request for one. Default: as in `rollouts`. */
  live?: { steps: readonly number[]; source: string };
  /** The newest rollouts, plus earlier ones in a standalone page. */
  rollouts: ReadonlyMap<number, readonly Trajectory[]>;
}

const newest = (rollouts: SteppedRollouts['rollouts']): number => Math.max(...rollouts.keys());

/** Number of groups that a page carries for a step other than the newest. */
const CARRIED_GROUPS = 2;

/**
 * A slider through the steps of runs, with the rollouts of a step. A live page requests
 * those that it does not carry.
 */
export function steppedRolloutsHtml(runs: readonly SteppedRollouts[]): string {
  const filled = runs.filter(({ rollouts }) => rollouts.size > 0);
  if (filled.length === 0) return '<p>No rollouts recorded.</p>';
  const carried = filled.map(({ name, rollouts, live }) => ({
    name,
    source: live?.source,
    steps: live?.steps ?? [...rollouts.keys()],
    html: Object.fromEntries(
      [...rollouts].map(([step, ofStep]) => [
        step,
        rolloutsHtml(ofStep, step === newest(rollouts) ? MAX_GROUPS : CARRIED_GROUPS),
      ]),
    ),
  }));
  const [{ steps, html }] = carried;
  const names = carried.map(({ name }) => markup('option', name));
  const last = steps.length - 1;
  const isOnly = names.length === 1;
  const range = { type: 'range', id: 'rollouts-step', min: 0, max: last, value: last };
  const output = markup('output', { for: range.id }, String(steps[last]));
  const runChoice = markup('select', { id: 'rollouts-run' }, names);
  const knobs = markup(
    'p.knobs',
    markup('label', { hidden: isOnly }, 'Run ', runChoice),
    markup('label.wide', { hidden: last === 0 && isOnly }, 'Step ', markup('input', range), output),
  );
  return `${markupHtml(knobs)}<div id="rollouts-shown">${html[newest(filled[0].rollouts)]}</div>${packedElement('rollouts-carried', JSON.stringify(carried))}`;
}

/** Summarises a rollout. @param isCorrect default: by the recorded outcome reward */
export function rolloutFacts(
  { searchTurns, rewards, advantage }: Trajectory,
  isCorrect = rewards && 'outcome' in rewards ? rewards.outcome === 1 : undefined,
): string[] {
  return [
    ...(isCorrect === undefined ? [] : [isCorrect ? '✓ right' : '✗ wrong']),
    plural(searchTurns.length, 'turn'),
    ...(rewards ? [`reward ${figureText(rewards.total, 2)}`] : []),
    ...(advantage === undefined ? [] : [`advantage ${figureText(advantage, 2)}`]),
  ];
}
