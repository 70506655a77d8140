/** Training curves as charts, with controls for smoothing and the horizontal axis. */
import { axisTitle, lineChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import { trainingRows } from '../../report/training-rows.js';
import { highlightLines } from '../../report/charts/lines.js';
import { renderSvg } from '../../report/charts/render.js';
import type { VegaLiteSpec } from '../../report/charts/spec.js';
import { markup, type Content, type Markup } from '../../report/markup.js';
import { parseModelName } from '../../training/models.js';
import { chartFigure, vegaDrawing } from '../figures.js';
import type { StepMetrics } from '../../training/run-folder.js';
import type { BandPoint } from './reference.js';

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

function knobs(): Markup {
  const range = { type: 'range', id: 'smoothing', min: 0, max: 0.95, step: 0.05, value: 0 };
  const axes = ['steps', 'minutes'].map((name) => markup('option', name));
  return markup(
    'p.knobs',
    markup('label', 'Smoothing ', markup('input', range)),
    ' ',
    markup('label', 'Horizontal axis ', markup('select', { id: 'axis' }, axes)),
  );
}

/**
 * Charts of training curves, except empty ones, with controls for smoothing and axis, and
 * the questions of all of them; null if all are empty.
 * @param maxPoints longer curves are averaged over windows of steps
 */
export async function curveCharts(
  charts: readonly CurvesChart[],
  maxPoints = Infinity,
): Promise<Content> {
  const [{ model, data }] = charts;
  const isSmallWorld = !data && model !== undefined && parseModelName(model) !== null;
  const questions = data ? `Questions: ${data}.` : isSmallWorld ? `${SMALL_WORLD_NOTE}.` : '';
  const figures = await Promise.all(charts.map((chart) => curveFigure(chart, maxPoints)));
  const drawn = figures.filter((figure) => figure !== null);
  if (drawn.length === 0) return null;
  return [knobs(), questions !== '' && markup('p', questions), markup('div.curves', drawn)];
}

async function curveFigure(
  { id, title, unit, curves, highlight }: CurvesChart,
  maxPoints: number,
): Promise<Markup | null> {
  const rows = curves.flatMap(({ name, metric, steps }) => {
    const points = steps.map((step) => {
      return { ...step.metrics, step: step.step, method: name, model: '', seed: 1 };
    });
    const minutes = minutesBy(steps);
    return trainingRows(points, [metric], maxPoints).map(({ step, value }) => {
      return { metric: curves[0].metric, step, curve: name, value, minutes: minutes(step) };
    });
  });
  if (rows.length === 0) return null;
  const numCurves = new Set(rows.map(({ curve }) => curve)).size;
  const hasBand = curves.some(({ band }) => band);
  const chart = lineChart(rows, {
    title,
    x: 'step',
    color: 'curve',
    yTitle: axisTitle(title, unit),
    width: 330,
    height: 180,
    points: rows.length <= numCurves * (hasBand ? MAX_POINTS / 4 : MAX_POINTS),
    legend: numCurves > 1,
  });
  const layer = [...bandLayers(curves, chart.spec), ...(chart.spec.layer as VegaLiteSpec[])];
  // The reader chooses which curves stand out.
  const spec = { ...chart.spec, layer };
  const drawn = highlight ? highlightLines(spec, highlight) : spec;
  const svg = await renderSvg({ title, spec: drawn });
  return chartFigure({
    id: `curve-${id}`,
    name: id,
    spec,
    drawing: vegaDrawing(svg, `curve-${id}`),
  });
}
