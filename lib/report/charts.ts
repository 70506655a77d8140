/** Charts, declared by what stands on their axes and what is told apart: as Vega-Lite specifications over a data frame. */
import type { DataFrame } from 'danfojs-node';
import { chartOf, SMALL_WORLD, titled, type Chart, type VegaLiteSpec } from './chart.js';
import { rowsOf, type Row } from './frame.js';
import { decimalsOf, isShare, metricInfo } from './metrics.js';
import { bandLayers, intervalLayers, lineLayers, seriesOf, type Series } from './series.js';
import { figureText } from './text.js';
import { fieldTitle, inOrder, titleOf } from './titles.js';

export interface ChartSpec {
  title: string;
  /** Field on the horizontal axis. */
  x: string;
  /** Its title, with the unit in parentheses where it is a quantity; default the field's. */
  xTitle?: string;
  /** Field that is told apart by colour and shape. */
  color: string;
  /** Fields that have a panel for each of their values. */
  row?: string;
  column?: string;
  /** Field that has a panel for each of its values, two beside each other, each with a vertical scale of its own. */
  panel?: string;
  /** Under the title; default says that all is of a small world. */
  subtitle?: string;
  /** Of the vertical axis, in place of the metric's title and unit. */
  yTitle?: string;
  /** Rows that are told in words; default the whole frame, of which the ends are told where it is long. */
  spoken?: DataFrame;
  width?: number;
  height?: number;
}

/** Rows that are told in words at the most. */
const MOST_SPOKEN = 16;

const str = (value: Row[string] | undefined): string => String(value);

/** The layers of a chart and the horizontal axis that they need. */
type Draw = (series: Series, x: VegaLiteSpec, y: VegaLiteSpec) => VegaLiteSpec[];

/** `Search-R1, base, NQ: 0.512` for every row, or where there are many, for the last of each series and panel. */
function spokenText(rows: readonly Row[], { x, color, row, column, panel }: ChartSpec): string {
  const fields = [color, row, column, panel].filter((field) => field !== undefined);
  const nameOf = (one: Row): string => fields.map((field) => titleOf(field, one[field])).join(', ');
  const value = (one: Row): string => figureText(one.value as number, decimalsOf(str(one.metric), one.value));
  const at = (one: Row): string => (x in one ? `, ${titleOf(x, one[x])}` : '');
  if (rows.length <= MOST_SPOKEN)
    return rows.map((one) => `${nameOf(one)}${at(one)}: ${value(one)}`).join('; ');
  const series = groupRows(rows, nameOf);
  return [...series]
    .map(
      ([name, own]) =>
        `${name}: from ${value(own[0])} (${titleOf(x, own[0][x])}) to ${value(own.at(-1)!)} (${titleOf(x, own.at(-1)![x])})`,
    )
    .join('; ');
}

function groupRows(rows: readonly Row[], nameOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(nameOf(row), [...(groups.get(nameOf(row)) ?? []), row]);
  return groups;
}

/** The one metric of a frame. @throws Error when there is none, or more than one */
function metricOf(rows: readonly Row[], title: string): string {
  const metrics = [...new Set(rows.map(({ metric }) => str(metric)))];
  if (metrics.length === 1) return metrics[0];
  throw new Error(
    `Expected rows of one metric for the chart "${title}", but got ${metrics.length === 0 ? 'no rows' : metrics.join(', ')}.`,
  );
}

/** Values with readable names, in the order of their fields. */
function valuesOf(rows: readonly Row[], { x, color, row, column, panel }: ChartSpec): Row[] {
  const named = [x, color, row, column, panel].filter((field) => field !== undefined);
  return rows.map((one) => ({
    ...Object.fromEntries(
      named.map((field) => [field, typeof one[field] === 'number' ? one[field] : titleOf(field, one[field])]),
    ),
    ...Object.fromEntries(
      ['value', 'low', 'high', 'n', 'paper', 'predicted']
        .filter((name) => name in one)
        .map((name) => [name, one[name]]),
    ),
  }));
}

/** What makes panels of a chart: a facet for fields, and how they share scales. */
function panels(rows: readonly Row[], { row, column, panel }: ChartSpec): VegaLiteSpec | null {
  const facet = (field: string): VegaLiteSpec => ({
    field,
    sort: inOrder(
      field,
      rows.map((one) => str(one[field])),
    ).map((value) => titleOf(field, value)),
  });
  const header = { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 };
  if (panel) {
    const resolve = { scale: { y: 'independent' }, axis: { x: 'independent' } };
    return { facet: { ...facet(panel), type: 'nominal' }, columns: 2, resolve };
  }
  if (!row && !column) return null;
  return {
    facet: {
      ...(row ? { row: { ...facet(row), ...(column ? {} : { header }) } } : {}),
      ...(column ? { column: facet(column) } : {}),
    },
  };
}

/** The horizontal axis: the field's values in order. */
function xAxis(rows: readonly Row[], { x, xTitle }: ChartSpec): VegaLiteSpec {
  const title = xTitle ?? fieldTitle(x);
  const values = inOrder(
    x,
    rows.map((one) => one[x]),
  );
  const sort = values.map((value) => (typeof value === 'number' ? value : titleOf(x, value)));
  const isLong = Math.max(...sort.map((value) => String(value).length)) > 16;
  return { field: x, type: 'nominal', sort, title, axis: { labelAngle: isLong ? -25 : 0 } };
}

interface Drawing {
  draw: Draw;
  x: VegaLiteSpec;
  /** Of the vertical axis. */
  scale: VegaLiteSpec;
  width: number | VegaLiteSpec;
  height: number;
}

function drawn(frame: DataFrame, spec: ChartSpec, { draw, x, scale, width, height }: Drawing): Chart {
  const rows = rowsOf(frame);
  const metric = metricOf(rows, spec.title);
  const { title: name, unit } = metricInfo(metric);
  const values = inOrder(
    spec.color,
    rows.map((one) => str(one[spec.color])),
  );
  const y = { type: 'quantitative', title: spec.yTitle ?? titled(name, unit), scale };
  const layer = draw(seriesOf(spec.color, values), x, y);
  const facets = panels(rows, spec);
  const inner = { width: spec.width ?? width, height: spec.height ?? height, layer };
  return chartOf({
    title: spec.title,
    subtitle: spec.subtitle ?? SMALL_WORLD,
    alt: `${name}. ${spokenText(rowsOf(spec.spoken ?? frame), spec)}.`,
    spec: { data: { values: valuesOf(rows, spec) }, ...(facets ? { ...facets, spec: inner } : inner) },
  });
}

/** The paper's own figures, as hollow points beside ours. */
function paperLayer({ field, sort, color, shape }: Series, x: VegaLiteSpec, y: VegaLiteSpec): VegaLiteSpec {
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
 * Points with intervals by the values of a field, side by side for each of a series; where the frame has the paper's figures
 * (`paper`), they are hollow points, and where it has what a model predicts (`predicted`), that is a dashed line.
 */
export function intervalChart(frame: DataFrame, spec: ChartSpec): Chart {
  const rows = rowsOf(frame);
  const isPlainShare = rows.length > 0 && isShare(str(rows[0].metric)) && !('kind' in rows[0]);
  const longestLabel = Math.max(0, ...rows.map((row) => String(titleOf(spec.x, row[spec.x])).length));
  const series = new Set(rows.map((row) => row[spec.color])).size;
  // Points of a value of x stand at least this far apart, and farther where few of them leave its label no room.
  const step = Math.max(17, Math.min(68, 6 * longestLabel) / series);
  const has = (field: string): boolean => rows.some((row) => typeof row[field] === 'number');
  return drawn(frame, spec, {
    draw: (series, x, y) => [
      ...(has('predicted') ? [predictedLayer(series, x, y)] : []),
      ...intervalLayers(series, x, y),
      ...(has('paper') ? [paperLayer(series, x, y)] : []),
    ],
    ...{ x: xAxis(rows, spec), scale: isPlainShare ? { domain: [0, 1] } : { zero: true } },
    ...{ width: { step }, height: 200 },
  });
}

interface BandOptions {
  interpolate?: 'linear' | 'step-after';
  /** Equal ratios, not equal differences, lie equally far apart on the horizontal axis. */
  log?: boolean;
  /** A value on the horizontal axis that a vertical line marks. */
  mark?: number;
}

/** Lines over a quantity, such as steps of training, in bands from `low` to `high` where the frame has these. */
export function bandChart(
  frame: DataFrame,
  { interpolate, log = false, mark, ...spec }: ChartSpec & BandOptions,
): Chart {
  const title = spec.xTitle ?? titled('Training', 'GRPO steps');
  const x = { field: spec.x, type: 'quantitative', title, ...(log ? { scale: { type: 'log' } } : {}) };
  const hasBand = frame.columns.includes('low');
  const rule = (xAxis: VegaLiteSpec): VegaLiteSpec => ({
    mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
    encoding: { x: { ...xAxis, field: undefined, datum: mark } },
  });
  return drawn(frame, spec, {
    draw: (series, xAxis, y) => [
      ...bandLayers(series, xAxis, y, interpolate).slice(hasBand ? 0 : 1),
      ...(mark === undefined ? [] : [rule(xAxis)]),
    ],
    ...{ x, scale: { zero: false }, width: 300, height: 190 },
  });
}

/** Lines with points over the values of a field. */
export function lineChart(frame: DataFrame, spec: ChartSpec): Chart {
  return drawn(frame, spec, {
    ...{ draw: lineLayers, x: { ...xAxis(rowsOf(frame), spec), type: 'ordinal' } },
    ...{ scale: { zero: false }, width: 320, height: 200 },
  });
}
