import type { Random } from '../../random.js';

/** Indices of the smallest set of most probable tokens whose sum reaches `topP`. */
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

/** Drawing first sums blocks of this size, then scans only the block that is hit. */
const BLOCK = 256;

/** Draws an index with probability proportional to its weight, never one of weight 0. */
function drawIndex(weights: ArrayLike<number>, random: Random): number {
  const { length } = weights;
  const sums = Array.from({ length: Math.ceil(length / BLOCK) }, (_, block) => {
    let sum = 0;
    for (let i = block * BLOCK; i < Math.min(length, (block + 1) * BLOCK); i++) sum += weights[i];
    return sum;
  });
  let rest = random.uniform() * sums.reduce((a, b) => a + b, 0);
  // Rounding can leave a remainder after the last block.
  const last = sums.findLastIndex((sum) => sum > 0);
  let block = 0;
  while (block < last && rest >= sums[block]) rest -= sums[block++];
  let drawn = 0;
  for (let i = block * BLOCK; i < length; i++) {
    if (weights[i] === 0) continue;
    drawn = i;
    if ((rest -= weights[i]) < 0) break;
  }
  return drawn;
}

/**
 * Draws a token from unnormalised probabilities (V), or takes the most probable.
 * @throws Error if they are NaN
 */
export function sampleToken(
  probabilities: ArrayLike<number>,
  { isGreedy, topP }: { isGreedy: boolean; topP: number },
  random: Random,
) {
  let tokenId: number;
  if (isGreedy) tokenId = argmax(probabilities);
  else if (topP >= 1) tokenId = drawIndex(probabilities, random);
  else {
    const candidates = nucleus(probabilities, topP);
    const weights = candidates.map((i) => probabilities[i]);
    tokenId = candidates[drawIndex(weights, random)];
  }
  // In nats, before the cut at top-p.
  const logProb = Math.log(probabilities[tokenId]);
  if (Number.isNaN(logProb))
    throw new Error(
      'Expected probabilities of the next token, but got NaN: the weights are damaged, or the temperature is too small.',
    );
  return { tokenId, logProb };
}
