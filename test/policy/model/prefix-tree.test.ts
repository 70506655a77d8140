import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparePrefixes, prefixTree } from '../../../lib/policy/model/prefix-tree.js';

/** With few distinct ids, so that many rows share prefixes. */
const row = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 8 });
const rows = fc.array(row, { minLength: 1, maxLength: 8 });

describe('prefixTree', () => {
  it('stores a shared prompt once', () => {
    expect(prefixTree([[5, 9, 31], [7], [5, 9, 40, 2]])).toEqual({
      ids: [5, 9, 31, 7, 40, 2],
      places: [0, 1, 2, 0, 2, 3],
      shape: [3, 4],
      cells: [0, 1, 2, 0, 3, 0, 0, 0, 0, 1, 4, 5],
      firsts: [0, 1, 2, 4, 10, 11],
    });
  });

  it('has one token for each distinct prefix and one cell for each token of a row', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const { ids, places, shape, cells, firsts } = prefixTree(given);
        const prefixes = new Set<string>();
        given.forEach((row, r) =>
          row.forEach((id, t) => {
            const token = cells[r * shape[1] + t];
            expect([ids[token], places[token]]).toEqual([id, t]);
            prefixes.add(row.slice(0, t + 1).join());
          }),
        );
        expect(ids).toHaveLength(prefixes.size);
        expect(firsts.map((cell) => cells[cell])).toEqual(ids.map((_, token) => token));
      }),
    );
  });
});

it('comparePrefixes sorts rows with a common prefix together', () => {
  fc.assert(
    fc.property(rows, (given) => {
      const sorted = [...given].sort(comparePrefixes);
      const heads = sorted.map(([first]) => first);
      expect(heads).toEqual([...heads].sort((a, b) => a - b));
      expect(sorted.map((row) => row.join(','))).toEqual(given.map((row) => row.join(',')).sort());
    }),
  );
});
