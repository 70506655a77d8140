/**
 * Charts, declared by what stands on their axes and what is told apart: as Vega-Lite
 * specifications over a data frame.
 */
import { flatGroup, flatRollup } from 'd3-array';
import { chartOf, SMALL_WORLD, titled, type Chart, type VegaLiteSpec } from './chart.js';
import { columnsOf, rowsOf, type Row, type Rows } from './frame.js';
import { decimalsOf, isShare, metricInfo } from './metrics.js';
import { bandLayers, intervalLayers, lineLayers, seriesOf, type Series } from './series.js';
import { figureText } from './text.js';
import { fieldTitle, titleOf, valuesOf } from './titles.js';

export interface ChartSpec {
  title: string;
  /** Field on the horizontal axis. */
  x: string;
  /**
   * Its title, with the unit in parentheses where it is a quantity; default the field's.
   */
  xTitle?: string;
  /** Field that is told apart by colour and shape. */
  color: string;
  /** Fields that have a panel for each of their values. */
  row?: string;
  column?: string;
  /**
   * Field that has a panel for each of its values, two beside each other, each with a
   * vertical scale of its own.
   */
  panel?: string;
  /** Under the title; default says that all is of a small world. */
  subtitle?: string;
  /** Of the vertical axis, in place of the metric's title and unit. */
  yTitle?: string;
  /**
   * Rows that are told in words; default the whole frame, of which the ends are told
   * where it is long.
   */
  spoken?: Rows;
  width?: number;
  height?: number;
  /**
   * Whether the vertical axis shows no more than the figures need, so that small
   * differences are seen; default all of a share.
   */
  zoomed?: boolean;
}

/** Rows that are told in words at the most. */
const MOST_SPOKEN = 16;

const str = (value: Row[string] | undefined): string => String(value);

/**
 * The values in words: panel by panel, and within one a series after the other, such as
 * `base: Search-R1 0.512 (NQ), 0.391 (HotpotQA); R1 ...`; where there are many, the first
 * and the last of each series.
 */
function spokenText(rows: readonly Row[], { x, color, row, column, panel }: ChartSpec): string {
  const figureOf = (one: Row): string =>
    figureText(one.value as number, decimalsOf(str(one.metric), one.value));
  const place = (one: Row): string => (x === 'step' ? `step ${str(one[x])}` : titleOf(x, one[x]));
  const at = (one: Row): string =>
    `${figureOf(one)}${x in one && x !== color ? ` (${place(one)})` : ''}`;
  const seriesText = (name: string, own: Row[]): string => {
    const isShort = rows.length <= MOST_SPOKEN || own.length === 1;
    return `${name} ${isShort ? own.map(at).join(', ') : `from ${at(own[0])} to ${at(own.at(-1)!)}`}`;
  };
  const named = (fields: readonly string[]) => (one: Row) =>
    fields.map((field) => titleOf(field, one[field])).join(', ');
  const panelFields = [row, column, panel].filter((field) => field !== undefined);
  return flatRollup(
    rows,
    (own) => flatGroup(own, named([color])).map(([name, series]) => seriesText(name, series)),
    named(panelFields),
  )
    .map(([name, series]) => `${name ? `${name}: ` : ''}${series.join('; ')}.`)
    .join(' ');
}

/** The one metric of a frame. @throws Error when there is none, or more than one */
function metricOf(rows: readonly Row[], title: string): string {
  const metrics = [...new Set(rows.map(({ metric }) => str(metric)))];
  if (metrics.length === 1) return metrics[0];
  throw new Error(
    `Expected rows of one metric for the chart "${title}", but got ${metrics.length === 0 ? 'no rows' : metrics.join(', ')}.`,
  );
}

/**
 * What is drawn, and what its axis says; several metrics may stand beside each other
 * where `yTitle` says what they share.
 */
function valueTitles(
  rows: readonly Row[],
  { x, title, yTitle }: ChartSpec,
): { name: string; yTitle: string } {
  if (x === 'metric' && yTitle) return { name: yTitle, yTitle };
  const metric = metricInfo(metricOf(rows, title));
  return { name: metric.title, yTitle: yTitle ?? titled(metric.title, metric.unit) };
}

/** Fields that are numbers or stand in no title. */
const FIGURES = ['value', 'low', 'high', 'n', 'paper', 'predicted'];

/**
 * What a value is called on an axis, whose title says the rest: `compares 2` is 2 on that
 * of the entities compared.
 */
const labelOf = (field: string, value: Row[string]): Row[string] =>
  typeof value === 'number' ? value : titleOf(field, value).replace(/^compares /, '');

/** The rows of the drawing, with readable names. */
function drawnRows(rows: readonly Row[], { x, color, row, column, panel }: ChartSpec): Row[] {
  const named = [x, color, row, column, panel].filter((field) => field !== undefined);
  return rows.map((one) => ({
    ...Object.fromEntries(named.map((field) => [field, labelOf(field, one[field])])),
    ...Object.fromEntries(
      FIGURES.filter((field) => field in one).map((field) => [field, one[field]]),
    ),
  }));
}

/**
 * What makes panels of a chart: a facet for fields, and how they share scales; nothing
 * where there are none.
 */
function panels(rows: readonly Row[], { row, column, panel }: ChartSpec): VegaLiteSpec {
  const facet = (field: string): VegaLiteSpec => ({
    field,
    sort: valuesOf(field, rows).map((value) => titleOf(field, value)),
  });
  if (panel) {
    const resolve = { scale: { y: 'independent' }, axis: { x: 'independent' } };
    return { facet: { ...facet(panel), type: 'nominal' }, columns: 2, resolve };
  }
  const header = { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 };
  const sides = {
    ...(row ? { row: { ...facet(row), ...(column ? {} : { header }) } } : {}),
    ...(column ? { column: facet(column) } : {}),
  };
  return row || column ? { facet: sides } : {};
}

/** The horizontal axis: the field's values in order. */
function xAxis(rows: readonly Row[], { x, xTitle }: ChartSpec): VegaLiteSpec {
  const title = xTitle ?? fieldTitle(x);
  const sort = valuesOf(x, rows).map((value) => labelOf(x, value));
  const isLong = Math.max(...sort.map((value) => String(value).length)) > 16;
  return { field: x, type: 'nominal', sort, title, axis: { labelAngle: isLong ? -25 : 0 } };
}

interface Drawing {
  /** The layers, over both axes. */
  draw: (series: Series, x: VegaLiteSpec, y: VegaLiteSpec) => VegaLiteSpec[];
  x: VegaLiteSpec;
  /** Of the vertical axis. */
  scale: VegaLiteSpec;
  width: number | VegaLiteSpec;
  height: number;
}

function drawn(frame: Rows, spec: ChartSpec, { draw, x, scale, ...size }: Drawing): Chart {
  const rows = rowsOf(frame);
  const series = seriesOf(spec.color, valuesOf(spec.color, rows).map(str));
  const { name, yTitle } = valueTitles(rows, spec);
  const y = { type: 'quantitative', title: yTitle, scale };
  const { width = size.width, height = size.height } = spec;
  const inner = { width, height, layer: draw(series, x, y) };
  const facets = panels(rows, spec);
  return chartOf({
    title: spec.title,
    subtitle: spec.subtitle ?? SMALL_WORLD,
    alt: `${name}. ${spokenText(rowsOf(spec.spoken ?? frame), spec)}`,
    spec: {
      data: { values: drawnRows(rows, spec) },
      ...('facet' in facets ? { ...facets, spec: inner } : inner),
    },
  });
}

/** The paper's own figures, as hollow points beside ours. */
function paperLayer(
  { field, sort, color, shape }: Series,
  x: VegaLiteSpec,
  y: VegaLiteSpec,
): VegaLiteSpec {
  return {
    transform: [{ filter: 'isValid(datum.paper)' }],
    mark: { type: 'point', filled: false, size: 55, opacity: 0.7 },
    encoding: { x, xOffset: { field, sort }, y: { ...y, field: 'paper' }, color, shape },
  };
}

/** What a model predicts, as dashed lines. */
const predictedLayer = ({ color }: Series, x: VegaLiteSpec, y: VegaLiteSpec): VegaLiteSpec => ({
  mark: { type: 'line', strokeDash: [4, 3], opacity: 0.8 },
  encoding: { x, y: { ...y, field: 'predicted' }, color },
});

/**
 * Points with intervals by the values of a field, side by side for each of a series;
 * where the frame has the paper's figures (`paper`), they are hollow points, and where it
 * has what a model predicts (`predicted`), that is a dashed line.
 */
export function intervalChart(frame: Rows, spec: ChartSpec): Chart {
  const rows = rowsOf(frame);
  const isPlainShare = rows.length > 0 && isShare(str(rows[0].metric)) && !('kind' in rows[0]);
  const longestLabel = Math.max(
    0,
    ...rows.map((row) => String(labelOf(spec.x, row[spec.x])).length),
  );
  const series = new Set(rows.map((row) => row[spec.color])).size;
  // Points of a value of x stand at least this far apart, and farther where few of them
  // leave its label no room.
  const step = Math.max(17, Math.min(68, 6 * longestLabel) / series);
  const has = (field: string): boolean => rows.some((row) => typeof row[field] === 'number');
  return drawn(frame, spec, {
    draw: (series, x, y) => [
      ...(has('predicted') ? [predictedLayer(series, x, y)] : []),
      ...intervalLayers(series, x, y),
      ...(has('paper') ? [paperLayer(series, x, y)] : []),
    ],
    x: xAxis(rows, spec),
    scale: isPlainShare && !spec.zoomed ? { domain: [0, 1] } : { zero: !spec.zoomed },
    width: { step },
    height: 200,
  });
}

interface BandOptions {
  interpolate?: 'linear' | 'step-after';
  /**
   * Equal ratios, not equal differences, lie equally far apart on the horizontal axis.
   */
  log?: boolean;
  /** A value on the horizontal axis that a vertical line marks. */
  mark?: number;
  /** Marks every value with a point. */
  points?: boolean;
  /** False leaves out the legend, for a single line. */
  legend?: boolean;
}

/**
 * Lines over a quantity, such as steps of training, in bands from `low` to `high` where
 * the frame has these.
 */
export function bandChart(
  frame: Rows,
  { interpolate, log = false, mark, points, legend, ...spec }: ChartSpec & BandOptions,
): Chart {
  const title = spec.xTitle ?? titled('Training', 'GRPO steps');
  const x = {
    field: spec.x,
    type: 'quantitative',
    title,
    ...(log ? { scale: { type: 'log' } } : {}),
    ...(spec.x === 'step' ? { axis: { tickMinStep: 1 } } : {}),
  };
  const hasBand = columnsOf(frame).includes('low');
  const rule = (xAxis: VegaLiteSpec): VegaLiteSpec => ({
    mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
    encoding: { x: { ...xAxis, field: undefined, datum: mark } },
  });
  return drawn(frame, spec, {
    draw: (series, xAxis, y) => [
      ...bandLayers(series, xAxis, y, { interpolate, points, legend }).slice(hasBand ? 0 : 1),
      ...(mark === undefined ? [] : [rule(xAxis)]),
    ],
    x,
    scale: { zero: false },
    width: 300,
    height: 190,
  });
}

/** Lines with points over the values of a field. */
export function lineChart(frame: Rows, spec: ChartSpec): Chart {
  return drawn(frame, spec, {
    draw: lineLayers,
    x: { ...xAxis(rowsOf(frame), spec), type: 'ordinal' },
    scale: { zero: false },
    width: 320,
    height: 200,
  });
}
