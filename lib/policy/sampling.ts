import type { Random } from '../random.js';

export interface Sample {
  tokenId: number;
  /**
   * Nats, under the distribution that the token was drawn from before any cut at top-p.
   */
  logProb: number;
}

/** Indices of the smallest set of most probable tokens that reaches `topP`. */
function nucleus(probabilities: ArrayLike<number>, topP: number): number[] {
  const order = Array.from({ length: probabilities.length }, (_, i) => i).sort(
    (a, b) => probabilities[b] - probabilities[a] || a - b,
  );
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
 * Weights whose sum is taken first, so that what was drawn is then looked for in a few of
 * a large vocabulary.
 */
const BLOCK = 256;

/** Draws an index in proportion to its weight; one of weight 0 never. */
function drawIndex(weights: ArrayLike<number>, random: Random): number {
  const { length } = weights;
  const sums = Array.from({ length: Math.ceil(length / BLOCK) }, (_, block) => {
    let sum = 0;
    for (let i = block * BLOCK; i < Math.min(length, (block + 1) * BLOCK); i++) sum += weights[i];
    return sum;
  });
  let left = random.uniform() * sums.reduce((a, b) => a + b, 0);
  // Rounding may leave more than there is.
  const last = sums.findLastIndex((sum) => sum > 0);
  let block = 0;
  while (block < last && left >= sums[block]) left -= sums[block++];
  let chosen = 0;
  for (let i = block * BLOCK; i < length; i++) {
    if (weights[i] === 0) continue;
    chosen = i;
    if ((left -= weights[i]) < 0) break;
  }
  return chosen;
}

/**
 * Draws one token from a row of probabilities (V), which need not sum to 1 to the last
 * digit, or takes the most probable, the first of equals.
 */
export function sampleToken(
  probabilities: ArrayLike<number>,
  { isGreedy, topP }: { isGreedy: boolean; topP: number },
  random: Random,
): Sample {
  const draw = (): number => {
    if (topP >= 1) return drawIndex(probabilities, random);
    const candidates = nucleus(probabilities, topP);
    return candidates[
      drawIndex(
        candidates.map((i) => probabilities[i]),
        random,
      )
    ];
  };
  const tokenId = isGreedy ? argmax(probabilities) : draw();
  return { tokenId, logProb: Math.log(probabilities[tokenId]) };
}
