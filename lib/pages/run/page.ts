/** The page of a training run, live or as a report. */
import path from 'node:path';
import { group, mean } from 'd3-array';
import { escapeHtml, markup, markupHtml, type Markup } from '../../html/markup.js';
import { bundleScript, PROVENANCE, provenanceHtml } from '../../html/page.js';
import { segmentsMarkup } from '../../html/segments.js';
import { writeFileSafely } from '../../io/files.js';
import type { Provenance } from '../../io/provenance.js';
import { trainerSettings, type TrainConfig } from '../../training/config.js';
import { CITATION, citationHtml } from '../../report/citation.js';
import { tableFigureHtml } from '../../report/figures.js';
import { figureText } from '../../report/text.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { resolveGuards, isAlarming, type Guard } from '../../training/guards.js';
import {
  curvesHtml,
  rolloutFacts,
  sectionHtml,
  sectionsPage,
  type Curve,
  type CurvesChart,
} from '../parts.js';
import { readRun, type RunState, type StepMetrics } from './folder.js';

/** Known before the run starts. */
export interface RunDescription {
  config: TrainConfig;
  provenance: Provenance;
  /** The data folder of `--data`; absent in the small world. */
  data?: string;
}

/** Milliseconds between two requests of the live page. */
export const POLL_MS = 2000;
/** Most groups of rollouts shown. */
const MAX_GROUPS = 8;

const SECTIONS = [
  { id: 'guards', text: 'Guards' },
  { id: 'curves', text: 'Curves' },
  { id: 'rollouts', text: 'Newest rollouts' },
] as const;

const LIVE_CONTROLS = `<p class="live"><label><input type="checkbox" id="live" data-poll-ms="${POLL_MS}" checked> Update during training</label> <span role="status" id="live-status"></span></p>`;

/** The page; a live one asks its server for updates. */
export async function runPageHtml(
  run: RunDescription,
  state: RunState,
  { isLive = false } = {},
): Promise<string> {
  const { method, model, seed } = run.config;
  const on = run.data ? ` on ${run.data}` : '';
  const title = `Training: ${method} from ${model}${on}, seed ${seed}`;
  const { commit } = run.provenance;
  const main = [
    isLive ? LIVE_CONTROLS : '',
    await runContentHtml(run, state),
    provenanceHtml(run.provenance),
    citationHtml(title, typeof commit === 'string' ? commit : undefined),
  ];
  return sectionsPage({
    title,
    description: 'Curves, guards and newest rollouts of a training run.',
    headings: [...SECTIONS, PROVENANCE, CITATION],
    main: main.join('\n'),
    ...(isLive && {
      script: bundleScript(new URL('./browser/live.js', import.meta.url)),
      policy: { 'connect-src': "'self'" }, // its own server only
    }),
  });
}

/** The part of the page that changes. */
export async function runContentHtml(
  { config, data }: RunDescription,
  state: RunState,
): Promise<string> {
  const { steps, rollouts, version } = state;
  const contents =
    steps.length === 0
      ? SECTIONS.map(() => '<p>No step finished yet.</p>')
      : [
          guardsHtml(steps, config),
          await curvesHtml(runCharts(steps, { model: config.model, data })),
          rolloutsHtml(rollouts),
        ];
  return [
    `<div id="run" data-version="${escapeHtml(version)}">`,
    `<p id="progress">${progressText(config, steps)}</p>`,
    ...SECTIONS.map((section, i) => sectionHtml({ ...section, html: contents[i] })),
    '</div>',
  ].join('\n');
}

function progressText(config: TrainConfig, steps: readonly StepMetrics[]): string {
  const duration = ({ metrics }: StepMetrics): number =>
    (metrics.rollout_seconds ?? 0) + (metrics.update_seconds ?? 0);
  const seconds = steps.length === 0 ? '' : `, ${mean(steps, duration)!.toFixed(1)} s per step`;
  return `${steps.length} of ${trainerSettings(config).steps} steps finished${seconds}.`;
}

/** Every guard with its newest value and number of alarms. */
function guardsHtml(steps: readonly StepMetrics[], config: TrainConfig): string {
  const newest = steps.at(-1)!;
  const rings = (guard: Guard, { metrics }: StepMetrics): boolean =>
    guard.metric in metrics && isAlarming(guard, metrics[guard.metric]);
  const guards = resolveGuards(config).filter(({ metric }) => metric in newest.metrics);
  const ringing = guards.filter((guard) => rings(guard, newest));
  const rows = guards.map((guard) => [
    guard.metric,
    ringing.includes(guard) ? 'ALARM' : 'ok',
    figureText(newest.metrics[guard.metric]),
    `${guard.alarmWhen} ${guard.limit}`,
    String(steps.filter((step) => rings(guard, step)).length),
    guard.action,
    guard.advice,
  ]);
  const columns = ['Metric', 'Status', 'Value', 'Alarm if', 'Alarms', 'Action', 'Meaning'];
  const verdict =
    ringing.length === 0
      ? markup('p.calm', 'No alarms.')
      : markup('p.alarm', `Alarm: ${ringing.map(({ advice }) => advice).join('; ')}.`);
  const caption = `Guards at step ${newest.step}.`;
  return markupHtml(verdict) + tableFigureHtml({ caption, columns, rows }, 'guards');
}

function runCharts(
  steps: readonly StepMetrics[],
  place: Pick<CurvesChart, 'model' | 'data'>,
): CurvesChart[] {
  const chart = (id: string, title: string, unit: string, curves: string | Curve[]) => {
    const single = typeof curves === 'string' ? [{ name: title, metric: curves, steps }] : curves;
    return { id, title, unit, ...place, curves: single };
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

/** Rollouts by question, each folded behind a summary. */
function rolloutsHtml(rollouts: readonly Trajectory[]): string {
  if (rollouts.length === 0) return '<p>No rollouts recorded.</p>';
  const groups = [
    ...group(rollouts, ({ questionId, question }) => `${questionId}\n${question}`).values(),
  ];
  const shown = groups.slice(0, MAX_GROUPS);
  const first = shown.length < groups.length ? ` (first ${shown.length} shown)` : '';
  const counts = `${rollouts.length} rollouts of ${groups.length} questions${first}`;
  const intro = `Step ${rollouts[0].step}: ${counts}. A positive advantage makes a rollout more likely, a negative one less.`;
  return [markup('p', intro), ...shown.flatMap(groupMarkup)].map(markupHtml).join('\n');
}

const groupMarkup = (rollouts: readonly Trajectory[]): Markup[] => [
  markup('h3', rollouts[0].question || rollouts[0].questionId),
  markup('p.gold', `Gold answer: ${rollouts[0].goldenAnswers.join(' / ')}`),
  ...rollouts.map((run, i) =>
    markup(
      'details.rollout',
      markup('summary', [`Rollout ${i + 1}`, ...rolloutFacts(run)].join(' · ')),
      segmentsMarkup(run.segments, run.searchTurns),
    ),
  ),
];

/**
 * Writes `report.html` into a run's folder, one file that works offline. Returns its
 * path.
 */
export async function writeRunReport(folder: string, run: RunDescription): Promise<string> {
  const file = path.join(folder, 'report.html');
  await writeFileSafely(file, await runPageHtml(run, await readRun(folder)));
  return file;
}
