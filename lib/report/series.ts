/**
 * What is told apart within a chart: by colour and by shape, which repeats what the
 * colour says.
 */
import { METHODS } from '../methods/index.js';
import type { VegaLiteSpec } from './chart.js';
import { fieldTitle, titleOf } from './titles.js';

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

/**
 * Lines over a quantity in bands from `low` to `high`, one for each of a series; only the
 * last is not dashed.
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
  const range = sort.map((_, i) => (i === sort.length - 1 ? [1, 0] : [5 + i, 3]));
  const scale = { domain: sort, range };
  const strokeDash = {
    field,
    type: 'nominal',
    title: color.title,
    scale,
    ...(!legend && { legend }),
  };
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
