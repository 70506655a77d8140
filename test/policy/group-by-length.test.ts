import { describe, expect, it } from 'vitest';
import { groupByLength } from '../../lib/policy/group-by-length.js';

describe('groupByLength', () => {
  it.each([
    [
      [5, 1, 5, 1],
      10,
      [
        [1, 3],
        [0, 2],
      ],
    ],
    // No group over the limit, unless it is a single row.
    [[9, 3, 30, 4, 3, 12, 9], 20, [[1, 4, 3], [0, 6], [5], [2]]],
    [[], 10, []],
  ])('puts rows of like length together: %j within %d', (lengths, maxTokens, groups) => {
    expect(groupByLength(lengths, maxTokens)).toEqual(groups);
  });
});
