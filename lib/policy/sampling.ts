import type { Random } from '../random.js';

export interface Sample {
  tokenId: number;
  /** Nats, under the distribution at the given temperature. */
  logProb: number;
}

/** Indices of the smallest set of most probable tokens that reaches `topP`. */
function nucleus(probabilities: Float64Array, topP: number): number[] {
  const order = Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a] || a - b);
  let mass = 0;
  const last = order.findIndex((i) => (mass += probabilities[i]) >= topP);
  return last < 0 ? order : order.slice(0, last + 1);
}

function argmax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/**
 * Draws one token from a row of logits (V). Temperature 0 takes the most probable and reports its log-probability at
 * temperature 1.
 */
export function sampleToken(
  logits: ArrayLike<number>,
  { temperature, topP }: { temperature: number; topP: number },
  random: Random,
): Sample {
  const best = argmax(logits);
  const inverse = temperature > 0 ? 1 / temperature : 1;
  const probabilities = new Float64Array(logits.length);
  let total = 0;
  for (let i = 0; i < logits.length; i++)
    total += probabilities[i] = Math.exp((logits[i] - logits[best]) * inverse);
  const logProbOf = (i: number): number => (logits[i] - logits[best]) * inverse - Math.log(total);
  if (temperature === 0) return { tokenId: best, logProb: logProbOf(best) };

  for (let i = 0; i < probabilities.length; i++) probabilities[i] /= total;
  const candidates = topP < 1 ? nucleus(probabilities, topP) : probabilities.keys();
  const mass = topP < 1 ? (candidates as number[]).reduce((sum, i) => sum + probabilities[i], 0) : 1;
  let left = random.uniform() * mass;
  let chosen = best;
  for (const i of candidates) {
    chosen = i;
    if ((left -= probabilities[i]) < 0) break;
  }
  return { tokenId: chosen, logProb: logProbOf(chosen) };
}
