/** What the run page and the comparison share: sections, training curves, rollouts. */
import { escapeHtml } from '../html/markup.js';
import { layoutHtml, pageHtml, reportScript, type Page } from '../html/page.js';
import { KIND_STYLE, SEGMENT_STYLE } from '../html/styles.js';
import { parseModelName } from '../training/stored-policies.js';
import { axisTitle, bandChart, SMALL_WORLD_NOTE } from '../report/chart.js';
import { trainingRows } from '../report/curves.js';
import { chartHtml } from '../report/figures.js';
import { renderSvg } from '../report/render.js';
import { figureText } from '../report/text.js';
import type { Trajectory } from '../rollout/trajectory.js';
import type { StepMetrics } from './run/folder.js';

const STYLES = `${KIND_STYLE}${SEGMENT_STYLE}
.live { font-size: .9rem; color: var(--soft); }
.alarm { color: var(--bad); font-weight: 600; }
.calm { color: var(--good); }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; }
.curves figure { min-width: 0; }
.gold { color: var(--soft); margin: 0 0 .4rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1.5rem; }
.sides > div { min-width: 0; }
details.question, details.rollout { margin: .3rem 0; }
details.question > summary, details.rollout > summary { font-size: .92rem; width: auto; }
td:last-child { white-space: normal; }
.downloads + .scroll { margin-top: 1.5rem; }
`;

export interface Section {
  id: string;
  text: string;
  html: string;
}

export const sectionHtml = ({ id, text, html }: Section): string =>
  `<h2 id="${id}">${text}</h2>${html}`;

/**
 * A page of sections.
 * @param headings of all sections, for the contents
 * @param main HTML of the page below its title
 */
export async function sectionsPage({
  title,
  headings,
  main,
  script = reportScript({ hasCharts: true }),
  ...page
}: Pick<Page, 'title' | 'description' | 'policy'> & {
  headings: readonly Pick<Section, 'id' | 'text'>[];
  main: string;
  script?: Promise<string>;
}): Promise<string> {
  const contents = headings.map(({ id, text }) => ({ id, text, level: 2 }));
  const body = layoutHtml(contents, `<h1>${escapeHtml(title)}</h1>\n${main}`);
  return pageHtml({ ...page, title, body, styles: STYLES, scripts: [await script] });
}

/** A metric of a run over its steps. */
export interface Curve {
  name: string;
  metric: string;
  steps: readonly StepMetrics[];
}

export interface CurvesChart {
  /** Name of exported files. */
  id: string;
  title: string;
  unit: string;
  curves: readonly Curve[];
  /** Name of the initial model, which tells whether the run is of the small world. */
  model?: string;
  /** The data folder of the questions; absent in the small world. */
  data?: string;
}

/** Steps up to which each value is marked. */
const MAX_POINTS = 60;

/**
 * Charts of training curves, without empty ones.
 * @param maxPoints longer curves are averaged over windows of steps
 */
export async function curvesHtml(
  charts: readonly CurvesChart[],
  maxPoints = Infinity,
): Promise<string> {
  const figures = charts.map(async ({ id, title, unit, curves, model, data }) => {
    const rows = curves.flatMap(({ name, metric, steps }) => {
      const points = steps.map((step) => {
        return { ...step.metrics, step: step.step, method: name, model: '', seed: 1 };
      });
      return trainingRows(points, [metric], maxPoints).map(({ step, value }) => {
        return { metric: curves[0].metric, step, curve: name, value };
      });
    });
    if (rows.length === 0) return '';
    const numCurves = new Set(rows.map(({ curve }) => curve)).size;
    const chart = bandChart(rows, {
      title,
      x: 'step',
      color: 'curve',
      yTitle: axisTitle(title, unit),
      subtitle: data
        ? `Questions: ${data}`
        : model && parseModelName(model)
          ? SMALL_WORLD_NOTE
          : '',
      width: 330,
      height: 180,
      points: rows.length <= numCurves * MAX_POINTS,
      legend: numCurves > 1,
    });
    return chartHtml({
      id: `curve-${id}`,
      name: id,
      spec: chart.spec,
      svg: await renderSvg(chart),
    });
  });
  const html = (await Promise.all(figures)).join('\n').trim();
  return html && `<div class="curves">${html}</div>`;
}

/** A rollout in a few words. @param isCorrect default: by the recorded outcome reward */
export function rolloutFacts(
  { searchTurns, rewards, advantage }: Trajectory,
  isCorrect = rewards && 'outcome' in rewards ? rewards.outcome === 1 : undefined,
): string[] {
  const numTurns = searchTurns.length;
  return [
    ...(isCorrect === undefined ? [] : [isCorrect ? '✓ right' : '✗ wrong']),
    `${numTurns} ${numTurns === 1 ? 'turn' : 'turns'}`,
    ...(rewards ? [`reward ${figureText(rewards.total, 2)}`] : []),
    ...(advantage === undefined ? [] : [`advantage ${figureText(advantage, 2)}`]),
  ];
}
