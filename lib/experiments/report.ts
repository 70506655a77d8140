/**
 * What the report of an experiment reads: figures, frames, and what was predicted beside
 * what was found.
 */
import type { Interval } from '../evaluation/bootstrap.js';
import {
  matching,
  summariseResults,
  type SummaryOptions,
  type TidyResults,
  type TidyTable,
} from '../evaluation/table.js';
import { resultsOf, type ReportResults } from '../report/display.js';
import { frameOf, type Frame } from '../report/frame.js';
import type { Prediction } from '../report/opening.js';
import { isShare, titleOf } from '../report/titles.js';
import { sideOf } from '../report/sentences.js';
import { interval } from '../report/table.js';
import { listed } from '../text/listed.js';
import type { AnsweredRuns } from './answers.js';
import type { ResultParts } from './experiment.js';
import { paperFigure } from './paper.js';
import { INITIAL_MODELS } from '../methods/checkpoints.js';

/** What was to be found, before anything was computed. */
export interface Predicted {
  prediction: string;
  /** Fields of the row that decides it, or of the contrast: one that names its `kind`. */
  figure: Readonly<Record<string, unknown>>;
  holds: (found: Interval) => boolean;
  /** A second figure, by which the first is understood. */
  because?: { where: string; figure: Readonly<Record<string, unknown>> };
}

/** A share in percent, such as `65 %`. */
export const percent = (share: number | undefined, decimals = 0): string =>
  share === undefined ? '–' : `${(100 * share).toFixed(decimals)} %`;

type Figures = TidyTable<Interval, Interval>;

type Figure = Interval & { kind?: string; metric?: string; model?: string };

/** A figure with its interval and unit. */
const withUnit = (found: Figure): string =>
  `${interval({ ...found })}${found.kind === 'difference' && isShare(String(found.metric)) ? ' points' : ''}`;

/** The same, and whether it is of both initial models together. */
const figureOf = (found: Figure): string =>
  `${withUnit(found)}${found.model === 'all' ? ', both models pooled' : ''}`;

/**
 * The first figure with the given fields as a sentence tells it, and on which side of 0
 * it lies; a dash where there is none.
 */
export function told(items: readonly Interval[], fields: Predicted['figure']) {
  const [found] = matching(items, fields);
  return found
    ? { text: withUnit(found), side: sideOf(found) }
    : { text: '–', side: 'undecided' as const };
}

/**
 * The figures with the given fields from each initial model, then from both: `0.41 [0.30,
 * 0.52] (base), ... (instruct) and ... (both, pooled)`.
 */
const toldOfEach = (items: readonly Interval[], fields: Predicted['figure']): string =>
  listed(
    [...INITIAL_MODELS, 'all']
      .filter((model) => matching(items, { ...fields, model }).length > 0)
      .map((model) => `${told(items, { ...fields, model }).text} (${titleOf('model', model)})`),
  );

/**
 * Model calls and right answers of ParallelSearch beside Search-R1, in a sentence: each
 * where its words and fields say. Who is ahead is told of both initial models together.
 */
export function callsAndAnswers(
  contrasts: readonly Interval[],
  [onCalls, ofCalls]: [words: string, fields: object],
  [onAnswers, ofAnswers]: [words: string, fields: object],
): string {
  const sides = { method: 'parallelsearch', against: 'search-r1' };
  const calls = toldOfEach(contrasts, {
    ...sides,
    ...ofCalls,
    metric: 'model_calls',
    kind: 'ratio',
  });
  const answers = { ...sides, ...ofAnswers, metric: 'em', kind: 'difference' };
  const { side } = told(contrasts, { ...answers, model: 'all' });
  const outcome = { above: 'it is ahead', below: 'it is behind', undecided: 'neither is ahead' }[
    side
  ];
  return `ParallelSearch needs ${calls} of Search-R1’s model calls ${onCalls}; in right answers ${outcome} ${onAnswers}: ${toldOfEach(contrasts, answers)}.`;
}

/**
 * Predictions beside the figures that decide them; those whose figure was not computed
 * are left out.
 */
export const predictionsFrom = (
  { rows, contrasts }: Pick<Figures, 'rows' | 'contrasts'>,
  predicted: readonly Predicted[],
): Prediction[] => {
  const first = (figure: Predicted['figure']) =>
    matching('kind' in figure ? contrasts : rows, figure).slice(0, 1);
  return predicted.flatMap(({ prediction, figure, holds, because }) =>
    first(figure).map((found) => {
      const reasons = because
        ? first(because.figure).map((row) => `${because.where} ${figureOf(row)}`)
        : [];
      return { prediction, found: [figureOf(found), ...reasons].join('; '), holds: holds(found) };
    }),
  );
};

/**
 * The figures of answers with intervals, beside the paper's. @param given in place of
 * what the experiment says itself
 */
export const summarise = (
  { answers, provenance }: Pick<AnsweredRuns, 'answers' | 'provenance'>,
  own: SummaryOptions,
  given: SummaryOptions,
): TidyResults => summariseResults(answers, { paper: paperFigure, provenance, ...own, ...given });

type FrameName<Frames> = keyof Frames | 'predictions';

/**
 * What a notebook gets of its experiment.
 * @param frames rows of more data frames, by name
 */
export function reportOf<Frames extends Record<string, readonly object[]>>({
  summary,
  finding,
  tidy,
  predicted = [],
  training = [],
  frames,
  ...shown
}: {
  /** A sentence on what was read. */
  summary: string;
  /**
   * What was found, in a sentence with its figure and interval: the first that a reader
   * sees.
   */
  finding: string;
  tidy: Figures;
  predicted?: readonly Predicted[];
  /** Rows of training that go into the tidy table, but not into the frame of its rows. */
  training?: readonly object[];
  frames: Frames;
  /**
   * The rows and contrasts as their frames show them, where that is with more fields than
   * the tidy table has.
   */
  rows?: readonly object[];
  contrasts?: readonly object[];
}): ReportResults & Record<FrameName<Frames>, Frame> {
  const predictions = predictionsFrom(tidy, predicted);
  const provenance = {
    ...tidy.provenance,
    finding,
    summary,
    ...(predicted.length > 0 && { predictions }),
  };
  const more = Object.entries({ ...frames, predictions }).map(([name, rows]) => [
    name,
    frameOf(rows),
  ]);
  const { rows = tidy.rows, contrasts = tidy.contrasts } = shown;
  return {
    ...resultsOf(summary, { ...tidy, rows: [...tidy.rows, ...training], provenance }),
    rows: frameOf(rows),
    contrasts: frameOf(contrasts),
    ...(Object.fromEntries(more) as Record<FrameName<Frames>, Frame>),
  };
}

/**
 * The parts of a result out of a tidy table.
 * @param parts.rows in place of the table's where a frame shows more fields; likewise
 * `contrasts`
 */
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
  predictions: predictionsFrom(tidy, predicted),
  ...parts,
});
