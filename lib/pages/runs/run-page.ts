/** The page of a training run, live or as a report. */
import path from 'node:path';
import { mean, sum } from 'd3-array';
import { writeFileSafely } from '../../io/files.js';
import { markup, type Content, type Markup } from '../../report/markup.js';
import { figureText } from '../../report/text.js';
import { metricInfo, valueTitle } from '../../report/titles.js';
import { trainerSettings, type TrainConfig } from '../../training/config.js';
import { configDifferences } from '../../training/overrides.js';
import { resolveGuards, isAlarming, type Guard } from '../../training/guards.js';
import { parseModelName } from '../../training/models.js';
import type { RunDescription } from '../../training/run.js';
import { tableFigure } from '../figures.js';
import { citationSection, provenanceSection, sectionMarkup } from '../sections.js';
import { curveCharts, type Curve, type CurvesChart } from './curves.js';
import { readRun, type RunState, type StepMetrics } from '../../training/run-folder.js';
import { liveMarkup, sectionsPage } from './frame.js';
import {
  findReference,
  initialModelKind,
  nearestPoint,
  ownMean,
  type Expectation,
  type Reference,
} from './reference.js';
import { rolloutSlider } from './rollouts.js';

/** The sections that change during training. */
const SECTIONS = [
  { id: 'curves', text: 'Curves' },
  { id: 'guards', text: 'Guards' },
  { id: 'rollouts', text: 'Rollouts' },
] as const;

/** Number of steps whose rollouts a standalone page carries. */
const CARRIED_STEPS = 12;

/** How a page is kept up to date. */
interface LiveOptions {
  isLive?: boolean;
  /** Query prefix of a live page's requests. */
  query?: string;
}

/** Renders the page; a live one asks its server for updates. */
export async function runPageHtml(
  run: RunDescription,
  state: RunState,
  live: LiveOptions = {},
): Promise<string> {
  const { method, model, seed } = run.config;
  const on = run.data ? ` on ${path.basename(run.data)}` : '';
  const title = `Training: ${valueTitle('method', method)} from ${path.basename(model)}${on}, seed ${seed}`;
  const first = { id: 'configuration', text: 'Configuration', content: configuration(run) };
  const last = [provenanceSection(run.provenance), citationSection(title, run.provenance.commit)];
  const main = [sectionMarkup(first), await runContent(run, state, live), last.map(sectionMarkup)];
  return sectionsPage({
    title,
    description: 'Configuration, curves, guards and rollouts of a training run.',
    headings: [first, ...SECTIONS, ...last],
    main,
    isLive: live.isLive,
  });
}

/** The settings that differ from the preset, then data, model and machine. */
function configuration({ config, preset, data, provenance }: RunDescription): Content {
  const { method, model, trainer } = config;
  const differences = preset && configDifferences(config, preset);
  const rows = (differences ?? []).map(({ name, value, preset }) => [name, value, preset]);
  const caption = `Settings that differ from the preset of ${method}.`;
  const table =
    rows.length > 0
      ? tableFigure({ caption, columns: ['Setting', 'Here', 'Preset'], rows }, 'settings')
      : preset && markup('p', 'All settings are the preset’s.');
  const { steps, questionsPerStep, groupSize } = trainerSettings(config);
  const facts = {
    Data: data ? path.basename(data) : parseModelName(model) ? 'the small world' : undefined,
    Model: model,
    Training: `${trainer.replace(/^(grpo|ppo)$/, (name) => name.toUpperCase())}, ${steps} steps of ${questionsPerStep} questions × ${groupSize} rollouts`,
    Machine: [provenance.hardware, provenance.backend].filter(Boolean).join('; ') || undefined,
  };
  const list = Object.entries(facts).flatMap(([name, text]) =>
    text === undefined ? [] : [markup('dt', name), markup('dd', text)],
  );
  const whole = markup(
    'details',
    markup('summary', 'Whole configuration'),
    markup('pre', JSON.stringify(config, null, 2)),
  );
  return [table, markup('dl.provenance', list), whole];
}

/** The part of the page that changes. */
export async function runContent(
  { config, data }: RunDescription,
  state: RunState,
  { isLive = false, query = '' }: LiveOptions = {},
): Promise<Markup> {
  const { steps, rollouts, version } = state;
  const place = { model: config.model, data: data && path.basename(data) };
  const expectation = await findReference({ config, data }, steps);
  const live = { steps: steps.map(({ step }) => step), source: `rollouts?${query}` };
  const charts = runCharts(steps, { ...place, bands: bandsFor(expectation, config) });
  const contents =
    steps.length === 0
      ? SECTIONS.map(() => markup('p', 'No step finished yet.'))
      : [
          [expectationContent(expectation, config, steps), await curveCharts(charts)],
          guardsContent(steps, config),
          rolloutSlider([{ name: 'this run', rollouts, ...(isLive && { live }) }]),
        ];
  return liveMarkup({ version, source: `content?${query}` }, [
    markup('p', { id: 'progress' }, progressText(config, steps)),
    SECTIONS.map((section, i) => sectionMarkup({ ...section, content: contents[i] })),
  ]);
}

function progressText(config: TrainConfig, steps: readonly StepMetrics[]): string {
  const duration = ({ metrics }: StepMetrics): number =>
    (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0);
  const seconds = steps.length === 0 ? '' : `, ${mean(steps, duration)!.toFixed(1)} s per step`;
  return `${steps.length} of ${trainerSettings(config).steps} steps finished${seconds}.`;
}

/** The bands of a reference, up to the run's last step. */
function bandsFor({ reference }: Expectation, config: TrainConfig): Reference['bands'] {
  const { steps } = trainerSettings(config);
  const bands = Object.entries(reference?.bands ?? {});
  return Object.fromEntries(
    bands.map(([metric, band]) => [metric, band.filter(([step]) => step <= steps)]),
  );
}

/** Steps in the table of what to expect. */
const MILESTONES = [20, 50, 100, 200];
/** Its metrics: what a newcomer looks at first. */
const EXPECTED_METRICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'decomposition_ratio/parallelizable',
  'entropy',
];

/** Explains the bands with figures to compare the run with, or why there are none. */
function expectationContent(
  { reference, reason }: Expectation,
  { method, model }: TrainConfig,
  steps: readonly StepMetrics[],
): Content {
  if (!reference) return reason && markup('p', reason);
  const { numRuns, bands } = reference;
  const intro = `Shaded: what to expect. In ${numRuns} recorded runs of ${valueTitle('method', method)} from ${initialModelKind(model)} models, 80\u00a0% of the values around a step lay in the band; the thin line is their median. A healthy run leaves the band now and then but does not stay outside.`;
  const rows = EXPECTED_METRICS.map((metric) => {
    const { title, unit } = metricInfo(metric);
    const cells = MILESTONES.map((milestone) => {
      const at = milestone - 1;
      const [, low, median, high] = nearestPoint(bands[metric], at);
      const runMean = ownMean(steps, metric, at);
      const here = runMean === undefined ? '' : `; here ${figureText(runMean, 2)}`;
      return `${figureText(median, 2)} (${figureText(low, 2)} to ${figureText(high, 2)})${here}`;
    });
    return [`${title} (${unit})`, ...cells];
  });
  const columns = ['Metric', ...MILESTONES.map((milestone) => `After ${milestone} steps`)];
  const caption = 'What to expect: median, and 10th to 90th percentile, of recorded runs.';
  return [markup('p', intro), tableFigure({ caption, columns, rows }, 'expectation', true)];
}

/** Every guard with its latest value and number of alarms; folded while none fired. */
function guardsContent(steps: readonly StepMetrics[], config: TrainConfig): Content {
  const newest = steps.at(-1)!;
  const rings = (guard: Guard, { metrics }: StepMetrics): boolean =>
    guard.metric in metrics && isAlarming(guard, metrics[guard.metric]);
  const guards = resolveGuards(config).filter(({ metric }) => metric in newest.metrics);
  const ringing = guards.filter((guard) => rings(guard, newest));
  const numAlarms = guards.map((guard) => steps.filter((step) => rings(guard, step)).length);
  const rows = guards.map((guard, i) => [
    guard.metric,
    ringing.includes(guard) ? 'ALARM' : 'ok',
    figureText(newest.metrics[guard.metric]),
    `${guard.alarmWhen} ${guard.limit}`,
    String(numAlarms[i]),
    guard.action,
    guard.advice,
  ]);
  const columns = ['Metric', 'Status', 'Value', 'Alarm if', 'Alarms', 'Action', 'Meaning'];
  const total = sum(numAlarms);
  const calm = total === 0 ? 'No alarms.' : `No alarm now; ${total} before.`;
  const verdict =
    ringing.length === 0
      ? markup('p.calm', calm)
      : markup('p.alarm', `Alarm: ${ringing.map(({ advice }) => advice).join('; ')}.`);
  const caption = `Guards at step ${newest.step}.`;
  return [verdict, tableFigure({ caption, columns, rows }, 'guards', total === 0)];
}

function runCharts(
  steps: readonly StepMetrics[],
  { bands, ...place }: Pick<CurvesChart, 'model' | 'data'> & { bands: Reference['bands'] },
): CurvesChart[] {
  const chart = (id: string, title: string, unit: string, curves: string | Curve[]) => {
    const single = typeof curves === 'string' ? [{ name: title, metric: curves, steps }] : curves;
    const withBands = single.map((curve) => ({ ...curve, band: bands[curve.metric] }));
    return { id, title, unit, ...place, curves: withBands };
  };
  const metrics = new Set(steps.flatMap((step) => Object.keys(step.metrics)));
  const components = [...metrics]
    .filter((metric) => metric.startsWith('rewards/'))
    .map((metric): Curve => {
      return { name: metric.slice('rewards/'.length).replaceAll('_', ' '), metric, steps };
    });
  const decomposition = ['parallelizable', 'sequential'].map((name): Curve => {
    // Only steps with such questions.
    const asked = steps.filter((step) => step.metrics[`share/${name}`] !== 0);
    return { name, metric: `decomposition_ratio/${name}`, steps: asked };
  });
  const all = { name: 'all questions', metric: 'decomposition_ratio', steps };
  return [
    chart('reward', 'Reward', 'mean per rollout', 'reward'),
    chart('reward-components', 'Reward by component', 'mean per rollout', components),
    chart('turns', 'Search turns', 'mean per rollout', 'turns'),
    chart('response-length', 'Response length', 'tokens', 'completions/mean_length'),
    chart('decomposition', 'Decomposed', 'share of rollouts', [all, ...decomposition]),
    chart('kl', 'KL to the reference', 'nats per token', 'kl'),
    chart('entropy', 'Entropy', 'nats per token', 'entropy'),
    chart('clip-fraction', 'Clipped', 'share of tokens', 'clip_ratio'),
    chart('gradient-norm', 'Gradient norm', 'before clipping', 'grad_norm'),
  ];
}

/** Writes `report.html`, which works offline, to a run's folder. Returns its path. */
export async function writeRunReport(folder: string, run: RunDescription): Promise<string> {
  const file = path.join(folder, 'report.html');
  const state = await readRun(folder, { numSteps: CARRIED_STEPS });
  await writeFileSafely(file, await runPageHtml(run, state));
  return file;
}
