import { expect, it } from 'vitest';
import { countText, decimalText, formatList, plural } from '../../lib/text/english.js';

it('shows only zero and rounding errors as zero', () => {
  const shown = [0, -5e-17, 5e-7, -3e-4, 5e-4, 0.0449, 2].map((x) => decimalText(x));
  expect(shown.join(' ')).toBe('0.000 0.000 5.0e-7 -0.00030 0.001 0.045 2.000');
});

it('formats lists and counts', () => {
  const lists = [[], ['a'], ['a', 'b'], ['a', 'b', 'c']];
  expect(lists.map(formatList)).toEqual(['', 'a', 'a and b', 'a, b and c']);
  expect([0, 1, 2].map((count) => plural(count, 'turn'))).toEqual(['0 turns', '1 turn', '2 turns']);
  expect(plural(2, 'query', 'queries')).toBe('2 queries');
  expect(countText(46520)).toBe('46,520');
});
