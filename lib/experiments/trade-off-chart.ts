/** The one chart that has two quantities: what right answers cost. */
import {
  type Chart,
  chartOf,
  SMALL_WORLD_NOTE,
  axisTitle,
  type VegaLiteSpec,
  seriesOf,
} from '../report/chart.js';
import { type Rows, rowsOf } from '../report/frame.js';
import { metricInfo, titleOf, valuesOf } from '../report/titles.js';
import { figureText } from '../report/text.js';

function axis(metric: string): VegaLiteSpec {
  const { title, unit } = metricInfo(metric);
  return { type: 'quantitative', title: axisTitle(title, unit), scale: { zero: false } };
}

interface TradeOff {
  /** What a point is of. */
  of: 'setting' | 'method';
  /** What its colour and shape tell. */
  color: 'rewards' | 'method';
  questions: string;
  /** Whether a line joins those that none beats in both. */
  hasFront?: boolean;
  /**
   * Only points that are at most so far below the most right answers, to see those apart
   * that lie close.
   */
  within?: number;
}

const SETTINGS: TradeOff = {
  of: 'setting',
  color: 'rewards',
  questions: 'parallelizable questions',
};

/** Exact match against model calls. @param rows of both metrics, one each for a point */
export function tradeOffChart(
  rows: Rows,
  { of, color: by, questions, hasFront, within = 1 } = SETTINGS,
): Chart {
  const all = rowsOf(rows);
  const answers = all.filter(({ metric }) => metric === 'em');
  const least = Math.max(...answers.map(({ value }) => Number(value))) - within;
  const values = answers
    .filter(({ value }) => Number(value) >= least)
    .map(({ value: em, low: emLow, high: emHigh, ...row }) => {
      const calls = all.find((other) => other.metric === 'model_calls' && other[of] === row[of])!;
      return {
        [of]: titleOf(of, row[of]),
        [by]: titleOf(by, row[by]),
        em: Number(em),
        emLow,
        emHigh,
        calls: Number(calls.value),
        callsLow: calls.low,
        callsHigh: calls.high,
      };
    });
  const front = values.filter(
    (one) =>
      !values.some(
        (other) =>
          other.em >= one.em &&
          other.calls <= one.calls &&
          (other.em > one.em || other.calls < one.calls),
      ),
  );
  const { color, shape } = seriesOf(by, valuesOf(by, all).map(String));
  const [x, y] = [axis('model_calls'), axis('em')];
  const place = { x: { ...x, field: 'calls' }, y: { ...y, field: 'em' } };
  const at = { ...place, color };
  const spoken = values.map(
    ({ em, calls, ...point }) =>
      `${String((point as Record<string, unknown>)[of])} ${figureText(em)} with ${figureText(calls, 2)} calls`,
  );
  const what = of === 'setting' ? 'setting (lambda_d, lambda_s)' : of;
  return chartOf({
    title: `Exact match${within < 1 ? ` within ${within} of the best` : ''} against model calls, ${questions}, with 95 % intervals`,
    subtitle: SMALL_WORLD_NOTE,
    alt: `Exact match and model calls of each ${what}: ${spoken.join('; ')}.`,
    spec: {
      data: { values },
      width: 460,
      height: 280,
      layer: [
        ...(hasFront
          ? [
              {
                data: { values: front },
                mark: { type: 'line', strokeDash: [4, 4] },
                encoding: place,
              },
            ]
          : []),
        { mark: 'rule', encoding: { ...at, y: { ...y, field: 'emLow' }, y2: { field: 'emHigh' } } },
        {
          mark: 'rule',
          encoding: { ...at, x: { ...x, field: 'callsLow' }, x2: { field: 'callsHigh' } },
        },
        { mark: { type: 'point', filled: true, size: 80, opacity: 1 }, encoding: { ...at, shape } },
      ],
    },
  });
}
