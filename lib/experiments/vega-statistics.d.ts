declare module 'vega-statistics' {
  /** Of the standard normal distribution. */
  export function cumulativeNormal(value: number): number;
  /** Of the standard normal distribution. @param probability between 0 and 1 */
  export function quantileNormal(probability: number): number;
}
