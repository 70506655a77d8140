/** The chart of the latency report that is made of stacked parts. */
import { chartOf, titled, type Chart } from '../../report/chart.js';
import { rowsOf, type Rows } from '../../report/frame.js';
import { decimalsOf } from '../../report/metrics.js';
import { figureText } from '../../report/text.js';
import { titleOf, valuesOf } from '../../report/titles.js';

const COLORS = { waiting: '#5b8fc7', requests: '#d95f02', searching: '#1b7a5a' };

/** Where the time of a set goes by the model, in a panel for each retriever, with the measured median as a mark. */
export function timePartsChart(parts: Rows, { title, unit }: { title: string; unit: string }): Chart {
  const rows = rowsOf(parts);
  const values = rows.map((row) => ({ ...row, retriever: titleOf('retriever', row.retriever) }));
  const spoken = rows
    .filter(({ asked }) => asked === 'in turns')
    .map(({ retriever, part, value }) => {
      const ms = figureText(value as number, decimalsOf('wall_ms', value));
      return `${titleOf('retriever', retriever)}, ${String(part)} ${ms} ms`;
    });
  const y = {
    field: 'asked',
    type: 'nominal',
    sort: null,
    title: titled('Asked', unit),
    axis: { labelLimit: 240 },
  };
  const x = { type: 'quantitative', title: titled('Wall clock of the set', 'ms') };
  const scale = { domain: Object.keys(COLORS), range: Object.values(COLORS) };
  const bars = {
    mark: { type: 'bar', height: { band: 0.7 } },
    encoding: {
      ...{ y, x: { ...x, field: 'value', stack: 'zero' } },
      color: { field: 'part', type: 'nominal', title: 'The model', scale },
    },
  };
  const measured = {
    transform: [{ filter: 'datum.part === "waiting"' }],
    mark: { type: 'point', shape: 'diamond', filled: true, size: 60, color: '#6b6b6b', opacity: 1 },
    encoding: { y, x: { ...x, field: 'measured' } },
  };
  const sort = valuesOf('retriever', rows).map((name) => titleOf('retriever', name));
  return chartOf({
    title,
    alt: `Parts of the predicted wall clock by retriever and way of asking. In turns: ${spoken.join('; ')}.`,
    spec: {
      ...{ data: { values }, facet: { field: 'retriever', type: 'nominal', sort }, columns: 2 },
      spec: { width: 300, height: { step: 24 }, layer: [bars, measured] },
      resolve: { scale: { x: 'independent' }, axis: { x: 'independent' } },
    },
  });
}
