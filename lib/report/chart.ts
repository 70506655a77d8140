/** What every chart shares: a title, a text alternative, one colour and shape for each method. */
import { METHODS, methodTitle } from '../methods/index.js';
import { chartComplaints } from './chart-rules.js';

/** A Vega-Lite specification as JSON; charts keep to what versions 5 (JupyterLab 4) and 6 both understand. */
export type VegaLiteSpec = Record<string, unknown>;

export interface Chart {
  kind: 'chart';
  title: string;
  /** What the chart shows, in words, for those who do not see it. */
  alt: string;
  spec: VegaLiteSpec;
}

/** For what has no style of its own: each colour has a contrast of 3 or more on white and on black. */
export const SERIES_COLORS = [
  ...['#d95f02', '#2b86c5', '#8a8a8a', '#8e5bb5'],
  ...['#1a936f', '#c94a87', '#5b8c00', '#a0623d'],
];
export const SERIES_SHAPES = [
  ...['diamond', 'circle', 'square', 'triangle-up'],
  ...['cross', 'triangle-down', 'triangle-right', 'triangle-left'],
];

/** Goes under the title of every chart of results of the embedded scale. */
export const SMALL_WORLD = 'Small world: levels cannot be compared with the paper’s';

/**
 * Makes a chart; title and subtitle go into the drawing and the alternative into its description.
 * @throws Error naming what its readers would miss: a title, an axis title, a unit, the text alternative
 */
export function chartOf({ title, subtitle, alt, spec }: Omit<Chart, 'kind'> & { subtitle?: string }): Chart {
  const complaints = chartComplaints({ title, alt, spec });
  if (complaints.length > 0)
    throw new Error(`Expected the chart "${title}" to have ${complaints.join(', ')}, but it has not.`);
  const heading = {
    ...{ text: title, anchor: 'start', fontSize: 14, offset: 12 },
    ...(subtitle ? { subtitle, subtitleFontSize: 11 } : {}),
  };
  const config = {
    background: 'transparent',
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: { labelFontSize: 11, titleFontSize: 12, gridOpacity: 0.6, titleFontWeight: 'normal' },
    legend: { orient: 'bottom', labelFontSize: 12, titleFontSize: 12, labelLimit: 260 },
    header: { labelFontSize: 12, labelFontWeight: 'bold', title: null },
  };
  const $schema = 'https://vega.github.io/schema/vega-lite/v5.json';
  return { kind: 'chart', title, alt, spec: { $schema, title: heading, description: alt, config, ...spec } };
}

/** Colour of the methods named in a chart, with a legend of their names. */
export function methodColor(methods: readonly string[]): VegaLiteSpec {
  const range = methods.map((method) => (METHODS.has(method) ? METHODS.get(method).color : '#666666'));
  return {
    field: 'method',
    type: 'nominal',
    title: 'Method',
    scale: { domain: methods.map(methodTitle), range },
  };
}

/** Shape of the methods named in a chart, in the same legend as their colour. */
export function methodShape(methods: readonly string[]): VegaLiteSpec {
  const range = methods.map((method) => (METHODS.has(method) ? METHODS.get(method).shape : 'cross'));
  return {
    field: 'method',
    type: 'nominal',
    title: 'Method',
    scale: { domain: methods.map(methodTitle), range },
  };
}

/** An axis title with its unit. */
export function titled(title: string, unit: string): string {
  return `${title} (${unit})`;
}
