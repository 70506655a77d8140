/** Charts of data frames, as Vega-Lite specifications. */
import type { TableCells } from '../html/table.js';
import { METHODS } from '../methods/index.js';
import { fieldTitle, titleOf, decimalsOf, isShare, metricInfo, valuesOf } from './titles.js';
import { flatGroup, flatRollup } from 'd3-array';
import { columnsOf, rowsOf, type Row, type Rows } from './frame.js';
import { figureText } from './text.js';

/**
 * A Vega-Lite specification as JSON; charts keep to what versions 5 (JupyterLab 4) and 6
 * both understand.
 */
export type VegaLiteSpec = Record<string, unknown>;

export interface Chart {
  kind: 'chart';
  title: string;
  /** What the chart shows, in words, for those who do not see it. */
  alt: string;
  spec: VegaLiteSpec;
}

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v5.json';

/** Goes under the title of every chart of results of the embedded scale. */
export const SMALL_WORLD = 'Small world: levels cannot be compared with the paper’s';

/** What stands under a key anywhere in a specification, but not within its data. */
function under(key: string, spec: unknown): unknown[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec).flatMap(([name, inner]: [string, unknown]) => {
    if (name === key) return [inner];
    return name === 'data' ? [] : under(key, inner);
  });
}

/**
 * What a chart fails to tell, as sentences that follow "Expected ...". Layers share an
 * axis, so that one of them must name it; the title of a quantity ends in its unit, in
 * parentheses.
 */
function complaintsAbout({ title, alt, spec }: Omit<Chart, 'kind'>): string[] {
  const complaints: string[] = [];
  if (title.trim() === '') complaints.push('a title');
  if (alt.trim() === '' || alt.trim() === title.trim())
    complaints.push('a text alternative that says more');
  const encodings = under('encoding', spec) as Record<string, VegaLiteSpec | undefined>[];
  for (const channel of ['x', 'y']) {
    const axes = encodings.flatMap(({ [channel]: axis }) =>
      axis && 'field' in axis ? [axis] : [],
    );
    const named = axes.filter(({ title: name }) => typeof name === 'string' && name.trim() !== '');
    if (axes.length > 0 && named.length === 0) complaints.push(`a title of the ${channel} axis`);
    for (const { type, title: name } of named)
      if (type === 'quantitative' && !/\(.+\)$/.test(name as string))
        complaints.push(
          `a unit in parentheses at the end of the ${channel} axis title "${name as string}"`,
        );
  }
  return [...new Set(complaints)];
}

/**
 * Makes a chart; title and subtitle go into the drawing and the alternative into its
 * description.
 * @throws Error naming what its readers would miss: a title, an axis title, a unit, the
 * text alternative
 */
export function chartOf({
  title,
  subtitle,
  alt,
  spec,
}: Omit<Chart, 'kind'> & { subtitle?: string }): Chart {
  const complaints = complaintsAbout({ title, alt, spec });
  if (complaints.length > 0)
    throw new Error(
      `Expected the chart "${title}" to have ${complaints.join(', ')}, but it has not.`,
    );
  const heading = {
    text: title,
    anchor: 'start',
    fontSize: 14,
    offset: 12,
    ...(subtitle ? { subtitle, subtitleFontSize: 11 } : {}),
  };
  const config = {
    background: 'transparent',
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: { labelFontSize: 11, titleFontSize: 12, gridOpacity: 0.6, titleFontWeight: 'normal' },
    legend: { labelFontSize: 12, titleFontSize: 12, labelLimit: 260, titleLimit: 260 },
    header: { labelFontSize: 12, labelFontWeight: 'bold', title: null },
  };
  return {
    kind: 'chart',
    title,
    alt,
    spec: { $schema: SCHEMA, title: heading, description: alt, config, ...spec },
  };
}

/**
 * Any Vega-Lite specification as a chart, of which nothing is asked; `title` and
 * `description` are its texts, where it has them.
 */
export function chartOfSpec(spec: VegaLiteSpec): Chart {
  const { text = spec.title } = (spec.title ?? {}) as { text?: unknown };
  const title = typeof text === 'string' ? text : 'Chart';
  const alt = typeof spec.description === 'string' ? spec.description : title;
  return { kind: 'chart', title, alt, spec: { $schema: SCHEMA, ...spec } };
}

/**
 * The data behind a chart as a table, in full precision; a row has an empty cell where
 * others have a field that it lacks. Vega-Lite calls the field of a bare value `data`.
 */
export function chartData(spec: VegaLiteSpec, caption: string): TableCells {
  const rows = (under('data', spec) as ({ values?: unknown[] } | null)[])
    .flatMap((data) => data?.values ?? [])
    .map(
      (value) =>
        (typeof value === 'object' && value !== null ? value : { data: value }) as VegaLiteSpec,
    );
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const text = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value);
  return {
    caption,
    columns,
    rows: rows.map((row) => columns.map((column) => text(row[column] ?? ''))),
  };
}

/** An axis title with its unit. */
export const titled = (title: string, unit: string): string => `${title} (${unit})`;

interface Style {
  color: string;
  shape: string;
}

/**
 * Distinguishable for colour-blind readers; each has a contrast of 3 or more on white and
 * on black.
 */
const STYLES: readonly Style[] = [
  { color: '#d95f02', shape: 'diamond' },
  { color: '#2b86c5', shape: 'circle' },
  { color: '#8a8a8a', shape: 'square' },
  { color: '#8e5bb5', shape: 'triangle-up' },
  { color: '#1a936f', shape: 'cross' },
  { color: '#c94a87', shape: 'triangle-down' },
  { color: '#5b8c00', shape: 'triangle-right' },
  { color: '#a0623d', shape: 'triangle-left' },
];

export const SERIES_COLORS: readonly string[] = STYLES.map(({ color }) => color);

/**
 * Methods and initial models look alike in every chart; other values take the styles in
 * turn.
 */
function styleOf(field: string, value: string, place: number): Style {
  if (field === 'method' && METHODS.has(value)) return METHODS.get(value);
  const own = field === 'model' ? { base: STYLES[3], instruct: STYLES[4] }[value] : undefined;
  return own ?? STYLES[place % STYLES.length];
}

export interface Series {
  field: string;
  /** Titles of the values, in order. */
  sort: string[];
  color: VegaLiteSpec;
  shape: VegaLiteSpec;
}

/** Colour and shape of a field's values, in one legend. */
export function seriesOf(field: string, values: readonly string[]): Series {
  const styles = values.map((value, i) => styleOf(field, value, i));
  const domain = values.map((value) => titleOf(field, value));
  const channel = { field, type: 'nominal', title: fieldTitle(field) };
  return {
    field,
    sort: domain,
    color: { ...channel, scale: { domain, range: styles.map(({ color }) => color) } },
    shape: { ...channel, scale: { domain, range: styles.map(({ shape }) => shape) } },
  };
}

/** Points with intervals (`value`, `low`, `high`), side by side for each of a series. */
export function intervalLayers(series: Series, x: VegaLiteSpec, y: VegaLiteSpec): VegaLiteSpec[] {
  const { field, sort, color, shape } = series;
  const shared = { x, xOffset: { field, sort }, color };
  const tooltip = [field, 'value', 'low', 'high', 'n'].map((name) => ({
    field: name,
    ...(['value', 'low', 'high'].includes(name) ? { type: 'quantitative', format: '.3f' } : {}),
  }));
  const rule = {
    mark: { type: 'rule', strokeWidth: 2 },
    encoding: { ...shared, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  };
  const point = {
    mark: { type: 'point', filled: true, size: 55, opacity: 1 },
    encoding: { ...shared, y: { ...y, field: 'value' }, shape, tooltip },
  };
  return [rule, point];
}

/** Dashes of lines but the last, which is solid. */
const DASHES = [
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [1, 3],
];

/**
 * Lines over a quantity in bands from `low` to `high`, one per value of the series, told
 * apart by colour and dashes.
 */
export function bandLayers(
  { field, sort, color }: Series,
  x: VegaLiteSpec,
  y: VegaLiteSpec,
  {
    interpolate = 'linear',
    points,
    legend: hasLegend = true,
  }: { interpolate?: 'linear' | 'step-after'; points?: boolean; legend?: boolean } = {},
): VegaLiteSpec[] {
  const legend = hasLegend
    ? { symbolType: 'stroke', symbolOpacity: 1, symbolStrokeWidth: 3 }
    : null;
  const shared = { x, color: { ...color, legend } };
  const range = sort.map((_, i) => (i === sort.length - 1 ? [1, 0] : DASHES[i % DASHES.length]));
  const scale = { domain: sort, range };
  const channel = { field, type: 'nominal', title: color.title, scale };
  const strokeDash = { ...channel, ...(legend ? {} : { legend }) };
  return [
    {
      mark: { type: 'area', opacity: 0.22, interpolate },
      encoding: { ...shared, y: { ...y, field: 'low' }, y2: { field: 'high' } },
    },
    {
      mark: { type: 'line', strokeWidth: 2, interpolate, point: points },
      encoding: { ...shared, y: { ...y, field: 'value' }, strokeDash },
    },
  ];
}

/** Lines with points, one for each of a series. */
export function lineLayers(
  { color, shape }: Series,
  x: VegaLiteSpec,
  y: VegaLiteSpec,
): VegaLiteSpec[] {
  const at = { x, y: { ...y, field: 'value' }, color };
  return [
    { mark: { type: 'line', strokeWidth: 2 }, encoding: at },
    { mark: { type: 'point', filled: true, size: 55, opacity: 1 }, encoding: { ...at, shape } },
  ];
}

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

const COLORS = ['#5b8fc7', '#d95f02', '#1b7a5a', '#9a7bb5', '#8a8a8a'];

interface StackedSpec {
  title: string;
  /** Field with a bar for each of its values, in their order, and the axis's title. */
  y: string;
  yTitle?: string;
  /** Of the length of the bars, with the unit in parentheses. */
  xTitle: string;
  /**
   * Field with a panel for each of its values, each with a scale of its own unless
   * `shared`.
   */
  panel: string;
  shared?: boolean;
  /** Field of a value that a diamond marks on each bar. */
  mark?: string;
  subtitle?: string;
}

/**
 * Rows of a `part` and a `value` each: the parts of a bar beside each other, in the order
 * in which they come.
 */
export function stackedChart(frame: Rows, spec: StackedSpec): Chart {
  const { title, subtitle, y: bar, panel, mark, shared = false } = spec;
  const rows = rowsOf(frame);
  const values = rows.map((row, order): Row => ({
    ...row,
    order,
    [bar]: titleOf(bar, row[bar]),
    [panel]: titleOf(panel, row[panel]),
  }));
  const parts = [...new Set(rows.map(({ part }) => part))];
  const spoken = flatGroup(
    values,
    (row) => row[panel],
    (row) => row[bar],
  ).map(
    ([of, name, own]) =>
      `${String(of)}, ${String(name)}: ${own.map(({ part, value }) => `${String(part)} ${figureText(value as number)}`).join(', ')}`,
  );
  const y = {
    field: bar,
    type: 'nominal',
    sort: null,
    title: spec.yTitle ?? fieldTitle(bar),
    axis: { labelLimit: 240 },
  };
  const x = { type: 'quantitative', title: spec.xTitle };
  const scale = { domain: parts, range: COLORS.slice(0, parts.length) };
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
    mark: { type: 'point', shape: 'diamond', filled: true, size: 60, color: '#6b6b6b', opacity: 1 },
    encoding: { y, x: { ...x, field: mark } },
  };
  const sort = valuesOf(panel, rows).map((value) => titleOf(panel, value));
  return chartOf({
    title,
    subtitle,
    alt: `${spoken.join('; ')}.`,
    spec: {
      data: { values },
      facet: { field: panel, type: 'nominal', sort },
      columns: 2,
      spec: {
        width: 300,
        height: { step: 24 },
        layer: mark === undefined ? [bars] : [bars, marks],
      },
      ...(shared ? {} : { resolve: { scale: { x: 'independent' }, axis: { x: 'independent' } } }),
    },
  });
}
