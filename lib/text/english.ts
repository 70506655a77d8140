/** Words, lists and numbers in English sentences. */

/** `A, B and C`. */
export const formatList = (names: readonly string[]): string =>
  new Intl.ListFormat('en-GB').format(names);

/** `1 turn`, `2 turns`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

export const countText = (count: number): string => count.toLocaleString('en');

/** Smaller magnitudes are rounding errors of sums. */
const ROUNDING = 1e-12;

/** Formats with fixed decimals, or two significant digits if those would all be 0. */
export function decimalText(value: number, decimals = 3): string {
  const size = Math.abs(value);
  if (size < ROUNDING) return (0).toFixed(decimals);
  return size < 10 ** -decimals / 2 ? value.toPrecision(2) : value.toFixed(decimals);
}
