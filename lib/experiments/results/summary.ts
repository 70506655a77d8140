/**
 * From answers to a result: `summarise` turns answers into rows and contrasts, and
 * `checkPredictions` judges by them. An experiment adds its finding, frames and figures;
 * `result-file.ts` writes all of it to one JSON file.
 */
import type { Interval } from '../../evaluation/estimate.js';
import { findFigure, matching, type Figures, type Fields } from '../../evaluation/figures.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import {
  summariseResults,
  type SummaryOptions,
  type TidyResults,
  type TidyRow,
} from '../../evaluation/table.js';
import type { Provenance } from '../../io/provenance.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import type { Chart } from '../../report/charts/spec.js';
import { ONE_TRAINING, type Prediction } from '../../report/result.js';
import { interval } from '../../report/table.js';
import { isShare, metricInfo } from '../../report/titles.js';
import { BOTH_METHODS } from '../../training/methods.js';
import { paperFigure } from './paper.js';

/** A prediction made before anything was computed. */
export interface Predicted {
  prediction: string;
  /** Fields of the deciding row, or contrast if they include `kind`. */
  figure: Fields;
  holds: (estimate: Interval) => boolean;
  /** A second figure that explains the first. */
  because?: { where: string; figure: Fields };
  /** Whether the figure is of a method that was trained once, which gets no verdict. */
  isOneTraining?: boolean;
}

/** Formats a share as a percentage: `65 %`. */
export const percent = (share: number, decimals = 0): string =>
  Number.isNaN(share) ? '–' : `${(100 * share).toFixed(decimals)} %`;

function estimateText(
  figure: Interval & { kind?: string; metric?: string; model?: string },
): string {
  const isPoints = figure.kind === 'difference' && isShare(String(figure.metric));
  const pooled = figure.model === 'all' ? ', both models pooled' : '';
  return `${interval({ ...figure })}${isPoints ? ' points' : ''}${pooled}`;
}

/** Checks predictions by their figures; those without a figure are left out. */
export const checkPredictions = (figures: Figures, predicted: readonly Predicted[]): Prediction[] =>
  predicted.flatMap(({ prediction, figure, holds, because, isOneTraining }) => {
    const estimate = findFigure(figures, figure);
    if (!estimate) return [];
    const reason = because && findFigure(figures, because.figure);
    const why = reason ? `; ${because.where} ${estimateText(reason)}` : '';
    return [
      {
        prediction,
        found: `${estimateText(estimate)}${why}`,
        holds: isOneTraining ? ONE_TRAINING : holds(estimate),
      },
    ];
  });

/** The answers that figures are computed from. */
export interface Answered<Answer = QuestionResult> {
  answers: Answer[];
  provenance: Provenance;
}

/** Figures of answers with intervals, and the paper's. */
export const summarise = (
  { answers, provenance }: Answered,
  settings: SummaryOptions,
): TidyResults => summariseResults(answers, { paper: paperFigure, provenance, ...settings });

/**
 * Splits the names of methods into columns (`k`, and `against_k` for the other side). The
 * bootstrap compares methods, so answers under several settings have names for each.
 */
export function splitNames<Named extends { method: string }>(
  { rows, contrasts, provenance }: TidyResults,
  read: (name: string) => Named,
) {
  return {
    rows: rows.map((row) => ({ ...row, ...read(row.method) })),
    contrasts: contrasts.map((contrast) => {
      const { method: against, ...fields } = read(contrast.against);
      const theirs = Object.entries(fields).map(([name, value]) => [`against_${name}`, value]);
      return {
        ...contrast,
        ...read(contrast.method),
        against,
        ...(Object.fromEntries(theirs) as Fields),
      };
    }),
    provenance,
  };
}

/** Charts both methods by question type, with a panel per kind of initial model. */
export const chartByType = (rows: readonly TidyRow[], metric: string, subset: string[]): Chart =>
  intervalChart(matching(rows, { metric, subset, benchmark: 'all', method: BOTH_METHODS }), {
    title: `${metricInfo(metric).title} by question type, with 95 % intervals`,
    subtitle: SMALL_WORLD_NOTE,
    x: 'subset',
    xTitle: 'Question type',
    color: 'method',
    column: 'model',
    height: 160,
  });
