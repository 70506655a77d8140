/** Adapts charts to narrow windows. */

interface Channel {
  field?: string;
  type?: string;
  axis?: object;
  sort?: unknown;
}
interface View {
  width?: unknown;
  encoding?: { x?: Channel };
  layer?: View[];
}
/** The parts of a Vega-Lite specification that depend on the width. */
export interface ChartSpec extends View {
  title?: { text?: unknown; subtitle?: unknown };
  config?: { legend?: object };
  facet?: Channel & { row?: Channel; column?: Channel };
  spec?: View;
}

/** Pixels of a letter of a title and of a label, and of the vertical axis. */
const [LETTER, LABEL_LETTER, AXIS] = [8.5, 6.5, 80];

/** A text in lines of a width in pixels. */
const wrapped = (text: unknown, width: number): unknown =>
  typeof text === 'string'
    ? text
        .match(new RegExp(`.{1,${Math.floor(width / LETTER)}}(?:\\s|$)`, 'g'))
        ?.map((line) => line.trim())
    : text;

/** Pixels of the longest label of a legend. */
const MAX_LEGEND_LABEL = 260;

/** Whether labels of an axis of a width touch each other. */
function areCrowded(labels: readonly unknown[], width: number): boolean {
  const longest = Math.max(...labels.map((label) => String(label).length));
  return longest * LABEL_LETTER > width / labels.length;
}

/** A view of a width, with slanted labels if they do not fit side by side. */
function resized(width: number, { encoding, layer, ...view }: View, isInner = false): View {
  const x = encoding?.x;
  const isLong = x?.type === 'nominal' && Array.isArray(x.sort) && areCrowded(x.sort, width);
  return {
    ...view,
    ...(isInner ? {} : { width }),
    ...(encoding && {
      encoding: {
        ...encoding,
        ...(isLong && { x: { ...x, axis: { ...x.axis, labelAngle: -40 } } }),
      },
    }),
    ...(layer && { layer: layer.map((one) => resized(width, one, true)) }),
  };
}

/** Narrower panels of a grid, in pixels, are stacked. */
const MIN_PANEL = 90;

/** The panels of a grid below each other, by the titles of row and column. */
function stacked(row: Channel, column: Channel): object {
  const [rows, columns] = [row, column].map(({ sort }) =>
    Array.isArray(sort) ? (sort as unknown[]) : [],
  );
  const sort = rows.flatMap((top) => columns.map((side) => `${String(top)}, ${String(side)}`));
  const [top, side] = [row, column].map(({ field }) => `datum[${JSON.stringify(field)}]`);
  return {
    transform: [{ calculate: `${top} + ', ' + ${side}`, as: 'panel' }],
    facet: { field: 'panel', type: 'nominal', sort },
    columns: 1,
  };
}

/**
 * A chart of a width in pixels: panels stacked unless a grid of them fits, legend
 * below.
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
  const panels = !isGrid ? below : inner < MIN_PANEL ? stacked(row, column) : { facet };
  const innerWidth = panels === below || 'transform' in panels ? width - AXIS - 12 : inner;
  return {
    ...(spec ? { ...chart, ...panels, spec: resized(innerWidth, spec) } : resized(inner, chart)),
    title: { ...title, ...texts },
    config: {
      ...config,
      legend: {
        columns: Math.max(1, Math.floor(width / 280)),
        ...config?.legend,
        orient: 'bottom',
        labelLimit: Math.min(MAX_LEGEND_LABEL, width - AXIS),
      },
    },
  };
}
