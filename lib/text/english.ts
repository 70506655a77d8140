/** Words, lists and numbers in English sentences. */

/** `A, B and C`. */
export const formatList = (names: readonly string[]): string =>
  new Intl.ListFormat('en-GB').format(names);

/** `1 turn`, `2 turns`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

export const countText = (count: number): string => count.toLocaleString('en');

/** Formats with fixed decimals, or two significant digits if those would all be 0. */
export const decimalText = (value: number, decimals = 3): string =>
  value !== 0 && Math.abs(value) < 10 ** -decimals / 2
    ? value.toPrecision(2)
    : value.toFixed(decimals);
