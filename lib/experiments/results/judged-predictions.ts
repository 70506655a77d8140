/**
 * Predicted differences between methods, written before the questions were drawn, and how
 * they turned out.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Interval } from '../../evaluation/estimate.js';
import { findFigure, matching, type Figures } from '../../evaluation/figures.js';
import { MANY } from '../../evaluation/selections.js';
import { holm, LEVEL, pValue } from '../../evaluation/significance.js';
import type { SummaryOptions } from '../../evaluation/table.js';
import { CONDITIONS } from '../../io/paths.js';
import { axisTitle } from '../../report/charts/chart.js';
import { STYLES } from '../../report/charts/series.js';
import { createChart, type Chart } from '../../report/charts/spec.js';
import type { Prediction } from '../../report/result.js';
import { pointsIntervalText, pointsText, figureText } from '../../report/text.js';
import { formatList } from '../../text/english.js';
import { BOTH_METHODS } from '../../training/methods.js';

const PREDICTIONS = join(CONDITIONS, 'predictions.json');

const predictionSchema = z.strictObject({
  id: z.string(),
  condition: z.string(),
  /** The method that ParallelSearch is compared with. Default: Search-R1. */
  over: z.string().optional(),
  /** Fields of the deciding difference. */
  figure: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Whether ParallelSearch answers more than Search-R1, fewer, or as many. */
  expected: z.enum(['more', 'same', 'fewer']),
  /** Difference in exact match, or in the metric of `figure`, in points. */
  points: z.number(),
  /** The smallest difference with 80 % power, in points. */
  detectable: z.number(),
  why: z.string(),
});
export type ConditionPrediction = z.infer<typeof predictionSchema>;

/** Reads the predictions, in the order of the chart. */
export const readPredictions = (): ConditionPrediction[] =>
  existsSync(PREDICTIONS)
    ? z.array(predictionSchema).parse(JSON.parse(readFileSync(PREDICTIONS, 'utf8')))
    : [];

/** Selects the questions that tables of conditions show. */
export const isShown: NonNullable<SummaryOptions['filter']> = ({ benchmark, subset }) => {
  if (benchmark === MANY) return subset === 'all' || subset.startsWith('entities_');
  if (benchmark !== 'all') return subset === 'all';
  const types = ['all', 'single_hop', 'parallelizable', 'sequential', 'hybrid', 'entities_2'];
  return types.includes(subset);
};

/** A difference up to this counts as none, unless significant. */
const SAME_WITHIN = 0.05;

type Outcome = ConditionPrediction['expected'];

/** A condition as predicted and found; `detectable` is a share here. */
export interface ConditionRow extends Interval, Omit<ConditionPrediction, 'figure' | 'points'> {
  /** `em` or `evidence_seen`. */
  metric: string;
  kind: 'difference';
  /** The predicted difference, as a share. */
  predicted: number;
  /** Two-sided p for no difference, Holm-corrected over the conditions of a test. */
  p: number;
  found: Outcome | 'undecided';
  holds: boolean;
  /** Model calls as a share of Search-R1's; only under a limit on turns. */
  calls: number | null;
}

const OVER_SEARCH_R1 = { method: BOTH_METHODS[0], against: BOTH_METHODS[1] };

function judge({ value, low, high }: Interval, p: number): ConditionRow['found'] {
  if (p <= LEVEL) return value > 0 ? 'more' : 'fewer';
  return low <= 0 && high >= 0 && Math.abs(value) <= SAME_WITHIN ? 'same' : 'undecided';
}

/** Judges the conditions by their differences; those without a figure are left out. */
export function judgeConditions(
  tables: Figures,
  predictions: readonly ConditionPrediction[],
): ConditionRow[] {
  const measured = predictions.flatMap((prediction) => {
    const cell = { ...OVER_SEARCH_R1, metric: 'em', ...prediction.figure };
    const gap = findFigure(tables, { ...cell, kind: 'difference' });
    const calls = findFigure(tables, { ...cell, metric: 'model_calls', kind: 'ratio' });
    return gap ? [{ prediction, gap, calls: calls?.value ?? null }] : [];
  });
  const ps = holm(measured.map(({ gap }) => pValue({ estimate: gap })));
  return measured.map(({ prediction, gap: { value, low, high }, calls }, i): ConditionRow => {
    const { figure, points, detectable, ...named } = prediction;
    const outcome = judge({ value, low, high }, ps[i]);
    return {
      ...named,
      metric: String(figure.metric ?? 'em'),
      kind: 'difference',
      predicted: points / 100,
      detectable: detectable / 100,
      value,
      low,
      high,
      p: Number(ps[i].toPrecision(3)),
      found: outcome,
      holds: outcome === named.expected,
      calls,
    };
  });
}

const EXPECTED_WORDS: Readonly<Record<Outcome, string>> = {
  more: 'more than',
  same: 'as much as',
  fewer: 'less than',
};
const METRIC_WORDS: Readonly<Record<string, string>> = { em: 'answers', evidence_seen: 'finds' };

export const describePrediction = (row: ConditionRow): Prediction => ({
  prediction: `${row.condition}: ${METRIC_WORDS[row.metric]} ${EXPECTED_WORDS[row.expected]} ${row.over ?? 'Search-R1'} (predicted ${pointsText(row.predicted)} points)`,
  found: `${pointsIntervalText(row)} points`,
  holds: row.holds,
});

/** Describes the outcome: `48 points better`, `equally good`. */
export function describeOutcome(row: ConditionRow): string {
  if (row.found === 'same') return 'equally good';
  const points = Math.round(100 * Math.abs(row.value));
  const side = `${points} points ${row.value > 0 ? 'better' : 'worse'}`;
  return row.found === 'undecided' ? `${side} (not significant)` : side;
}

/** The start of a sentence, and what it says about each condition, by id. */
interface SentenceAbout {
  lead: string;
  parts: Readonly<Record<string, (row: ConditionRow) => string>>;
}

/** Completes the sentences with the conditions that have been judged. */
export const describeJudged = (
  judged: readonly ConditionRow[],
  sentences: readonly SentenceAbout[],
): string =>
  sentences
    .map(({ lead, parts }) => {
      const phrases = Object.entries(parts).flatMap(([id, describe]) =>
        matching(judged, { id }).map(describe),
      );
      return phrases.length > 0 ? `${lead} ${formatList(phrases)}.` : '';
    })
    .filter(Boolean)
    .join(' ');

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
