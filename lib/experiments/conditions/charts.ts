/** Charts of the conditions: one with all predictions, and curves against each limit. */
import { BENCHMARK_TITLES, MANY } from '../../evaluation/selections.js';
import { matching, type Fields } from '../../evaluation/table.js';
import { axisTitle, bandChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import { createChart, type Chart } from '../../report/charts/spec.js';
import { STYLES } from '../../report/charts/series.js';
import { figureText } from '../../report/text.js';
import type { ResultParts } from '../../report/result.js';
import type { Limit } from './limits.js';
import type { ConditionRow } from './predictions.js';

/** Draws curves of exact match against each limit, and {@link conditionsChart}. */
export function drawFigures(
  rows: readonly (object & Limit)[],
  { judged, entities }: { judged: readonly ConditionRow[]; entities: readonly string[] },
): NonNullable<ResultParts['figures']> {
  const curve = (fields: Fields, by: string, axes: { xTitle: string; panel: string }): Chart =>
    bandChart(matching(rows, { metric: 'em', late: 'wrong', ...fields }), {
      ...axes,
      title: `Exact match by ${by}, with 95 % intervals`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'at_most',
      color: 'method',
      interpolate: 'step-after',
      points: true,
    });
  const byTurns = (cells: Fields, by: string, panel = 'subset'): Chart => {
    const xTitle = axisTitle('Turn limit', 'search turns');
    return curve({ limit: 'turns', ...cells }, `search turns allowed and ${by}`, { xTitle, panel });
  };
  const types = ['single_hop', 'parallelizable', 'sequential', 'hybrid'];
  const benchmarks = [...Object.keys(BENCHMARK_TITLES), 'average'];
  const inSeconds = { limit: 'seconds', benchmark: MANY, subset: 'all' };
  return {
    ...(judged.length > 0 && {
      leads: conditionsChart(
        judged,
        'ParallelSearch’s lead in exact match over Search-R1, with 95 % intervals',
      ),
    }),
    entities: byTurns({ benchmark: MANY, subset: entities }, 'entities compared'),
    types: byTurns({ benchmark: 'all', subset: types }, 'question type'),
    benchmarks: byTurns({ benchmark: benchmarks, subset: 'all' }, 'benchmark', 'benchmark'),
    ...(matching(rows, inSeconds).length > 0 && {
      seconds: curve(inSeconds, 'time allowed, comparisons of two to eight', {
        xTitle: axisTitle('Time limit', 'seconds per question'),
        panel: 'request_ms',
      }),
    }),
    tokens: curve(
      { limit: 'tokens', benchmark: ['average', MANY], subset: 'all' },
      'tokens allowed for the whole transcript',
      { xTitle: axisTitle('Token limit', 'per transcript'), panel: 'benchmark' },
    ),
  };
}

/** A row for each condition: the difference with its interval, and the prediction. */
export function conditionsChart(judged: readonly ConditionRow[], title: string): Chart {
  const values = judged.map(({ condition, value, low, high, predicted, expected, found }) => {
    const [difference, from, to, before] = [value, low, high, predicted].map((x) => 100 * x);
    // The chart's title has the rest.
    const label = condition.replace(/evidence found, |^Half of the information, /, '');
    return { label, condition, difference, from, to, predicted: before, expected, found };
  });
  const labels = { labelLimit: 300, maxExtent: 400 };
  const y = { field: 'label', type: 'nominal', sort: null, title: 'Condition', axis: labels };
  const x = { type: 'quantitative', title: axisTitle('Lead', 'points'), axis: { tickCount: 6 } };
  const domain = ['difference', 'predicted'];
  const legend = {
    orient: 'top',
    labelExpr: "datum.label === 'predicted' ? 'Predicted' : 'Found'",
  };
  const channel = (...range: string[]) => ({
    field: 'which',
    type: 'nominal',
    title: null,
    legend,
    scale: { domain, range },
  });
  const found = STYLES[0].color;
  const predicted = STYLES[2].color;
  const numbers = ['difference', 'from', 'to', 'predicted'];
  const tooltip = [
    { field: 'condition' },
    ...numbers.map((field) => ({ field, type: 'quantitative', format: '.1f' })),
    { field: 'found' },
  ];
  const spoken = values.map(
    ({ condition, difference, predicted }) =>
      `${condition}: ${figureText(difference, 1)} (predicted ${figureText(predicted, 1)})`,
  );
  return createChart({
    title,
    subtitle: 'Predicted before the questions were drawn (small world)',
    alt: `${spoken.join('; ')} points.`,
    spec: {
      data: { values },
      width: 290,
      height: { step: 20 },
      layer: [
        {
          mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
          encoding: { x: { ...x, datum: 0 } },
        },
        {
          mark: { type: 'rule', strokeWidth: 2, color: found },
          encoding: { y, x: { ...x, field: 'from' }, x2: { field: 'to' } },
        },
        {
          transform: [{ fold: domain, as: ['which', 'lead'] }],
          mark: { type: 'point', size: 65, opacity: 1, strokeWidth: 1.5 },
          encoding: {
            y,
            x: { ...x, field: 'lead' },
            stroke: channel(found, predicted),
            fill: channel(found, 'transparent'),
            shape: channel('circle', 'diamond'),
            tooltip,
          },
        },
      ],
    },
  });
}
