import { mean as meanOf, rollup } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { createRandom, type Random } from '../lib/random.js';

const take = (count: number, draw: () => number): number[] => Array.from({ length: count }, draw);
const mean = (values: number[]): number => meanOf(values)!;
const uniforms = (count: number, random: Random): number[] => take(count, () => random.uniform());

describe('createRandom', () => {
  it('gives the same numbers for the same seed, and different ones for another', () => {
    const of = (seed: number | string): number[] => uniforms(20, createRandom(seed));
    expect(of(1)).toEqual(of(1));
    expect(of(1)).toEqual(of('1'));
    expect(of(1)).not.toEqual(of(2));
    expect(of(1)).not.toEqual(of(-1));
  });

  it('still gives the numbers of the recorded results', () => {
    expect(uniforms(3, createRandom(1))).toEqual([
      0.8617370063439012, 0.7208751861471683, 0.995670884847641,
    ]);
  });

  it('resumes from a saved state', () => {
    const random = createRandom('state');
    uniforms(7, random);
    const resumed = createRandom('anything', random.state());
    expect(uniforms(20, resumed)).toEqual(uniforms(20, random));
  });

  it('forks by label only, independent of the position of the parent', () => {
    const [moved, still] = [createRandom(5), createRandom(5)];
    uniforms(3, moved);
    expect(uniforms(5, moved.fork('a'))).toEqual(uniforms(5, still.fork('a')));
    expect(uniforms(5, still)).toEqual(uniforms(5, createRandom(5)));
    expect(uniforms(5, still.fork('a'))).not.toEqual(uniforms(5, still.fork('b')));
    expect(uniforms(5, still.fork(1))).toEqual(uniforms(5, still.fork('1')));
    expect(uniforms(5, still.fork('a').fork('b'))).not.toEqual(
      uniforms(5, still.fork('b').fork('a')),
    );
  });
});

describe('distributions', () => {
  it('uniform: in [0, 1), mean 1/2, variance 1/12, no serial correlation, within four standard errors', () => {
    const values = uniforms(40_000, createRandom('uniform'));
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(Math.abs(mean(values) - 0.5)).toBeLessThan(0.006);
    expect(Math.abs(mean(values.map((x) => (x - 0.5) ** 2)) - 1 / 12)).toBeLessThan(0.0016);
    const products = values.slice(1).map((x, i) => (x - 0.5) * (values[i] - 0.5));
    expect(Math.abs(mean(products)) * 12).toBeLessThan(0.02);
  });

  it('first numbers of neighbouring seeds are uniform, too: mean and correlation within four standard errors', () => {
    const firsts = take(10_000, () => 0).map((_, seed) => createRandom(seed).uniform());
    expect(Math.abs(mean(firsts) - 0.5)).toBeLessThan(0.012);
    const products = firsts.slice(1).map((x, i) => (x - 0.5) * (firsts[i] - 0.5));
    expect(Math.abs(mean(products)) * 12).toBeLessThan(0.04);
  });

  it('normal: mean 0, variance 1, kurtosis 3, within four standard errors', () => {
    const random = createRandom('normal');
    const values = take(40_000, () => random.normal());
    expect(Math.abs(mean(values))).toBeLessThan(0.02);
    expect(Math.abs(mean(values.map((x) => x ** 2)) - 1)).toBeLessThan(0.03);
    expect(Math.abs(mean(values.map((x) => x ** 4)) - 3)).toBeLessThan(0.2);
  });

  it('integer: every value of [0, bound) equally often, within five standard errors; choice: elements of the list', () => {
    const random = createRandom('integer');
    const counts = [0, 0, 0, 0, 0, 0, 0];
    for (let i = 0; i < 14_000; i++) counts[random.integer(7)]++;
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(210);
    expect(random.integer(1)).toBe(0);
    expect(new Set(Array.from({ length: 50 }, () => random.choice([4, 5, 6])))).toEqual(
      new Set([4, 5, 6]),
    );
  });

  it.each([0, -1, 1.5, NaN])('integer rejects the bound %d', (bound) => {
    expect(() => createRandom(1).integer(bound)).toThrow(
      `Expected bound to be an integer >= 1, but got ${bound}.`,
    );
  });

  it('shuffle: a copy with all orders equally often, within five standard errors', () => {
    const random = createRandom('shuffle');
    const items = ['a', 'b', 'c'];
    const orders = Array.from({ length: 6000 }, () => random.shuffle(items).join(''));
    const counts = rollup(orders, (some) => some.length, String);
    expect(items).toEqual(['a', 'b', 'c']);
    expect(counts.size).toBe(6);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
