import { describe, expect, it } from 'vitest';
import { sampleToken } from '../../../lib/policy/model/sampling.js';
import { createRandom } from '../../../lib/random.js';

const LOGITS = [1.2, -0.3, 3.1, 0, 2.2, -4];
function softmax(temperature: number): number[] {
  const exponentials = LOGITS.map((x) => Math.exp(x / temperature));
  const total = exponentials.reduce((a, b) => a + b);
  return exponentials.map((x) => x / total);
}

const GREEDY = { isGreedy: true, topP: 1 };
const SAMPLED = { isGreedy: false, topP: 1 };

/** Counts of drawn tokens; checks each log-prob against the softmax within 5e-10. */
function counts(
  { temperature, topP }: { temperature: number; topP: number },
  draws: number,
  seed: string,
): number[] {
  const random = createRandom(seed);
  const seen = LOGITS.map(() => 0);
  const probabilities = softmax(temperature);
  for (let i = 0; i < draws; i++) {
    const { tokenId, logProb } = sampleToken(probabilities, { ...SAMPLED, topP }, random);
    expect(Math.abs(Math.exp(logProb) - probabilities[tokenId])).toBeLessThan(5e-10);
    seen[tokenId]++;
  }
  return seen;
}

/** Pearson's statistic; tokens of probability 0 must have no counts. */
function chiSquare(seen: number[], expected: number[]): number {
  const draws = seen.reduce((a, b) => a + b);
  return seen.reduce((sum, count, i) => {
    if (expected[i] === 0) {
      expect(count, `token ${i}`).toBe(0);
      return sum;
    }
    return sum + (count - draws * expected[i]) ** 2 / (draws * expected[i]);
  }, 0);
}
/** The 99.9 % quantile for 5 degrees of freedom, larger than for fewer. */
const QUANTILE = 20.5;

describe('sampleToken', () => {
  it('is greedy without drawing; the first of equals wins', () => {
    const random = createRandom('greedy');
    const before = random.state();
    const { tokenId, logProb } = sampleToken(softmax(1), GREEDY, random);
    expect(tokenId).toBe(2);
    expect(logProb).toBeCloseTo(Math.log(softmax(1)[2]), 12);
    expect(sampleToken([0.2, 0.4, 0.4], GREEDY, random).tokenId).toBe(1);
    expect(random.state()).toEqual(before);
  });

  it.each([0.5, 1, 2])(
    'draws tokens with the frequencies of the softmax at temperature %d, and gives log-probs',
    (temperature) => {
      const seen = counts({ temperature, topP: 1 }, 20_000, `frequency ${temperature}`);
      expect(chiSquare(seen, softmax(temperature))).toBeLessThan(QUANTILE);
      // Another temperature must fail the test.
      expect(chiSquare(seen, softmax(temperature * 1.3))).toBeGreaterThan(10 * QUANTILE);
    },
  );

  it('samples from the nucleus in proportion, with log-probs before the cut', () => {
    const p = softmax(1);
    // Tokens 2 and 4 hold 0.86 of the mass, 2, 4 and 0 hold 0.94.
    const set = [2, 4, 0];
    expect(p[2] + p[4]).toBeLessThan(0.9);
    const mass = set.reduce((sum, i) => sum + p[i], 0);
    expect(mass).toBeGreaterThan(0.9);
    const expected = p.map((x, i) => (set.includes(i) ? x / mass : 0));
    expect(
      chiSquare(counts({ temperature: 1, topP: 0.9 }, 20_000, 'nucleus'), expected),
    ).toBeLessThan(QUANTILE);
    expect(sampleToken(p, { ...SAMPLED, topP: 0.1 }, createRandom(1)).tokenId).toBe(2);
  });

  it('never draws a token of probability 0, even if the sum is below 1', () => {
    const random = createRandom('rounding');
    for (let i = 0; i < 2000; i++) {
      const { tokenId, logProb } = sampleToken([0, 0.6, 0.3, 0], SAMPLED, random);
      expect([1, 2]).toContain(tokenId);
      expect(Number.isFinite(logProb)).toBe(true);
    }
  });

  it('samples from a large vocabulary like a plain scan', () => {
    const random = createRandom('large');
    const weights = Array.from({ length: 1000 }, (_, i) =>
      i < 300 || i > 600 || i % 3 === 0 ? 0 : 1 + (i % 5),
    );
    const total = weights.reduce((a, b) => a + b);
    for (const share of [0, 1 - 2 ** -53, ...Array.from({ length: 500 }, () => random.uniform())]) {
      let left = share * total;
      const walked = weights.findIndex((weight) => (left -= weight) < 0);
      const { tokenId } = sampleToken(weights, SAMPLED, { ...random, uniform: () => share });
      expect(tokenId).toBe(walked);
      expect(weights[tokenId]).toBeGreaterThan(0);
    }
    // The sum rounds up.
    expect(
      sampleToken([1, ...new Array<number>(999).fill(0)], SAMPLED, { ...random, uniform: () => 1 })
        .tokenId,
    ).toBe(0);
  });

  it('is deterministic for a seed', () => {
    const draw = (): number[] => counts({ temperature: 1, topP: 0.95 }, 100, 'same');
    expect(draw()).toEqual(draw());
  });
});

it.each([GREEDY, SAMPLED, { ...SAMPLED, topP: 0.5 }])('rejects NaN: %j', (options) => {
  expect(() => sampleToken([NaN, NaN], options, createRandom(1))).toThrow('but got NaN');
});
