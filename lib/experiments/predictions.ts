/** What an experiment predicted, and what was found. */
import type { Interval } from '../evaluation/bootstrap.js';
import { matching } from '../evaluation/table.js';
import { interval } from '../report/table.js';

export interface Prediction {
  prediction: string;
  /** The figure with its interval. */
  found: string;
  holds: boolean;
}

interface Predicted {
  prediction: string;
  /** Fields of the row or contrast that decides it. */
  figure: Readonly<Record<string, unknown>>;
  holds: (found: Interval) => boolean;
}

/** Predictions beside the figures that decide them; those whose figure was not computed are left out. */
export const predictionsFrom = (items: readonly Interval[], predicted: readonly Predicted[]): Prediction[] =>
  predicted.flatMap(({ prediction, figure, holds }) =>
    matching(items, figure)
      .slice(0, 1)
      .map((found) => ({ prediction, found: interval({ ...found }), holds: holds(found) })),
  );
