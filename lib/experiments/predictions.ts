/** What an experiment predicted, and what was found. */
import type { Interval } from '../evaluation/bootstrap.js';
import type { Row } from '../report/frame.js';
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

/** A prediction beside the figure that decides it; nothing where that was not computed. */
export function predictionOf(
  items: readonly object[],
  { prediction, figure, holds }: Predicted,
): Prediction[] {
  const found = items.find((item) =>
    Object.entries(figure).every(([name, value]) => (item as Row)[name] === value),
  );
  if (!found) return [];
  return [{ prediction, found: interval(found as Row), holds: holds(found as unknown as Interval) }];
}
