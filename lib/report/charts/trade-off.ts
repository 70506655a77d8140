/** Exact match against model calls: what right answers cost. */
import { extent } from 'd3-array';
import { toRows, type Rows } from '../frame.js';
import { figureText } from '../text.js';
import { metricInfo, valueTitle, distinctValues } from '../titles.js';
import { axisTitle, SMALL_WORLD_NOTE } from './chart.js';
import { seriesChannels } from './series.js';
import { createChart, type Chart, type VegaLiteSpec } from './spec.js';

/** Readable on white and on black. */
const GREY = '#888888';

interface TradeOff {
  /** What a point is. */
  of: 'setting' | 'method';
  /** What colour and shape show. */
  color: 'rewards' | 'method';
  questions: string;
  /** Whether a dashed line joins the points that are not dominated. */
  hasFront?: boolean;
  /** Drops points further below the best, to separate close ones. */
  within?: number;
  /** Replaces points this close to the best with a box; another chart shows them. */
  boxed?: number;
}

const SETTINGS: TradeOff = {
  of: 'setting',
  color: 'rewards',
  questions: 'parallelizable questions',
};

const axis = (metric: string, field: string): VegaLiteSpec => {
  const { title, unit } = metricInfo(metric);
  const scale = { zero: false, padding: 8 };
  return { field, type: 'quantitative', title: axisTitle(title, unit), scale };
};

/** @param rows of `em` and `model_calls`, one of each per point */
export function tradeOffChart(
  rows: Rows,
  { of, color: by, questions, hasFront, within = 1, boxed = 0 } = SETTINGS,
): Chart {
  const all = toRows(rows);
  const answers = all.filter(({ metric }) => metric === 'em');
  const best = Math.max(...answers.map(({ value }) => Number(value)));
  const shown = answers.filter(({ value }) => Number(value) >= best - within);
  const values = shown.map((em) => {
    const calls = all.find((row) => row.metric === 'model_calls' && row[of] === em[of])!;
    return {
      [of]: valueTitle(of, em[of]),
      [by]: valueTitle(by, em[by]),
      name: valueTitle(of, em[of]),
      em: Number(em.value),
      emLow: em.low,
      emHigh: em.high,
      calls: Number(calls.value),
      callsLow: calls.low,
      callsHigh: calls.high,
    };
  });
  const front = values.filter(
    ({ em, calls }) =>
      !values.some(
        (other) => other.em >= em && other.calls <= calls && (other.em > em || other.calls < calls),
      ),
  );
  const isBoxed = ({ em }: { em: number }): boolean => boxed > 0 && em >= best - boxed;
  const inBox = values.filter(isBoxed);
  const apart = values.filter((point) => !isBoxed(point));
  const named = shown.filter(({ value }) => !isBoxed({ em: Number(value) }));
  const { color, shape } = seriesChannels(by, distinctValues(by, named).map(String));
  const x = { ...axis('model_calls', 'calls'), axis: { tickCount: 8, labelFlush: false } };
  const y = axis('em', 'em');
  const line = { type: 'line', strokeDash: [4, 4] };
  // Hollow, because points may overlap.
  const point = { type: 'point', filled: boxed === 0, size: 80, opacity: 1, strokeWidth: 2 };
  const emRule = { x, y: { ...y, field: 'emLow' }, y2: { field: 'emHigh' }, color };
  const callsRule = { x: { ...x, field: 'callsLow' }, x2: { field: 'callsHigh' }, y, color };
  const spoken = values.map(
    ({ name, em, calls }) => `${name} ${figureText(em)} with ${figureText(calls, 2)} calls`,
  );
  return createChart({
    title: `Exact match against model calls, ${questions}${within < 1 ? ', the best methods' : ''}, with 95 % intervals`,
    subtitle:
      inBox.length > 0
        ? `${SMALL_WORLD_NOTE}. Grey box: ${inBox.length} ${of}s, in the next chart`
        : SMALL_WORLD_NOTE,
    alt: `Exact match and model calls of each ${of === 'setting' ? 'setting (lambda_d, lambda_s)' : of}: ${spoken.join('; ')}.`,
    spec: {
      data: { values: apart },
      width: 460,
      height: 280,
      layer: [
        ...(hasFront ? [{ data: { values: front }, mark: line, encoding: { x, y } }] : []),
        ...(inBox.length > 0 ? [boxLayer(inBox, { x, y })] : []),
        { mark: 'rule', encoding: emRule },
        { mark: 'rule', encoding: callsRule },
        { mark: point, encoding: { x, y, color, shape } },
      ],
    },
  });
}

/** A box in place of points. */
function boxLayer(
  points: readonly { em: number; calls: number }[],
  { x, y }: { x: VegaLiteSpec; y: VegaLiteSpec },
): VegaLiteSpec {
  const [callsLow, callsHigh] = extent(points, ({ calls }) => calls) as [number, number];
  const [emLow, emHigh] = extent(points, ({ em }) => em) as [number, number];
  const margin = 8;
  const offsets = { xOffset: -margin, x2Offset: margin, yOffset: margin, y2Offset: -margin };
  const rect = { type: 'rect', fill: GREY, fillOpacity: 0.3, stroke: GREY, cornerRadius: 3 };
  return {
    data: { values: [{ callsLow, callsHigh, emLow, emHigh }] },
    mark: { ...rect, ...offsets, aria: false },
    encoding: {
      x: { ...x, field: 'callsLow' },
      x2: { field: 'callsHigh' },
      y: { ...y, field: 'emLow' },
      y2: { field: 'emHigh' },
    },
  };
}
