/** Adapts charts to narrow windows. */

import { unescapeField } from './readable.js';
import type { Channel, DrawnSpec, View } from './spec.js';

/** Pixels per letter of a title and of a label, and of the vertical axis. */
const [LETTER, LABEL_LETTER, AXIS] = [8.5, 6.5, 80];

/** Breaks a text into lines of at most `letters` letters, if its words allow. */
const splitLines = (text: string, letters: number): string[] =>
  text.match(new RegExp(`(\\S.{0,${letters - 1}}|\\S+)(?=\\s|$)`, 'g')) ?? [text];

/** Breaks a title into lines that fit a width in pixels. */
const wrapped = (text: unknown, width: number): unknown =>
  typeof text === 'string' ? splitLines(text, Math.floor(width / LETTER)) : text;

/** Maximum width of a legend's label in pixels. */
const MAX_LEGEND_LABEL = 260;

/** Whether the labels of an axis of this width touch each other. */
function areCrowded(labels: readonly unknown[], width: number): boolean {
  const longest = Math.max(...labels.map((label) => String(label).length));
  return longest * LABEL_LETTER > width / labels.length;
}

/** Share of the width for names on a vertical axis, and pixels per line. */
const [LABEL_SHARE, LABEL_LINE] = [0.4, 13];

/** Breaks the names on a vertical axis into lines; null if they are short. */
function labelLines(
  { data, layer = [], ...view }: DrawnSpec & View,
  width: number,
): Record<string, string[]> | null {
  const y = [view, ...layer].map(({ encoding }) => encoding?.y).find((one) => one?.field);
  const values = data?.values;
  if (y?.type !== 'nominal' || !Array.isArray(values)) return null;
  const column = unescapeField(y.field!);
  const names = new Set((values as Record<string, unknown>[]).map((row) => String(row[column])));
  const letters = Math.floor((LABEL_SHARE * width) / LABEL_LETTER);
  if ([...names].every((name) => name.split(': ').every((part) => part.length <= letters)))
    return null;
  // A colon always ends a line.
  const lines = (name: string) => name.split(': ').flatMap((part) => splitLines(part, letters));
  return Object.fromEntries([...names].map((name) => [name, lines(name)]));
}

/** Breaks the names on a view's vertical axis into lines, and makes room for them. */
function withLabelLines(view: View, lines: Record<string, string[]>): View {
  const labelExpr = `${JSON.stringify(lines)}[datum.label]`;
  const broken = ({ encoding, ...layer }: View): View => ({
    ...layer,
    ...(encoding?.y?.field && {
      encoding: { ...encoding, y: { ...encoding.y, axis: { ...encoding.y.axis, labelExpr } } },
    }),
    ...(encoding && !encoding.y?.field && { encoding }),
  });
  const numLines = Math.max(...Object.values(lines).map(({ length }) => length));
  const { step } = (view.height ?? {}) as { step?: number };
  const offsets = view.layer?.find(({ encoding }) => encoding?.yOffset)?.encoding?.yOffset?.sort;
  const perLabel = Array.isArray(offsets) ? offsets.length : 1;
  return {
    ...broken(view),
    ...(view.layer && { layer: view.layer.map(broken) }),
    ...(step && { height: { step: Math.max(step, ((numLines + 0.7) * LABEL_LINE) / perLabel) } }),
  };
}

/** Resizes a view, slanting labels that do not fit side by side. */
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

/** Panels of a grid that would be narrower (in pixels) are stacked. */
const MIN_PANEL = 90;

/** Whether column names or axis titles are wider than the panels. */
function areTitlesCrowded(columns: unknown, view: View | undefined, width: number): boolean {
  const titles = [view, ...(view?.layer ?? [])].map((one) => one?.encoding?.x?.title ?? '');
  const names = Array.isArray(columns) ? (columns as unknown[]) : [];
  return [...titles, ...names].some((text) => areCrowded([text], width));
}

/** Stacks the panels of a grid, titled by row and column. */
function stacked(row: Channel, column: Channel): object {
  const [rows, columns] = [row, column].map(({ sort }) =>
    Array.isArray(sort) ? (sort as unknown[]) : [],
  );
  const sort = rows.flatMap((top) => columns.map((side) => `${String(top)}, ${String(side)}`));
  const [top, side] = [row, column].map(
    ({ field = '' }) => `datum[${JSON.stringify(unescapeField(field))}]`,
  );
  return {
    transform: [{ calculate: `${top} + ', ' + ${side}`, as: 'panel' }],
    facet: { field: 'panel', type: 'nominal', sort },
    columns: 1,
  };
}

/** Pixels between the labels of an axis. */
const LABEL_SEPARATION = 7;

/**
 * Fits a chart to a width in pixels: stacks panels unless a grid of them fits, breaks
 * long names into lines, moves the legend below.
 * @param room pixels for title and legend; more than `width` if axes take some of it
 */
export function narrowed(
  { title, config, facet, spec, ...chart }: DrawnSpec,
  width: number,
  room = width,
): DrawnSpec {
  const [row, column] = [facet?.row, facet?.column];
  const isGrid = row !== undefined && column !== undefined;
  const numColumns = isGrid && Array.isArray(column.sort) ? column.sort.length : 1;
  const inner = Math.floor((width - AXIS) / numColumns) - 12;
  const titleWidth = Math.max(width, 0.75 * room);
  const [text, subtitle] = [title?.text, title?.subtitle].map((one) => wrapped(one, titleWidth));
  const below = { facet: { type: 'nominal', ...(column ?? row ?? facet) }, columns: 1 };
  const isTight = inner < MIN_PANEL || areTitlesCrowded(column?.sort, spec, inner);
  const panels = !isGrid ? below : isTight ? stacked(row, column) : { facet };
  const lines = labelLines({ data: chart.data, ...(spec ?? chart) }, room);
  const broken = (view: View): View => (lines ? withLabelLines(view, lines) : view);
  const innerWidth = panels === below || 'transform' in panels ? width - AXIS - 12 : inner;
  return {
    ...(spec
      ? { ...chart, ...panels, spec: resized(innerWidth, broken(spec)) }
      : resized(inner, broken(chart))),
    title: { ...title, text, subtitle },
    config: {
      ...config,
      axis: { ...config?.axis, labelSeparation: LABEL_SEPARATION },
      legend: {
        columns: Math.max(1, Math.floor(room / 280)),
        ...config?.legend,
        orient: 'bottom',
        labelLimit: Math.min(MAX_LEGEND_LABEL, Math.max(width - AXIS, room / 3)),
      },
    },
  };
}
