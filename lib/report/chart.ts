/** Charts of data frames, as Vega-Lite specifications. */
import { flatGroup } from 'd3-array';
import { highlightLines } from '../html/browser/lines.js';
import type { TableCells } from '../html/table.js';
import { listColumns, toRows, type Row, type Rows } from './frame.js';
import { figureText } from './text.js';
import {
  metricDecimals,
  fieldTitle,
  isShare,
  metricInfo,
  valueTitle,
  distinctValues,
} from './titles.js';

/**
 * A Vega-Lite specification as JSON, within what versions 5 (JupyterLab 4) and 6 share.
 */
export type VegaLiteSpec = Record<string, unknown>;

export interface Chart {
  kind: 'chart';
  title: string;
  /** The content in words, for readers who cannot see the chart. */
  alt: string;
  spec: VegaLiteSpec;
}

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v5.json';

const CONFIG = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: { labelFontSize: 11, titleFontSize: 12, gridOpacity: 0.6, titleFontWeight: 'normal' },
  legend: { labelFontSize: 12, titleFontSize: 12, labelLimit: 260, titleLimit: 260 },
  header: { labelFontSize: 12, labelFontWeight: 'bold', title: null },
};

/** Subtitle of charts of results in the small world. */
export const SMALL_WORLD_NOTE = 'Small world: levels are not comparable with the paper’s';

/**
 * Makes a chart from a specification. The title goes into the drawing, the text
 * alternative into its description.
 * @throws Error if a title, the text alternative, an axis title or a unit is missing
 */
export function createChart({
  title,
  subtitle,
  alt,
  spec,
}: Omit<Chart, 'kind'> & { subtitle?: string }): Chart {
  const missing = missingTexts({ title, alt, spec });
  if (missing.length > 0)
    throw new Error(`Expected the chart "${title}" to have ${missing.join(', ')}.`);
  const heading = {
    text: title,
    anchor: 'start',
    fontSize: 14,
    offset: 12,
    ...(subtitle && { subtitle, subtitleFontSize: 11 }),
  };
  const texts = { $schema: SCHEMA, title: heading, description: alt };
  return { kind: 'chart', title, alt, spec: { ...texts, config: CONFIG, ...spec } };
}

/** The texts that a chart lacks. Layers share an axis, so one of them must name it. */
function missingTexts({ title, alt, spec }: Omit<Chart, 'kind'>): string[] {
  const missing: string[] = [];
  if (title.trim() === '') missing.push('a title');
  if (alt.trim() === '' || alt.trim() === title.trim())
    missing.push('a text alternative that differs from the title');
  const encodings = valuesUnder('encoding', spec) as Record<string, VegaLiteSpec | undefined>[];
  for (const channel of ['x', 'y']) {
    const axes = encodings.flatMap(({ [channel]: axis }) =>
      axis && 'field' in axis ? [axis] : [],
    );
    const titled = axes.flatMap(({ type, title: lines }) => {
      const name = [lines].flat().join(' ').trim();
      return name === '' ? [] : [{ type, name }];
    });
    if (axes.length > 0 && titled.length === 0) missing.push(`a title of the ${channel} axis`);
    for (const { type, name } of titled)
      if (type === 'quantitative' && !/\(.+\)$/.test(name))
        missing.push(`a unit at the end of the ${channel} axis title, "${name} (unit)"`);
  }
  return [...new Set(missing)];
}

/** All values under a key anywhere in a specification, except within its data. */
export function valuesUnder(key: string, spec: unknown): unknown[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec).flatMap(([name, inner]: [string, unknown]) => {
    if (name === key) return [inner];
    return name === 'data' ? [] : valuesUnder(key, inner);
  });
}

/** Any Vega-Lite specification as a chart, unchecked. */
export function wrapSpec(spec: VegaLiteSpec): Chart {
  const { text = spec.title } = (spec.title ?? {}) as { text?: unknown };
  const title = typeof text === 'string' ? text : 'Chart';
  const alt = typeof spec.description === 'string' ? spec.description : title;
  return { kind: 'chart', title, alt, spec: { $schema: SCHEMA, ...spec } };
}

/** The data of a chart as a table, in full precision. */
export function chartData(spec: VegaLiteSpec, caption: string): TableCells {
  const rows = (valuesUnder('data', spec) as ({ values?: unknown[] } | null)[])
    .flatMap((data) => data?.values ?? [])
    // Vega-Lite calls the field of a bare value `data`.
    .map((value) => (typeof value === 'object' && value !== null ? value : { data: value }) as Row);
  const columns = listColumns(rows);
  const text = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value);
  return { caption, columns, rows: rows.map((row) => columns.map((c) => text(row[c] ?? ''))) };
}

/** An axis title with its unit. */
export const axisTitle = (title: string, unit: string): string => `${title} (${unit})`;

interface Style {
  color: string;
  /** A shape of Vega, or an SVG path. */
  shape: string;
}

const HEXAGON = 'M-.5,-.87L.5,-.87L1,0L.5,.87L-.5,.87L-1,0Z';

/**
 * Methods look the same in every chart. All colours can be told apart by colour-blind
 * readers and have a contrast of at least 3 on white and on black; shapes repeat them.
 */
const METHOD_STYLES: Readonly<Record<string, Style>> = {
  lookup: { color: '#6c757d', shape: 'cross' },
  r1: { color: '#8a8a8a', shape: 'square' },
  'r1:trained': { color: '#6f6f7f', shape: 'square' },
  'untrained:search-r1': { color: '#7d90a5', shape: 'circle' },
  'untrained:parallel': { color: '#b08468', shape: 'diamond' },
  'untrained:drill': { color: '#8c8c5a', shape: 'triangle-up' },
  demonstrations: { color: '#7a7a7a', shape: 'stroke' },
  sft: { color: '#c94a87', shape: 'wedge' },
  'rejection-sampling': { color: '#a0623d', shape: 'arrow' },
  otc: { color: '#8e5bb5', shape: 'triangle-left' },
  'otc:ppo': { color: '#a679c9', shape: 'triangle-left' },
  stepsearch: { color: '#2a8f5f', shape: 'triangle-right' },
  'stepsearch:grpo': { color: '#5b9a3c', shape: 'triangle-right' },
  zerosearch: { color: '#c2843a', shape: HEXAGON },
  'zerosearch:simulator': { color: '#a98a5a', shape: HEXAGON },
  'search-r1': { color: '#2b86c5', shape: 'circle' },
  'search-r1:b4': { color: '#4f9bb8', shape: 'triangle-down' },
  'search-r1:ppo': { color: '#4a78d0', shape: 'circle' },
  'search-r1-parallel-prompt': { color: '#b98a00', shape: 'triangle-up' },
  parallelsearch: { color: '#d95f02', shape: 'diamond' },
  'parallelsearch:ppo': { color: '#c77f2a', shape: 'diamond' },
  'parallelsearch:released-code': { color: '#b8452a', shape: 'diamond' },
};

/** Styles of other values, in turn. */
export const STYLES: readonly Style[] = [
  { color: '#d95f02', shape: 'diamond' },
  { color: '#2b86c5', shape: 'circle' },
  { color: '#8a8a8a', shape: 'square' },
  { color: '#8e5bb5', shape: 'triangle-up' },
  { color: '#1a936f', shape: 'cross' },
  { color: '#c94a87', shape: 'triangle-down' },
  { color: '#5b8c00', shape: 'triangle-right' },
  { color: '#a0623d', shape: 'triangle-left' },
];

const FIELD_STYLES: Readonly<Record<string, Readonly<Record<string, Style | undefined>>>> = {
  method: METHOD_STYLES,
  model: { base: STYLES[3], instruct: STYLES[4], hasty: STYLES[5] },
};

/** Dashes of lines; the last line of a chart is solid. */
const DASHES = [
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [1, 3],
];

/** A field for Vega-Lite, which takes dots and brackets for paths into an object. */
const fieldName = (field: string): string => field.replace(/[\\.[\]'"]/g, '\\$&');

/** Colour, shape, dashes and offset of the values of a field, in one legend. */
export function seriesChannels(field: string, values: readonly string[]) {
  const fixed = values.map((value) => FIELD_STYLES[field]?.[value]);
  const free = STYLES.filter(({ color }) => !fixed.some((style) => style?.color === color));
  const styles = fixed.map((style, i) => style ?? free[i % free.length]);
  const domain = values.map((value) => valueTitle(field, value));
  const name = fieldName(field);
  const channel = { field: name, type: 'nominal', title: fieldTitle(field) };
  return {
    color: { ...channel, scale: { domain, range: styles.map(({ color }) => color) } },
    shape: { ...channel, scale: { domain, range: styles.map(({ shape }) => shape) } },
    strokeDash: {
      ...channel,
      scale: {
        domain,
        range: domain.map((_, i) => (i < domain.length - 1 ? DASHES[i % DASHES.length] : [1, 0])),
      },
    },
    xOffset: { field: name, sort: domain },
  };
}

export interface ChartSpec {
  title: string;
  /** Subtitle; default {@link SMALL_WORLD_NOTE} with figures of the paper, else none. */
  subtitle?: string;
  /** Field of the horizontal axis. */
  x: string;
  /** Title of the horizontal axis, with the unit of a quantity; default the field's. */
  xTitle?: string;
  /** Title and unit of the vertical axis; default the metric's. */
  yTitle?: string;
  /** Field shown by colour and shape. */
  color: string;
  /** Fields with a panel per value, side by side or below each other. */
  row?: string;
  column?: string;
  /** Field with a panel per value, two per line, each with its own vertical scale. */
  panel?: string;
  /** Rows for the text alternative; default all, shortened to the ends of long series. */
  spoken?: Rows;
  width?: number;
  height?: number;
  /** Fits the vertical axis to the values; by default shares run from 0 to 1. */
  zoomed?: boolean;
}

const POINT = { type: 'point', filled: true, size: 55, opacity: 1 };

/**
 * Points with intervals (`value`, `low`, `high`), side by side per series. Values of the
 * paper (`paper`) are hollow points, those of a model (`predicted`) dashed lines.
 */
export function intervalChart(frame: Rows, spec: ChartSpec): Chart {
  const rows = toRows(frame);
  const isPlainShare = rows.length > 0 && isShare(String(rows[0].metric)) && !('kind' in rows[0]);
  const has = (field: string): boolean => rows.some((row) => typeof row[field] === 'number');
  const { color, shape, xOffset, y } = channels(rows, spec);
  y.scale = isPlainShare && !spec.zoomed ? { domain: [0, 1] } : { zero: !spec.zoomed };
  const x = categories(rows, spec);
  const at = { x, xOffset, color };
  const number = { type: 'quantitative', format: '.3f' };
  const tooltip = [
    { field: fieldName(spec.color) },
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
  return panelChart(rows, spec, {
    width: { step: pointDistance(rows, spec) },
    height: 200,
    layer: [
      ...(has('predicted') ? [predicted] : []),
      {
        mark: { type: 'rule', strokeWidth: 2 },
        encoding: { ...at, y: { ...y, field: 'low' }, y2: { field: 'high' } },
      },
      { mark: POINT, encoding: { ...at, y: { ...y, field: 'value' }, shape, tooltip } },
      ...(has('paper') ? [paper] : []),
    ],
  });
}

/** Pixels between points; more where few points share a long label or a panel's title. */
function pointDistance(rows: readonly Row[], { x, color, column }: ChartSpec): number {
  const count = (field: string): number => new Set(rows.map((row) => row[field])).size;
  const longest = (field: string): number =>
    Math.max(0, ...rows.map((row) => String(valueLabel(field, row[field])).length));
  const header = column ? (7 * longest(column)) / (count(x) * count(color)) : 0;
  return Math.max(17, header, Math.min(68, 6 * longest(x)) / count(color));
}

/** Pixels of a panel, and between ticks whose labels must not touch. */
const [BAND_WIDTH, TICK_DISTANCE] = [300, 50];

interface BandOptions {
  interpolate?: 'linear' | 'step-after';
  /** Logarithmic horizontal axis. */
  log?: boolean;
  /** A value on the horizontal axis, marked by a vertical line. */
  mark?: number;
  /** Marks every value with a point. */
  points?: boolean;
  /** False hides the legend. */
  legend?: boolean;
  /** Values of `color` whose lines stand out, if there are any; the others are grey. */
  highlight?: readonly string[];
}

/**
 * Lines over a quantity, such as training steps, with a band from `low` to `high` if the
 * frame has these columns.
 */
export function bandChart(
  frame: Rows,
  { interpolate = 'linear', log, mark, points, ...spec }: ChartSpec & BandOptions,
): Chart {
  const { legend = true, highlight = [] } = spec;
  const rows = toRows(frame);
  const { color, strokeDash, y } = channels(rows, spec);
  const x = {
    field: fieldName(spec.x),
    type: 'quantitative',
    title: spec.xTitle ?? axisTitle('Training', 'GRPO steps'),
    ...(log && { scale: { type: 'log' } }),
    ...(spec.x === 'step' && {
      axis: { tickMinStep: 1, tickCount: Math.floor((spec.width ?? BAND_WIDTH) / TICK_DISTANCE) },
    }),
  };
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
  const grey = numOthers > 0 ? `${numOthers} other${numOthers > 1 ? 's' : ''} in grey` : '';
  const subtitle = [spec.subtitle, grey].filter(Boolean).join('; ') || undefined;
  const chart = panelChart(
    rows,
    { ...spec, subtitle },
    {
      width: BAND_WIDTH,
      height: 190,
      layer: [
        ...(listColumns(frame).includes('low') ? [band] : []),
        {
          mark: { type: 'line', strokeWidth: 2, interpolate, point: points },
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

/** Lines with points over the values of a field. */
export function lineChart(frame: Rows, spec: ChartSpec): Chart {
  const rows = toRows(frame);
  const { color, shape, y } = channels(rows, spec);
  const x = { ...categories(rows, spec), type: 'ordinal' };
  const encoding = { x, y: { ...y, field: 'value' }, color };
  return panelChart(rows, spec, {
    width: 320,
    height: 200,
    layer: [
      { mark: { type: 'line', strokeWidth: 2 }, encoding },
      { mark: POINT, encoding: { ...encoding, shape } },
    ],
  });
}

interface StackedSpec extends Pick<ChartSpec, 'title' | 'subtitle' | 'yTitle'> {
  /** Field with a bar per value, in order. */
  y: string;
  /** What the length of a bar means, with the unit. */
  xTitle: string;
  /** Field with a panel per value. */
  panel: string;
  /** One horizontal scale for all panels. */
  shared?: boolean;
  /** Field of a value that a diamond marks on each bar. */
  mark?: string;
}

const PART_COLORS = ['#5b8fc7', '#d95f02', '#1b7a5a', '#9a7bb5', '#8a8a8a'];

/** Stacked bars: each row is a `part` of a bar with its `value`, in the rows' order. */
export function stackedChart(frame: Rows, spec: StackedSpec): Chart {
  const { y: bar, panel, mark } = spec;
  const values = toRows(frame).map(
    (row, order): Row => ({
      ...row,
      order,
      [bar]: valueTitle(bar, row[bar]),
      [panel]: valueTitle(panel, row[panel]),
    }),
  );
  const parts = [...new Set(values.map(({ part }) => part))];
  const spoken = flatGroup(values, (row) => `${String(row[panel])}, ${String(row[bar])}`).map(
    ([name, rows]) =>
      `${name}: ${rows.map(({ part, value }) => `${String(part)} ${figureText(value as number)}`).join(', ')}`,
  );
  const x = { type: 'quantitative', title: spec.xTitle };
  const title = spec.yTitle ?? fieldTitle(bar);
  const y = {
    field: fieldName(bar),
    type: 'nominal',
    sort: null,
    title,
    axis: { labelLimit: 240 },
  };
  const scale = { domain: parts, range: PART_COLORS.slice(0, parts.length) };
  const bars = {
    mark: { type: 'bar', height: { band: 0.7 } },
    encoding: {
      y,
      x: { ...x, field: 'value', stack: 'zero' },
      order: { field: 'order' },
      color: { field: 'part', type: 'nominal', title: fieldTitle('part'), scale },
    },
  };
  const marks = {
    transform: [{ filter: `datum.part === ${JSON.stringify(parts[0])}` }],
    mark: { ...POINT, size: 60, shape: 'diamond', color: '#6b6b6b' },
    encoding: { y, x: { ...x, field: mark && fieldName(mark) } },
  };
  const independent = { scale: { x: 'independent' }, axis: { x: 'independent' } };
  return createChart({
    title: spec.title,
    subtitle: spec.subtitle,
    alt: `${spoken.join('; ')}.`,
    spec: {
      data: { values },
      facet: { ...facet(panel, toRows(frame)), type: 'nominal' },
      columns: 2,
      spec: {
        width: 300,
        height: { step: 24 },
        layer: mark === undefined ? [bars] : [bars, marks],
      },
      ...(!spec.shared && { resolve: independent }),
    },
  });
}

/** The encodings that the charts of one metric share. */
function channels(rows: readonly Row[], spec: ChartSpec) {
  const { title, unit } = rowsMetric(rows, spec);
  const y: VegaLiteSpec = {
    type: 'quantitative',
    title: spec.yTitle ?? axisTitle(title, unit),
    scale: { zero: false },
  };
  return { ...seriesChannels(spec.color, distinctValues(spec.color, rows).map(String)), y };
}

/**
 * The one metric of the rows; several on the horizontal axis share the title `yTitle`.
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

/** A horizontal axis with the values of a field in order. */
function categories(rows: readonly Row[], { x, xTitle }: ChartSpec): VegaLiteSpec {
  const sort = distinctValues(x, rows).map((value) => valueLabel(x, value));
  const isLong = Math.max(...sort.map((value) => String(value).length)) > 16;
  const axis = { labelAngle: isLong ? -25 : 0 };
  return { field: fieldName(x), type: 'nominal', sort, title: xTitle ?? fieldTitle(x), axis };
}

/** The label of a value; the axis title says the rest: `compares 2` is 2. */
const valueLabel = (field: string, value: Row[string]): Row[string] =>
  typeof value === 'number' ? value : valueTitle(field, value).replace(/^compares /, '');

/** Fields that charts draw as numbers. */
const QUANTITIES = ['value', 'low', 'high', 'n', 'paper', 'predicted'];

/** A chart with a panel per value of `row`, `column` or `panel`, or a single one. */
function panelChart(
  rows: readonly Row[],
  spec: ChartSpec,
  view: { width: number | VegaLiteSpec; height: number; layer: VegaLiteSpec[] },
): Chart {
  const { x, color, row, column, panel, width = view.width, height = view.height } = spec;
  const labelled = [x, color, row, column, panel].filter((field) => field !== undefined);
  const values = rows.map((one) => ({
    ...Object.fromEntries(labelled.map((field) => [field, valueLabel(field, one[field])])),
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

/** Pixels of a letter of an axis title. */
const TITLE_LETTER = 6.5;

/** A layer whose vertical title is in two lines if it is longer than the axis. */
function withLines({ encoding, ...layer }: VegaLiteSpec, height: number): VegaLiteSpec {
  const channels = encoding as { y?: VegaLiteSpec };
  const [, name, unit] = /^(.+) (\(.+\))$/.exec(String(channels.y?.title)) ?? [];
  if (!unit || (name.length + 1 + unit.length) * TITLE_LETTER <= height)
    return { ...layer, encoding };
  return { ...layer, encoding: { ...channels, y: { ...channels.y, title: [name, unit] } } };
}

/** A panel per value of a field, in order. */
const facet = (field: string, rows: readonly Row[]): VegaLiteSpec => ({
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

/** Longest text alternative that lists every value. */
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
