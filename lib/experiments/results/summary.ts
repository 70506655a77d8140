/** Summarises results, and checks predictions. */
import { mean } from 'd3-array';
import type { Interval } from '../../evaluation/bootstrap.js';
import {
  matching,
  summariseResults,
  type Fields,
  type SummaryOptions,
  type TidyResults,
  type TidyRow,
  type TidyTable,
} from '../../evaluation/table.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import { ONE_TRAINING, type Prediction, type ResultParts } from '../../report/result.js';
import { interval } from '../../report/table.js';
import { isShare, metricInfo } from '../../report/titles.js';
import type { Chart } from '../../report/charts/spec.js';
import { BOTH_METHODS } from '../../training/methods.js';
import type { AnsweredRuns } from '../running/answers.js';
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

type Figures = TidyTable<Interval, Interval>;
type Tables = Pick<Figures, 'rows' | 'contrasts'>;

/** The first row with these fields, or contrast if they include `kind`. */
export const findFigure = ({ rows, contrasts }: Tables, figure: Fields): Interval | undefined =>
  matching('kind' in figure ? contrasts : rows, figure).at(0);

/** The value of {@link findFigure}; NaN if there is none. */
export const findValue = (tables: Tables, figure: Fields): number =>
  findFigure(tables, figure)?.value ?? NaN;

/** The mean value of the rows with these fields; NaN without rows. */
export const meanValue = (rows: readonly { value: number }[], fields: Fields): number =>
  mean(matching(rows, fields), ({ value }) => value) ?? NaN;

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
export const checkPredictions = (tables: Tables, predicted: readonly Predicted[]): Prediction[] =>
  predicted.flatMap(({ prediction, figure, holds, because, isOneTraining }) => {
    const estimate = findFigure(tables, figure);
    if (!estimate) return [];
    const reason = because && findFigure(tables, because.figure);
    const why = reason ? `; ${because.where} ${estimateText(reason)}` : '';
    return [
      {
        prediction,
        found: `${estimateText(estimate)}${why}`,
        holds: isOneTraining ? ONE_TRAINING : holds(estimate),
      },
    ];
  });

/** Figures of answers with intervals, and the paper's. @param given overrides settings */
export const summarise = (
  { answers, provenance }: Pick<AnsweredRuns, 'answers' | 'provenance'>,
  settings: SummaryOptions,
  given: SummaryOptions,
): TidyResults =>
  summariseResults(answers, { paper: paperFigure, provenance, ...settings, ...given });

/** Makes a result of a tidy table; `rows` and `contrasts` replace the table's. */
export const resultParts = ({
  tidy,
  predicted = [],
  ...parts
}: Omit<ResultParts, 'rows' | 'contrasts' | 'provenance' | 'predictions'> &
  Partial<Pick<ResultParts, 'rows' | 'contrasts'>> & {
    tidy: Figures;
    predicted?: readonly Predicted[];
  }): ResultParts => ({
  rows: tidy.rows,
  contrasts: tidy.contrasts,
  provenance: tidy.provenance,
  predictions: checkPredictions(tidy, predicted),
  ...parts,
});

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
