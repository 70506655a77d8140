/** What charts draw of methods and of models: points with intervals, and lines in bands. */
import { methodTitle } from '../methods/index.js';
import { methodColor, methodShape, type VegaLiteSpec } from './chart.js';

/** What is told apart by colour and shape within a chart: the field that names it, and its channels. */
export interface Series {
  field: string;
  sort: string[];
  color: VegaLiteSpec;
  shape: VegaLiteSpec;
}

/** How a model is called in charts. */
export const modelTitle = (model: string): string => `${model} model`;
/** Order of the models. */
export const MODEL_SORT = ['base', 'instruct'].map(modelTitle);

/** Methods, in their own colours and shapes. */
export function methodSeries(methods: readonly string[]): Series {
  const sort = methods.map(methodTitle);
  return { field: 'method', sort, color: methodColor(methods), shape: methodShape(methods) };
}

/** The two models. */
export function modelSeries(): Series {
  const channel = { field: 'model', type: 'nominal', title: 'Initial model' };
  return {
    ...{ field: 'model', sort: MODEL_SORT },
    color: { ...channel, scale: { domain: MODEL_SORT, range: ['#8e5bb5', '#1a936f'] } },
    shape: { ...channel, scale: { domain: MODEL_SORT, range: ['square', 'circle'] } },
  };
}

/** Points with 95 % intervals (`value`, `low`, `high`), side by side for each of a series. */
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

/** Lines over a quantity in bands from `low` to `high`, one for each of a series; only the last is not dashed. */
export function bandLayers(
  { field, sort, color }: Series,
  x: VegaLiteSpec,
  y: VegaLiteSpec,
  interpolate: 'linear' | 'step-after' = 'linear',
): VegaLiteSpec[] {
  const legend = { symbolType: 'stroke', symbolOpacity: 1, symbolStrokeWidth: 3 };
  const shared = { x, color: { ...color, legend } };
  const range = sort.map((_, i) => (i === sort.length - 1 ? [1, 0] : [5 + i, 3]));
  const strokeDash = { field, type: 'nominal', title: color.title, scale: { domain: sort, range } };
  return [
    {
      mark: { type: 'area', opacity: 0.22, interpolate },
      encoding: { ...shared, y: { ...y, field: 'low' }, y2: { field: 'high' } },
    },
    {
      mark: { type: 'line', strokeWidth: 2, interpolate },
      encoding: { ...shared, y: { ...y, field: 'value' }, strokeDash },
    },
  ];
}
