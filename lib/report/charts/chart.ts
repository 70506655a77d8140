/** Charts of data frames, as Vega-Lite specifications. */
import { extent, flatGroup, sort } from 'd3-array';
import { plural } from '../../text/english.js';
import { listColumns, toRows, type Row, type Rows } from '../frame.js';
import { figureText } from '../text.js';
import {
  metricDecimals,
  fieldTitle,
  isShare,
  metricInfo,
  valueTitle,
  distinctValues,
} from '../titles.js';
import { highlightLines } from './lines.js';
import { columnName, escapedTitle, fieldName } from './readable.js';
import { seriesChannels } from './series.js';
import { type VegaLiteSpec, type Chart, createChart } from './spec.js';

/** Subtitle of charts with results of the small world. */
export const SMALL_WORLD_NOTE = 'Small world: levels are not comparable with the paper’s';

export const axisTitle = (title: string, unit: string): string => `${title} (${unit})`;

export interface ChartSpec {
  title: string;
  /** Default: {@link SMALL_WORLD_NOTE} if there are figures of the paper, else none. */
  subtitle?: string;
  /** Field on the horizontal axis. */
  x: string;
  /** Title of the horizontal axis, with the unit of a quantity. Default: the field's. */
  xTitle?: string;
  /** Title and unit of the vertical axis. Default: the metric's. */
  yTitle?: string;
  /** Field shown by colour and shape. */
  color: string;
  /** Fields with a panel per value: one below another, side by side. */
  row?: string;
  column?: string;
  /** Field with a panel per value, two per line, each with its own vertical scale. */
  panel?: string;
  /** Rows for the text alternative. Default: all, with only the ends of long series. */
  spoken?: Rows;
  width?: number;
  height?: number;
  /** Fits the axis to the values. Default: shares run from 0 to 1. */
  zoomed?: boolean;
  /** Lists the categories of an interval chart vertically, for long names. */
  isHorizontal?: boolean;
}

export const POINT = { type: 'point', filled: true, size: 55, opacity: 1 };

/**
 * Draws points with intervals (`value`, `low`, `high`), with series side by side. Values
 * of the paper (`paper`) are hollow points, those of a model (`predicted`) dashed lines.
 */
export function intervalChart(frame: Rows, spec: ChartSpec): Chart {
  const rows = toRows(frame);
  const isPlainShare = rows.length > 0 && isShare(String(rows[0].metric)) && !('kind' in rows[0]);
  const has = (field: string): boolean => rows.some((row) => typeof row[field] === 'number');
  const { color, shape, xOffset, y } = channels(rows, spec);
  y.scale = isPlainShare && !spec.zoomed ? shareScale(rows) : { zero: !spec.zoomed };
  const x = categories(rows, spec);
  const at = { x, xOffset, color };
  const isSmall = rows.some(({ value, low, high }) =>
    [value, low, high].some((x) => typeof x === 'number' && x !== 0 && Math.abs(x) < 5e-4),
  );
  const number = { type: 'quantitative', format: isSmall ? '.4~g' : '.3f' };
  const tooltip = [
    { field: fieldName(spec.color), ...escapedTitle(spec.color) },
    ...['value', 'low', 'high'].map((field) => ({ field, ...number })),
    ...(has('n') ? [{ field: 'n' }] : []),
  ];
  const predicted = {
    mark: { type: 'line', strokeDash: [4, 3], opacity: 0.8 },
    encoding: { x, y: { ...y, field: 'predicted' }, color },
  };
  const paper = {
    transform: [{ filter: 'isValid(datum.paper)' }],
    mark: { type: 'point', filled: false, size: 55, opacity: 0.7 },
    encoding: { ...at, y: { ...y, field: 'paper' }, shape },
  };
  const layer = [
    ...(has('predicted') ? [predicted] : []),
    {
      mark: { type: 'rule', strokeWidth: 2 },
      encoding: { ...at, y: { ...y, field: 'low' }, y2: { field: 'high' } },
    },
    { mark: POINT, encoding: { ...at, y: { ...y, field: 'value' }, shape, tooltip } },
    ...(has('paper') ? [paper] : []),
  ];
  return panelChart(
    rows,
    spec,
    spec.isHorizontal
      ? { width: 260, height: { step: 17 }, layer: layer.map(swapAxes) }
      : { width: { step: pointDistance(rows, spec) }, height: 200, layer },
  );
}

/** From 0 to 1, and further for values beyond, such as percentages. */
function shareScale(rows: readonly Row[]): { domain: unknown } {
  const drawn = rows.flatMap(({ value, low, high, paper }) => [value, low, high, paper]);
  const numbers = drawn.filter((value) => typeof value === 'number').filter(Number.isFinite);
  return { domain: extent([0, 1, ...numbers]) };
}

function swapAxes({ encoding, ...layer }: VegaLiteSpec): VegaLiteSpec {
  const { x, y, y2, xOffset, ...rest } = encoding as Record<string, VegaLiteSpec | undefined>;
  const names = { ...x, axis: { labelLimit: LABEL_WIDTH } };
  const spans = { ...(xOffset && { yOffset: xOffset }), ...(y2 && { x2: y2 }) };
  return { ...layer, encoding: { ...rest, x: y, y: names, ...spans } };
}

/** Pixels between points; more if few points share a long label or a panel's title. */
function pointDistance(rows: readonly Row[], { x, color, column }: ChartSpec): number {
  const count = (field: string): number => new Set(rows.map((row) => row[field])).size;
  const longest = (field: string): number =>
    Math.max(0, ...rows.map((row) => String(valueLabel(field, row[field])).length));
  const header = column ? (7 * longest(column)) / (count(x) * count(color)) : 0;
  const label = longest(x) > 14 ? 96 : Math.min(68, 6 * longest(x));
  return Math.max(17, header, label / count(color));
}

/** Pixels per panel, and between ticks whose labels must not touch. */
const [BAND_WIDTH, TICK_DISTANCE] = [300, 50];

/** Whether a number may be a year: 2019, not 2,019. */
const isYear = (value: Row[string]): boolean => Number(value) >= 1000 && Number(value) < 10_000;

interface LineOptions {
  interpolate?: 'linear' | 'step-after';
  /** Whether the horizontal axis is logarithmic. */
  log?: boolean;
  /** A value on the horizontal axis to mark with a vertical line. */
  mark?: number;
  /** Whether to mark values with points. Default: over names, or if some are missing. */
  points?: boolean;
  /** False hides the legend. */
  legend?: boolean;
  /** Values of `color` whose lines stand out; the others are grey. Default: all. */
  highlight?: readonly string[];
}

/**
 * Draws lines over a quantity, such as steps, or over names; with a band if rows have
 * `low`, `high`.
 */
export function lineChart(frame: Rows, spec: ChartSpec & LineOptions): Chart {
  const { interpolate = 'linear', log, mark, points, legend = true, highlight = [] } = spec;
  const rows = toRows(frame);
  const { color, strokeDash, y } = channels(rows, spec);
  // Panels with different scales hide how small a difference is.
  if (spec.panel && !spec.zoomed && rows.every(({ metric }) => isShare(String(metric))))
    y.scale = shareScale(rows);
  const drawn = rows.flatMap((row) => [row.value, row.low, row.high]);
  const [low, high] = extent(drawn.filter((value) => typeof value === 'number'));
  // A flat line: around a single value, an axis would have no ticks.
  if (low !== undefined && low === high)
    y.scale = { domain: low === 0 ? [0, 1] : sort([0, 1.25 * low]) };
  const tickCount = Math.floor((spec.width ?? BAND_WIDTH) / TICK_DISTANCE);
  const places = rows.map((row) => row[spec.x]).filter(Number.isFinite);
  const quantity = {
    field: fieldName(spec.x),
    type: 'quantitative',
    title: spec.xTitle ?? axisTitle('Training', 'GRPO steps'),
    ...(log && { scale: { type: 'log' } }),
    // Steps are whole, also where a point stands for the middle of several.
    ...((spec.x === 'step' || places.every(Number.isInteger)) && {
      axis: {
        tickMinStep: 1,
        ...(spec.x === 'step' && { tickCount }),
        ...(places.every(isYear) && { format: 'd' }),
      },
    }),
  };
  const isNames = rows.some((row) => typeof row[spec.x] === 'string');
  // No line reaches a value between missing ones.
  const hasGaps = rows.some(({ value }) => !Number.isFinite(value));
  const wrong = rows.find(({ [spec.x]: at }) => at !== null && !/number|string/.test(typeof at));
  if (wrong)
    throw new TypeError(
      `Expected numbers or texts in the field ${spec.x} of the chart "${spec.title}", but got ${String(wrong[spec.x])}.`,
    );
  const x = isNames ? { ...categories(rows, spec), type: 'ordinal' } : quantity;
  const stroke = { symbolType: 'stroke', symbolOpacity: 1, symbolStrokeWidth: 3 };
  const at = { x, color: { ...color, legend: legend ? stroke : null } };
  const band = {
    mark: { type: 'area', opacity: 0.22, interpolate },
    encoding: { ...at, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  };
  const rule = {
    mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
    encoding: { x: { ...x, field: undefined, datum: mark } },
  };
  const values = distinctValues(spec.color, rows);
  const names = highlight.filter((value) => values.includes(value));
  const numOthers = names.length > 0 ? values.length - names.length : 0;
  const grey = numOthers > 0 ? `${plural(numOthers, 'other')} in grey` : '';
  const numLeftOut = isNames ? 0 : rows.length - places.length;
  const leftOut = numLeftOut > 0 ? `${plural(numLeftOut, 'row')} without ${spec.x} not shown` : '';
  const subtitle = [spec.subtitle, grey, leftOut].filter(Boolean).join('; ') || undefined;
  const chart = panelChart(
    rows,
    { ...spec, subtitle },
    {
      width: BAND_WIDTH,
      height: 190,
      layer: [
        ...(listColumns(frame).includes('low') ? [band] : []),
        {
          mark: {
            type: 'line',
            strokeWidth: 2,
            interpolate,
            point: points ?? (isNames || hasGaps || undefined),
          },
          encoding: {
            ...at,
            y: { ...y, field: 'value' },
            strokeDash: { ...strokeDash, ...(!legend && { legend: null }) },
          },
        },
        ...(mark === undefined ? [] : [rule]),
      ],
    },
  );
  if (names.length === 0) return chart;
  const titles = names.map((value) => valueTitle(spec.color, value));
  return { ...chart, spec: highlightLines(chart.spec, titles) };
}

/** The encodings that the charts of one metric share. */
function channels(rows: readonly Row[], spec: ChartSpec) {
  const { title, unit } = rowsMetric(rows, spec);
  requireColumns(rows, spec);
  const y: VegaLiteSpec = {
    type: 'quantitative',
    title: spec.yTitle ?? axisTitle(title, unit),
    scale: { zero: false },
  };
  return { ...seriesChannels(spec.color, distinctValues(spec.color, rows).map(String)), y };
}

/** @throws Error naming a field that no row has, for which Vega would draw `undefined` */
function requireColumns(rows: readonly Row[], { title, ...spec }: ChartSpec): void {
  const { x, color, row, column, panel } = spec;
  const optional = Object.entries({ row, column, panel }).filter(
    ([, field]) => field !== undefined,
  );
  for (const [name, field = ''] of [...Object.entries({ x, color }), ...optional])
    if (!field || !rows.some((one) => Object.hasOwn(one, field)))
      throw new Error(
        `Expected ${name} of the chart "${title}" to be one of ${listColumns(rows).join(', ')}, but got ${field || 'none'}.`,
      );
}

/**
 * The single metric of the rows; several on the horizontal axis share the title `yTitle`.
 * @throws Error if the rows have none, or several otherwise
 */
function rowsMetric(rows: readonly Row[], { title, x, yTitle }: ChartSpec) {
  if (x === 'metric' && yTitle) return { title: yTitle, unit: '' };
  const metrics = [...new Set(rows.map(({ metric }) => String(metric)))];
  if (metrics.length === 1) return metricInfo(metrics[0]);
  throw new Error(
    `Expected rows of one metric for the chart "${title}", but got ${metrics.join(', ') || 'no rows'}.`,
  );
}

/** Maximum label width in pixels; Vega cuts longer ones. */
const LABEL_WIDTH = 320;

/** A horizontal axis with the values of a field in order. */
function categories(rows: readonly Row[], { x, xTitle }: ChartSpec): VegaLiteSpec {
  const sort = distinctValues(x, rows).map((value) => valueLabel(x, value));
  const isLong = Math.max(...sort.map((value) => String(value).length)) > 16;
  const axis = { labelAngle: isLong ? -25 : 0, labelLimit: LABEL_WIDTH };
  return {
    field: fieldName(x),
    type: 'nominal',
    sort,
    title: xTitle ?? fieldTitle(columnName(x)),
    axis,
  };
}

/** The label of a value without what the axis title says: `compares 2` becomes 2. */
const valueLabel = (field: string, value: Row[string]): Row[string] =>
  typeof value === 'number' ? value : valueTitle(field, value).replace(/^compares /, '');

/** Fields that charts draw as numbers. */
const QUANTITIES = ['value', 'low', 'high', 'n', 'paper', 'predicted', 'minutes'];

/** A chart with a panel per value of `row`, `column` or `panel`, or a single panel. */
function panelChart(
  rows: readonly Row[],
  spec: ChartSpec,
  view: { width: number | VegaLiteSpec; height: number | VegaLiteSpec; layer: VegaLiteSpec[] },
): Chart {
  const { x, color, row, column, panel, width = view.width, height = view.height } = spec;
  const titled = [row, column, panel].filter((field) => field !== undefined);
  const values = rows.map((one) => ({
    ...Object.fromEntries(
      [x, color].map((field) => [columnName(field), valueLabel(field, one[field])]),
    ),
    ...Object.fromEntries(
      titled.map((field) => [columnName(field), valueTitle(field, one[field])]),
    ),
    ...Object.fromEntries(QUANTITIES.flatMap((name) => (name in one ? [[name, one[name]]] : []))),
  }));
  const inner = { width, height, layer: view.layer.map((one) => withLines(one, height)) };
  const hasPaper = rows.some(({ paper }) => typeof paper === 'number');
  const facets = panels(rows, spec);
  return createChart({
    title: spec.title,
    subtitle: spec.subtitle ?? (hasPaper ? SMALL_WORLD_NOTE : ''),
    alt: `${rowsMetric(rows, spec).title}. ${spokenText(toRows(spec.spoken ?? rows), spec)}`,
    spec: { data: { values }, ...(facets ? { ...facets, spec: inner } : inner) },
  });
}

/** Pixels per letter of an axis title. */
const TITLE_LETTER = 6.5;

/** Breaks a vertical title into two lines if it is longer than the axis. */
function withLines({ encoding, ...layer }: VegaLiteSpec, height: unknown): VegaLiteSpec {
  const channels = encoding as { y?: VegaLiteSpec };
  const [, name, unit] = /^(.+) (\(.+\))$/.exec(String(channels.y?.title)) ?? [];
  const letters = typeof height === 'number' ? height / TITLE_LETTER : Infinity;
  if (!unit || name.length + 1 + unit.length <= letters) return { ...layer, encoding };
  return { ...layer, encoding: { ...channels, y: { ...channels.y, title: [name, unit] } } };
}

/** A panel per value of a field, in order. */
export const facet = (field: string, rows: readonly Row[]): VegaLiteSpec => ({
  field: fieldName(field),
  sort: distinctValues(field, rows).map((value) => valueTitle(field, value)),
});

function panels(rows: readonly Row[], { row, column, panel }: ChartSpec): VegaLiteSpec | null {
  if (panel) {
    const resolve = { scale: { y: 'independent' }, axis: { x: 'independent' } };
    return { facet: { ...facet(panel, rows), type: 'nominal' }, columns: 2, resolve };
  }
  if (!row && !column) return null;
  const header = { labelOrient: 'top', labelAnchor: 'start', labelAngle: 0 };
  return {
    facet: {
      ...(row && { row: { ...facet(row, rows), ...(!column && { header }) } }),
      ...(column && { column: facet(column, rows) }),
    },
  };
}

/** Maximum number of values that a text alternative lists in full. */
const MAX_SPOKEN_ROWS = 16;

/**
 * The values in words, by panel and series: `base: Search-R1 0.512 (NQ), 0.391
 * (HotpotQA); R1 ...`. If there are many, only the first and last of each series.
 */
function spokenText(rows: readonly Row[], { x, color, row, column, panel }: ChartSpec): string {
  const listsAll = rows.length <= MAX_SPOKEN_ROWS;
  const titles = (fields: readonly string[]) => (one: Row) =>
    fields.map((field) => valueTitle(field, one[field])).join(', ');
  const valueText = (one: Row): string => {
    const value = figureText(one.value as number, metricDecimals(String(one.metric), one.value));
    const place = x === 'step' ? `step ${String(one[x])}` : valueTitle(x, one[x]);
    return x in one && x !== color ? `${value} (${place})` : value;
  };
  const seriesText = ([name, points]: [string, Row[]]): string =>
    listsAll || points.length === 1
      ? `${name} ${points.map(valueText).join(', ')}`
      : `${name} from ${valueText(points[0])} to ${valueText(points.at(-1)!)}`;
  const panelTitle = titles([row, column, panel].filter((field) => field !== undefined));
  return flatGroup(rows, panelTitle)
    .map(([name, panelRows]) => {
      const series = flatGroup(panelRows, titles([color])).map(seriesText);
      return `${name && `${name}: `}${series.join('; ')}.`;
    })
    .join(' ');
}
