/** Numbers as texts for readers. */
import type { Interval } from '../evaluation/bootstrap.js';

/** A number, or a dash if it is missing. */
export function figureText(value: number | null | undefined, decimals = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '−');
}

/** `0.523 [0.498, 0.547]`. */
export function intervalText(interval: Interval | null | undefined, decimals = 3): string {
  if (!interval) return '–';
  const [value, low, high] = [interval.value, interval.low, interval.high].map((x) =>
    figureText(x, decimals),
  );
  return `${value} [${low}, ${high}]`;
}

/** A difference of shares in points: `+5.5`. */
export function pointsText(difference: number | null | undefined): string {
  if (difference === null || difference === undefined || Number.isNaN(difference)) return '–';
  const points = Number((100 * difference).toFixed(1));
  return `${points > 0 ? '+' : points < 0 ? '−' : ''}${Math.abs(points).toFixed(1)}`;
}

/** `+5.5 [+2.1, +8.8]` in points. */
export function pointsIntervalText(interval: Interval | null | undefined): string {
  if (!interval) return '–';
  return `${pointsText(interval.value)} [${pointsText(interval.low)}, ${pointsText(interval.high)}]`;
}
