/** Bars of stacked parts. */
import { flatGroup } from 'd3-array';
import { chartOf, type Chart } from './chart.js';
import { rowsOf, type Row, type Rows } from './frame.js';
import { figureText } from './text.js';
import { fieldTitle, titleOf, valuesOf } from './titles.js';

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
