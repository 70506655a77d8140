/**
 * The curves of training, from the lines of `metrics.jsonl`: of one run, or one of
 * several runs in each chart.
 */
import { trainingRows } from '../../report/curves.js';
import { metricInfo } from '../../report/metrics.js';
import { chartOf, SMALL_WORLD, titled, type Chart } from '../../report/chart.js';
import { SERIES_COLORS } from '../../report/series.js';
import { figureText } from '../../report/text.js';

/** The metrics of one step by their names. */
export interface StepMetrics {
  step: number;
  metrics: Readonly<Record<string, number>>;
}

/** What a curve is called, and its metric under the name that training gives it. */
type Curves = Readonly<Record<string, string>>;

/** By the names of exported files. */
const RUN_CHARTS: Readonly<
  Record<string, { title: string; unit: string; curves?: Curves; metric?: string }>
> = {
  reward: { title: 'Reward', unit: 'mean per rollout', metric: 'reward' },
  'reward-components': { title: 'Reward by component', unit: 'mean per rollout' },
  turns: { title: 'Search turns', unit: 'mean per rollout', metric: 'turns' },
  'response-length': {
    title: 'Response length',
    unit: 'tokens',
    metric: 'completions/mean_length',
  },
  decomposition: {
    title: 'Decomposed',
    unit: 'share of rollouts',
    curves: {
      'all questions': 'decomposition_ratio',
      parallelizable: 'decomposition_ratio/parallelizable',
      sequential: 'decomposition_ratio/sequential',
    },
  },
  kl: { title: 'KL to the reference', unit: 'nats per token', metric: 'kl' },
  entropy: { title: 'Entropy', unit: 'nats per token', metric: 'entropy' },
  'clip-fraction': { title: 'Clipped', unit: 'share of tokens', metric: 'clip_ratio' },
  'gradient-norm': { title: 'Gradient norm', unit: 'before clipping', metric: 'grad_norm' },
};

/** A curve for each reward of the run, whatever they are. */
function rewardCurves(steps: readonly StepMetrics[]): Curves {
  const names = steps.flatMap(({ metrics }) =>
    Object.keys(metrics).filter((name) => name.startsWith('rewards/')),
  );
  return Object.fromEntries(
    names.map((name) => [name.slice('rewards/'.length).replaceAll('_', ' '), name]),
  );
}

const DASHES = ['1 0', '6 3', '2 2', '8 3 2 3', '1 3'].map((dash) => dash.split(' ').map(Number));
/** As many as there are names; beyond the last one it begins again. */
const inTurn = <T>(styles: readonly T[], names: readonly string[]): T[] =>
  names.map((_, i) => styles[i % styles.length]);
/** Beyond so many steps a line says more than its points. */
const MOST_POINTS = 60;

/**
 * The values of a curve; of a kind of question, only at steps that had such questions.
 */
function valuesOf(curve: string, metric: string, steps: readonly StepMetrics[]) {
  const share = metric.replace(/^decomposition_ratio\//, 'share/');
  return steps
    .filter(({ metrics }) => metric in metrics && (share === metric || metrics[share] !== 0))
    .map(({ step, metrics }) => ({ step, curve, value: metrics[metric] }));
}

/**
 * All charts of a run that has done at least one step, each with the name of its files.
 */
export function runCharts(steps: readonly StepMetrics[]): { id: string; chart: Chart }[] {
  return Object.entries(RUN_CHARTS).flatMap(([id, { title, unit, metric, ...told }]) => {
    const curves = told.curves ?? (metric ? { [title]: metric } : rewardCurves(steps));
    const chart = runChart(title, unit, curves, steps);
    return chart ? [{ id, chart }] : [];
  });
}

interface Curve {
  name: string;
  values: { step: number; curve: string; value: number }[];
}

function runChart(
  title: string,
  unit: string,
  curves: Curves,
  steps: readonly StepMetrics[],
): Chart | null {
  const drawn = Object.entries(curves)
    .map(([name, metric]) => ({ name, values: valuesOf(name, metric, steps) }))
    .filter(({ values }) => values.length > 0);
  return drawn.length === 0
    ? null
    : curvesChart({ title, unit, subtitle: SMALL_WORLD }, drawn, steps.length);
}

/**
 * A chart of a metric with a curve for each run that has it, averaged over windows
 * where steps are many; null where none has.
 * @param subtitle under its title; default none
 */
export function comparedChart(
  metric: string,
  runs: readonly { name: string; steps: readonly StepMetrics[] }[],
  subtitle?: string,
): Chart | null {
  const drawn = runs.flatMap(({ name, steps }): Curve[] => {
    const points = steps.map(({ step, metrics }) => {
      return { ...metrics, step, method: name, model: '', seed: 1 };
    });
    const rows = trainingRows(points, [metric], MOST_POINTS);
    const values = rows.map(({ step, value }) => ({ step, curve: name, value }));
    return values.length === 0 ? [] : [{ name, values }];
  });
  const numSteps = Math.max(0, ...runs.map(({ steps }) => steps.length));
  return drawn.length === 0
    ? null
    : curvesChart({ ...metricInfo(metric), subtitle }, drawn, numSteps);
}

/** Lines over the steps of training, told apart by colour and by dashes. */
function curvesChart(
  { title, unit, subtitle }: { title: string; unit: string; subtitle?: string },
  drawn: readonly Curve[],
  numSteps: number,
): Chart {
  const names = drawn.map(({ name }) => name);
  const point = drawn.every(({ values }) => values.length <= MOST_POINTS);
  const legend = names.length > 1 ? { symbolType: 'stroke', symbolStrokeWidth: 3 } : null;
  const channel = { field: 'curve', type: 'nominal', title: 'Curve', legend };
  const ends = drawn.map(
    ({ name, values }) =>
      `${name} from ${figureText(values[0].value)} to ${figureText(values.at(-1)?.value)}`,
  );
  return chartOf({
    title,
    subtitle,
    alt: `${title} (${unit}) at each of ${numSteps} steps: ${ends.join(', ')}.`,
    spec: {
      data: { values: drawn.flatMap(({ values }) => values) },
      width: 330,
      height: 180,
      mark: { type: 'line', strokeWidth: 2, point },
      encoding: {
        x: {
          field: 'step',
          type: 'quantitative',
          title: titled('Training', 'GRPO steps'),
          axis: { tickMinStep: 1, format: 'd' },
        },
        y: {
          field: 'value',
          type: 'quantitative',
          title: titled(title, unit),
          scale: { zero: false },
        },
        color: { ...channel, scale: { domain: names, range: inTurn(SERIES_COLORS, names) } },
        strokeDash: { ...channel, scale: { domain: names, range: inTurn(DASHES, names) } },
      },
    },
  });
}
