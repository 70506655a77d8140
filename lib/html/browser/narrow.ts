/** Charts for windows that are too narrow for them. */

interface Channel {
  type?: string;
  axis?: object;
  sort?: unknown;
}
interface View {
  width?: unknown;
  encoding?: { x?: Channel };
  layer?: View[];
}
/** Of a Vega-Lite specification what depends on the room that there is. */
export interface ChartSpec extends View {
  title?: { text?: unknown; subtitle?: unknown };
  config?: { legend?: object };
  facet?: Channel & { row?: Channel; column?: Channel };
  spec?: View;
}

/** Pixels of a letter, and of what stands beside a drawing. */
const [LETTER, AXIS] = [8.5, 80];

/** A text in lines that fit into so many pixels. */
const wrapped = (text: unknown, width: number): unknown =>
  typeof text === 'string'
    ? text
        .match(new RegExp(`.{1,${Math.floor(width / LETTER)}}(?:\\s|$)`, 'g'))
        ?.map((line) => line.trim())
    : text;

/**
 * A drawing of a width, with the labels of its horizontal axis aslant where they are
 * words.
 */
function drawnIn(width: number, { encoding, layer, ...view }: View, isInner = false): View {
  const x = encoding?.x;
  const isLong = x?.type === 'nominal' && Array.isArray(x.sort) && String(x.sort.at(-1)).length > 3;
  return {
    ...view,
    ...(isInner ? {} : { width }),
    ...(encoding && {
      encoding: {
        ...encoding,
        ...(isLong && { x: { ...x, axis: { ...x.axis, labelAngle: -40 } } }),
      },
    }),
    ...(layer && { layer: layer.map((one) => drawnIn(width, one, true)) }),
  };
}

/**
 * The chart for so many pixels: panels below each other unless they are a grid, the
 * legend under them, titles in lines.
 */
export function narrowed(
  { title, config, facet, spec, ...chart }: ChartSpec,
  width: number,
): ChartSpec {
  const [row, column] = [facet?.row, facet?.column];
  const isGrid = row !== undefined && column !== undefined;
  const numColumns = isGrid && Array.isArray(column.sort) ? column.sort.length : 1;
  const inner = Math.floor((width - AXIS) / numColumns) - 12;
  const texts = { text: wrapped(title?.text, width), subtitle: wrapped(title?.subtitle, width) };
  const below = { facet: { type: 'nominal', ...(column ?? row ?? facet) }, columns: 1 };
  return {
    ...(spec
      ? { ...chart, ...(isGrid ? { facet } : below), spec: drawnIn(inner, spec) }
      : drawnIn(inner, chart)),
    title: { ...title, ...texts },
    config: {
      ...config,
      legend: {
        columns: Math.max(1, Math.floor(width / 280)),
        ...config?.legend,
        orient: 'bottom',
      },
    },
  };
}
