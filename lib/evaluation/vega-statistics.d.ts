declare module 'vega-statistics' {
  /** CDF of the standard normal distribution. */
  export function cumulativeNormal(value: number): number;
  /** Quantile of the standard normal distribution. @param probability in (0, 1) */
  export function quantileNormal(probability: number): number;
}
