/** A number with decimals, or two significant digits where those would all be 0. */
export const decimalText = (value: number, decimals = 3): string =>
  value !== 0 && Math.abs(value) < 10 ** -decimals / 2
    ? value.toPrecision(2)
    : value.toFixed(decimals);
