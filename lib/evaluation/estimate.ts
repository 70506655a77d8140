/** Estimates by resampling: their means, contrasts and intervals. */

/** A value and its resamples; sample b of all estimates has the same questions. */
export interface Estimate {
  value: number;
  samples: Float64Array;
}

export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** The mean of several estimates, resample by resample. */
export function meanEstimate(estimates: readonly Estimate[]): Estimate {
  const samples = new Float64Array(estimates[0].samples.length);
  for (const estimate of estimates)
    for (let b = 0; b < samples.length; b++) samples[b] += estimate.samples[b] / estimates.length;
  return {
    value: estimates.reduce((sum, { value }) => sum + value, 0) / estimates.length,
    samples,
  };
}

/** a - b or a / b, resample by resample; null if a ratio's denominator is ever 0. */
export function contrastEstimate(
  a: Estimate,
  b: Estimate,
  kind: 'difference' | 'ratio',
): Estimate | null {
  const samples = new Float64Array(a.samples.length);
  if (kind === 'difference') {
    for (let i = 0; i < samples.length; i++) samples[i] = a.samples[i] - b.samples[i];
    return { value: a.value - b.value, samples };
  }
  if (b.value === 0 || b.samples.includes(0)) return null;
  for (let i = 0; i < samples.length; i++) samples[i] = a.samples[i] / b.samples[i];
  return { value: a.value / b.value, samples };
}

/** The central interval of the resamples, with linearly interpolated percentiles. */
export function percentileInterval({ value, samples }: Estimate, level = 0.95): Interval {
  const last = samples.length - 1;
  const [low, high] = [(1 - level) / 2, (1 + level) / 2].map((p) => last * p);
  const { lowTail, highTail } = tails(samples, low, high);
  const first = samples.length - highTail.length;
  return { value, low: orderStatistic(lowTail, low), high: orderStatistic(highTail, high - first) };
}

/**
 * The sample at a fractional rank, interpolated between its neighbours. Sorts the
 * samples, which in JavaScript takes a tenth of the time of a selection.
 */
function orderStatistic(samples: Float64Array, rank: number): number {
  const [below, above] = [Math.floor(rank), Math.ceil(rank)];
  samples.sort();
  return samples[below] + (samples[above] - samples[below]) * (rank - below);
}

/** Buffers of {@link tails}: new ones for each of thousands of intervals are slower. */
let scratch: [Float64Array, Float64Array] = [new Float64Array(0), new Float64Array(0)];

/**
 * The lowest and the highest samples, which include two ranks; all of them if few. Only
 * these are sorted, in a fifth of the time.
 */
export function tails(
  samples: Float64Array,
  low: number,
  high: number,
): { lowTail: Float64Array; highTail: Float64Array } {
  const length = samples.length;
  if (scratch[0].length < length) scratch = [new Float64Array(length), new Float64Array(length)];
  const few = new Float64Array(Math.ceil(length / 32));
  for (let i = 0; i < few.length; i++) few[i] = samples[32 * i];
  few.sort();
  // Bounds at twice the ranks' distance from the ends.
  const [lowBound, highBound] = [2 * low, 2 * high - length].map(
    (rank) => few[Math.round(((few.length - 1) * rank) / length)],
  );
  const [lowTail, highTail] = scratch;
  let numLow = 0;
  let numHigh = 0;
  for (let b = 0; b < length; b++) {
    const sample = samples[b];
    if (sample <= lowBound) lowTail[numLow++] = sample;
    if (sample >= highBound) highTail[numHigh++] = sample;
  }
  if (Math.ceil(low) >= numLow || Math.floor(high) < length - numHigh)
    return { lowTail: samples.slice(), highTail: samples.slice() };
  return { lowTail: lowTail.subarray(0, numLow), highTail: highTail.subarray(0, numHigh) };
}
