import { describe, expect, it } from 'vitest';
import { countOmissions, matchSubQuestions } from '../../../lib/experiments/decomposition.js';
import { COMPARISON, HYBRID, SEQUENTIAL, SINGLE } from '../../training/tiny.js';

describe('matchSubQuestions', () => {
  it.each([
    [
      'pairs each sub-query with at most one sub-question, over all turns and within the best',
      COMPARISON,
      [['Ada Stone', 'Bo Reed'], ['cy hill born']],
      { asked: 3, independent: 3, matched: 3, atOnce: 2 },
    ],
    [
      'counts repeats and other words as asked but not as matched',
      COMPARISON,
      [['Ada Stone', 'Ada Stone', 'weather']],
      { asked: 3, independent: 3, matched: 1, atOnce: 1 },
    ],
    [
      'lets a sub-query that names three entities ask one of them',
      COMPARISON,
      [['Ada Stone, Bo Reed and Cy Hill']],
      { asked: 1, independent: 3, matched: 1, atOnce: 1 },
    ],
    [
      'leaves the other entity to a later sub-query',
      COMPARISON,
      [['Ada Stone or Bo Reed', 'Ada Stone']],
      { asked: 2, independent: 3, matched: 2, atOnce: 2 },
    ],
    [
      'takes the entity that is left',
      COMPARISON,
      [['Ada Stone', 'Ada Stone or Bo Reed']],
      { asked: 2, independent: 3, matched: 2, atOnce: 2 },
    ],
    [
      'looks at what can be asked at once: not at later hops',
      SEQUENTIAL,
      [['Red River'], ['Bo Reed']],
      { asked: 2, independent: 1, matched: 1, atOnce: 1 },
    ],
    [
      'looks at the independent part of a hybrid question',
      HYBRID,
      [
        ['Red River', 'Blue Lake'],
        ['Bo Reed', 'Ada Stone'],
      ],
      { asked: 4, independent: 2, matched: 2, atOnce: 2 },
    ],
    [
      'has nothing to pair without searches',
      SINGLE,
      [],
      { asked: 0, independent: 1, matched: 0, atOnce: 0 },
    ],
  ])('%s', (_, question, searches, expected) => {
    expect(matchSubQuestions(question, searches)).toEqual(expected);
  });
});

describe('countOmissions', () => {
  const none = { no_search: 0, misnamed: 0, repeated: 0, overlooked: 0 };

  it('tells why each sub-question was left out, the first reason that applies', () => {
    const count = (...searches: string[][]) => countOmissions(COMPARISON, searches);
    expect(count(['Ada Stone', 'Bo Reed', 'Cy Hill'])).toEqual(none);
    expect(count()).toEqual({ ...none, no_search: 3 });
    expect(count(['Ada Stone', 'Bo Reed', 'Cy Hall'])).toEqual({ ...none, misnamed: 1 });
    expect(count(['Ada Stone'], ['Bo Reed'], ['bo reed'])).toEqual({ ...none, repeated: 1 });
    expect(count(['Ada Stone', 'Bo Reed'])).toEqual({ ...none, overlooked: 1 });
    expect(count(['Ada Stone', 'Ada Stone', 'Hall'])).toEqual({
      ...none,
      misnamed: 1,
      repeated: 1,
    });
    expect(count(['weather', 'wind', 'rain', 'snow'])).toEqual({ ...none, misnamed: 3 });
  });
});
