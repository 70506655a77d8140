/** Formats numbers for readers. */
import type { Interval } from '../evaluation/estimate.js';
import { decimalText } from '../text/english.js';

/** Formats a number as {@link decimalText}, or a dash if it is missing. */
export function figureText(
  value: number | null | undefined,
  decimals = 3,
  format = decimalText,
): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  // Rows from outside, such as of a CSV file, may have text.
  if (typeof value !== 'number')
    throw new TypeError(`Expected a number, but got ${JSON.stringify(value)}.`);
  const text = format(value, decimals);
  return Number(text) === 0 ? text.replace('-', '') : text.replace(/^-/, '−');
}

/** `VALUE [LOW, HIGH]`; small numbers get more digits only if all three are small. */
function formatInterval(
  interval: Interval | null | undefined,
  small: number,
  write: (x: number, format: typeof decimalText) => string,
): string {
  if (!interval) return '–';
  const all = [interval.value, interval.low, interval.high];
  const isSmall = all.every((x) => Math.abs(x) < small);
  const format: typeof decimalText = isSmall ? decimalText : (x, decimals) => x.toFixed(decimals);
  const [value, low, high] = all.map((x) => write(x, format));
  return `${value} [${low}, ${high}]`;
}

/** Formats `0.523 [0.498, 0.547]`. */
export const intervalText = (interval: Interval | null | undefined, decimals = 3): string =>
  formatInterval(interval, 10 ** -decimals / 2, (x, format) => figureText(x, decimals, format));

/** Formats a difference of shares in points: `+5.5`; small ones get more digits. */
export function pointsText(
  difference: number | null | undefined,
  format: typeof decimalText = decimalText,
): string {
  if (difference === null || difference === undefined || Number.isNaN(difference)) return '–';
  const text = format(100 * Math.abs(difference), 1);
  return `${Number(text) === 0 ? '' : difference > 0 ? '+' : '−'}${text}`;
}

/** Shares that are expressed as fractions. */
const FRACTIONS: readonly (readonly [share: number, words: string])[] = [
  [1 / 3, 'a third'],
  [1 / 4, 'a quarter'],
  [1 / 5, 'a fifth'],
];
/** Maximum distance from a fraction that is named. */
const NEAR = 0.02;

/** Says a share: `a third`, `61 %`. */
export const shareWords = (share: number): string =>
  FRACTIONS.find(([fraction]) => Math.abs(share - fraction) <= NEAR)?.[1] ??
  `${Math.round(100 * share)} %`;

/** Says a ratio of counts: `a third fewer`, or `as many` if not significant. */
export function ratioWords({ value, low, high }: Interval): string {
  if (low <= 1 && high >= 1) return 'as many';
  return `${shareWords(Math.abs(1 - value))} ${value < 1 ? 'fewer' : 'more'}`;
}

/** Says a difference of shares: `2.2 points worse`, or `same` if not significant. */
export function gapWords({ value, low, high }: Interval, same = 'no different'): string {
  if (low <= 0 && high >= 0) return same;
  const points = 100 * Math.abs(value);
  const size =
    points < 0.5 ? 'less than a point' : `${points.toFixed(points < 9.95 ? 1 : 0)} points`;
  return `${size} ${value < 0 ? 'worse' : 'better'}`;
}

export const sentence = (words: string): string =>
  `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** Formats `+5.5 [+2.1, +8.8]`, in points. */
export const pointsIntervalText = (interval: Interval | null | undefined): string =>
  formatInterval(interval, 0.05 / 100, pointsText);
