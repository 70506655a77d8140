/** The curves of one training run, from the lines of its `metrics.jsonl`. */
import { chartOf, SMALL_WORLD, titled, type Chart } from '../../report/chart.js';
import { SERIES_COLORS } from '../../report/series.js';
import { figureText } from '../../report/text.js';

/** The metrics of one step by their names. */
export interface StepMetrics {
  step: number;
  metrics: Readonly<Record<string, number>>;
}

interface Curve {
  name: string;
  /** The metric, under the name that training gives it. */
  metric: string;
  /** A share of questions; where it is 0 the metric is about nothing. */
  share?: string;
}

interface CurveChart {
  /** Of exported files. */
  id: string;
  title: string;
  unit: string;
  curves: readonly Curve[] | ((steps: readonly StepMetrics[]) => Curve[]);
}

const single = (id: string, title: string, unit: string, metric: string): CurveChart => ({
  ...{ id, title, unit },
  curves: [{ name: title, metric }],
});

/** A curve for each reward of the run, whatever they are. */
function rewardCurves(steps: readonly StepMetrics[]): Curve[] {
  const names = new Set(steps.flatMap(({ metrics }) => Object.keys(metrics)));
  return [...names]
    .filter((metric) => metric.startsWith('rewards/'))
    .map((metric) => ({ name: metric.slice('rewards/'.length).replaceAll('_', ' '), metric }));
}

const RUN_CHARTS: readonly CurveChart[] = [
  single('reward', 'Reward', 'mean per rollout', 'reward'),
  {
    ...{ id: 'reward-components', title: 'Reward by component', unit: 'mean per rollout' },
    curves: rewardCurves,
  },
  single('turns', 'Search turns', 'mean per rollout', 'turns'),
  single('response-length', 'Response length', 'tokens', 'completions/mean_length'),
  {
    ...{ id: 'decomposition', title: 'Decomposed', unit: 'share of rollouts' },
    curves: [
      { name: 'all questions', metric: 'decomposition_ratio' },
      {
        name: 'parallelizable',
        metric: 'decomposition_ratio/parallelizable',
        share: 'share/parallelizable',
      },
      { name: 'sequential', metric: 'decomposition_ratio/sequential', share: 'share/sequential' },
    ],
  },
  single('kl', 'KL to the reference', 'nats per token', 'kl'),
  single('entropy', 'Entropy', 'nats per token', 'entropy'),
  single('clip-fraction', 'Clipped', 'share of tokens', 'clip_ratio'),
  single('gradient-norm', 'Gradient norm', 'before clipping', 'grad_norm'),
];

const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [1, 3],
];
/** Beyond so many steps a line says more than its points. */
const MOST_POINTS = 60;

interface CurveValue {
  step: number;
  curve: string;
  value: number;
}

function valuesOf({ name, metric, share }: Curve, steps: readonly StepMetrics[]): CurveValue[] {
  return steps.flatMap(({ step, metrics }) =>
    metrics[metric] === undefined || (share !== undefined && metrics[share] === 0)
      ? []
      : [{ step, curve: name, value: metrics[metric] }],
  );
}

/** All charts of a run that has done at least one step, each with the name of its files. */
export function runCharts(steps: readonly StepMetrics[]): { id: string; chart: Chart }[] {
  return RUN_CHARTS.flatMap((charted) => {
    const chart = runChart(charted, steps);
    return chart ? [{ id: charted.id, chart }] : [];
  });
}

function runChart({ title, unit, curves }: CurveChart, steps: readonly StepMetrics[]): Chart | null {
  const drawn = (typeof curves === 'function' ? curves(steps) : curves)
    .map((curve) => ({ name: curve.name, values: valuesOf(curve, steps) }))
    .filter(({ values }) => values.length > 0);
  if (drawn.length === 0) return null;
  const names = drawn.map(({ name }) => name);
  const legend = names.length > 1 ? { symbolType: 'stroke', symbolStrokeWidth: 3 } : null;
  const channel = { field: 'curve', type: 'nominal', title: 'Curve', legend };
  const ends = drawn.map(
    ({ name, values }) =>
      `${name} from ${figureText(values[0].value)} to ${figureText(values.at(-1)?.value)}`,
  );
  return chartOf({
    title,
    subtitle: SMALL_WORLD,
    alt: `${title} (${unit}) at each of ${steps.length} steps: ${ends.join(', ')}.`,
    spec: {
      data: { values: drawn.flatMap(({ values }) => values) },
      width: 330,
      height: 180,
      mark: { type: 'line', strokeWidth: 2, point: steps.length <= MOST_POINTS },
      encoding: {
        x: {
          field: 'step',
          type: 'quantitative',
          title: titled('Training', 'GRPO steps'),
          axis: { tickMinStep: 1, format: 'd' },
        },
        y: { field: 'value', type: 'quantitative', title: titled(title, unit), scale: { zero: false } },
        color: { ...channel, scale: { domain: names, range: SERIES_COLORS.slice(0, names.length) } },
        strokeDash: { ...channel, scale: { domain: names, range: DASHES.slice(0, names.length) } },
      },
    },
  });
}
