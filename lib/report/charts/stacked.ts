/** Stacked bars, with a panel per value of a field. */
import { flatGroup } from 'd3-array';
import { toRows, type Row, type Rows } from '../frame.js';
import { figureText } from '../text.js';
import { fieldTitle, valueTitle } from '../titles.js';
import { type ChartSpec, facet, POINT } from './chart.js';
import { columnName, fieldName } from './readable.js';
import { type Chart, createChart } from './spec.js';

interface StackedSpec extends Pick<ChartSpec, 'title' | 'subtitle' | 'yTitle'> {
  /** Field with a bar per value, in order. */
  y: string;
  /** What the length of a bar means, with the unit. */
  xTitle: string;
  /** Field with a panel per value. */
  panel: string;
  /** Whether all panels share a horizontal scale. */
  shared?: boolean;
  /** Field whose value a diamond marks on each bar. */
  mark?: string;
}

const PART_COLORS = ['#5b8fc7', '#d95f02', '#1b7a5a', '#9a7bb5', '#8a8a8a'];

/** Stacked bars: each row is a `part` of a bar with its `value`, in the rows' order. */
export function stackedChart(frame: Rows, spec: StackedSpec): Chart {
  const { y: bar, panel, mark } = spec;
  const values = toRows(frame).map((row, order): Row => {
    const columns = Object.entries(row).map(([field, value]) => [columnName(field), value]);
    const titles = [bar, panel].map((field) => [columnName(field), valueTitle(field, row[field])]);
    return Object.fromEntries([...columns, ['order', order], ...titles]) as Row;
  });
  const parts = [...new Set(values.map(({ part }) => part))];
  const partText = ({ part, value }: Row): string => `${part} ${figureText(value as number)}`;
  const spoken = flatGroup(
    values,
    (row) => `${row[columnName(panel)]}, ${row[columnName(bar)]}`,
  ).map(([name, rows]) => `${name}: ${rows.map(partText).join(', ')}`);
  const x = { type: 'quantitative', title: spec.xTitle };
  const title = spec.yTitle ?? fieldTitle(columnName(bar));
  const axis = { labelLimit: 240 };
  const y = { field: fieldName(bar), type: 'nominal', sort: null, title, axis };
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
      spec: { width: 300, height: { step: 24 }, layer: mark ? [bars, marks] : [bars] },
      ...(!spec.shared && { resolve: independent }),
    },
  });
}
