/** Changes the lines of a chart: which ones stand out, smoothing, steps or time. */

import { unescapeField } from './readable.js';
import type { Channel, DrawnSpec, View } from './spec.js';

/** The palest grey with a contrast of 3 on white. */
const PALE = '#929292';

/** Greys are for lines that do not stand out. */
const isGrey = (color: unknown): boolean => /^#(..)\1\1$/.test(String(color));

/** Changes the encodings of a chart, including layers and panels. */
function withEncoding<T extends DrawnSpec>(
  chart: T,
  change: (encoding: NonNullable<View['encoding']>) => View['encoding'],
): T {
  const { encoding, layer, spec } = chart;
  return {
    ...chart,
    ...(encoding && { encoding: change(encoding) }),
    ...(layer && { layer: layer.map((one) => withEncoding(one, change)) }),
    ...(spec && { spec: withEncoding(spec, change) }),
  };
}

/** The column shown by colour. */
function seriesColumn(chart: DrawnSpec): string {
  let field = '';
  withEncoding(chart, (encoding) => {
    field ||= encoding.color?.field ?? '';
    return encoding;
  });
  return unescapeField(field);
}

/**
 * Highlights some lines in distinct colours and in the legend; the others are thin and
 * grey.
 * @param names values of the field shown by colour
 */
export function highlightLines<T extends DrawnSpec>(
  { layer, spec, ...chart }: T,
  names: readonly string[],
): T {
  const highlighted = {
    ...chart,
    ...(layer && { layer: highlightLayers(layer, names) }),
    ...(spec && { spec: highlightLines(spec, names) }),
  };
  return highlighted as unknown as T;
}

function highlightLayers(layers: readonly View[], names: readonly string[]): View[] {
  return layers.flatMap(({ encoding = {}, ...layer }): View[] => {
    const { color, strokeDash, x, y, ...rest } = encoding;
    if (!color?.scale) return [{ ...layer, encoding }];
    const { field } = color;
    const { domain } = color.scale;
    const chosen = names.filter((name) => domain.includes(name));
    const isChosen = { field, oneOf: chosen };
    const channel = ({ scale, ...one }: Channel): Channel => {
      const { range } = scale!;
      const fixed = chosen.map((name) => range[domain.indexOf(name)]);
      const isClear = new Set(fixed.map(String)).size === chosen.length && !fixed.some(isGrey);
      const free = [...new Set(range)].filter((value) => !isGrey(value));
      const values = isClear ? fixed : chosen.map((_, i) => free[i % free.length]);
      return { ...one, scale: { domain: chosen, range: values } };
    };
    // Vega warns about layers without data.
    const others = layer.mark?.type === 'line' &&
      chosen.length < domain.length && {
        transform: [{ filter: { not: isChosen } }],
        mark: { ...layer.mark, strokeWidth: 1, color: PALE, point: false },
        encoding: { x, y, detail: { field } },
      };
    const dashes = strokeDash && { strokeDash: channel(strokeDash) };
    const lines = chosen.length > 0 && {
      ...layer,
      transform: [{ filter: isChosen }],
      encoding: { ...rest, x, y, color: channel(color), ...dashes },
    };
    return [others, lines].filter((one) => one !== false);
  });
}

/**
 * Smooths lines with an exponential moving average, bias-corrected as in TensorBoard.
 * @param weight of the past, from 0 to below 1
 */
export function smoothLines<T extends DrawnSpec>(chart: T, weight: number): T {
  const column = seriesColumn(chart);
  const past = new Map<unknown, { sum: number; count: number }>();
  const values = (chart.data?.values ?? []).map((row) => {
    const { sum, count } = past.get(row[column]) ?? { sum: 0, count: 0 };
    const next = { sum: weight * sum + (1 - weight) * Number(row.value), count: count + 1 };
    past.set(row[column], next);
    return { ...row, value: next.sum / (1 - weight ** next.count) };
  });
  return { ...chart, data: { ...chart.data, values } };
}

/** Draws lines over the minutes of training instead of its steps. */
export const linesOverTime = <T extends DrawnSpec>(chart: T): T =>
  withEncoding(chart, ({ x, ...encoding }) => ({
    ...encoding,
    x: { ...x, field: 'minutes', title: 'Training (minutes)', axis: {} },
  }));
