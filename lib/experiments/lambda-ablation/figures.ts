/** The one chart of this report that has two quantities: what right answers cost. */
import { chartOf, SMALL_WORLD, titled, type Chart, type VegaLiteSpec } from '../../report/chart.js';
import { rowsOf, type Rows } from '../../report/frame.js';
import { metricInfo } from '../../report/metrics.js';
import { seriesOf } from '../../report/series.js';
import { figureText } from '../../report/text.js';
import { titleOf, valuesOf } from '../../report/titles.js';

function axis(metric: string): VegaLiteSpec {
  const { title, unit } = metricInfo(metric);
  return { type: 'quantitative', title: titled(title, unit), scale: { zero: false } };
}

/** Exact match against model calls, a point for each setting. @param rows of both metrics, one each for a setting */
export function tradeOffChart(rows: Rows): Chart {
  const all = rowsOf(rows);
  const values = all
    .filter(({ metric }) => metric === 'em')
    .map(({ setting, rewards, value: em, low: emLow, high: emHigh }) => {
      const calls = all.find((row) => row.metric === 'model_calls' && row.setting === setting)!;
      return {
        ...{ setting, rewards: titleOf('rewards', rewards), em, emLow, emHigh },
        ...{ calls: calls.value, callsLow: calls.low, callsHigh: calls.high },
      };
    });
  const kinds = valuesOf('rewards', all).map(String);
  const { color, shape } = seriesOf('rewards', kinds);
  const [x, y] = [axis('model_calls'), axis('em')];
  const at = { x: { ...x, field: 'calls' }, y: { ...y, field: 'em' }, color };
  const spoken = values.map(
    ({ setting, em, calls }) =>
      `${setting} ${figureText(em as number)} with ${figureText(calls as number, 2)} calls`,
  );
  return chartOf({
    title: 'Exact match against model calls, parallelizable questions, with 95 % intervals',
    subtitle: SMALL_WORLD,
    alt: `Exact match and model calls of each setting (lambda_d, lambda_s): ${spoken.join('; ')}.`,
    spec: {
      data: { values },
      ...{ width: 460, height: 280 },
      layer: [
        { mark: 'rule', encoding: { ...at, y: { ...y, field: 'emLow' }, y2: { field: 'emHigh' } } },
        { mark: 'rule', encoding: { ...at, x: { ...x, field: 'callsLow' }, x2: { field: 'callsHigh' } } },
        { mark: { type: 'point', filled: true, size: 80, opacity: 1 }, encoding: { ...at, shape } },
      ],
    },
  });
}
