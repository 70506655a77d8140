import { describe, expect, it } from 'vitest';
import { shownResults } from '../../lib/html/segments.js';

describe('shownResults', () => {
  const text =
    '<information>Doc 1(Title: A) a text\nDoc 2(Title: B) b text\nDoc 1(Title: C) c text</information>';

  it('joins recorded scores to the text that the policy read', () => {
    const passage = (title: string, score: number) => ({ id: `id-${title}`, title, score });
    const turn = {
      queries: ['x', 'y'],
      results: [
        { status: 'ok' as const, passages: [passage('A', 2), passage('B', 1)] },
        { status: 'ok' as const, passages: [passage('C', 3)], isUnlike: true as const },
      ],
    };
    const [first, second] = shownResults(turn, text);
    expect(first).toMatchObject({ query: 'x', failure: null });
    expect(first.passages[1]).toEqual({ id: 'id-B', title: 'B', score: 1, text: 'b text' });
    expect([first, second].map(({ isUnlike }) => isUnlike)).toEqual([false, true]);
    expect(second.passages).toEqual([{ id: 'id-C', title: 'C', score: 3, text: 'c text' }]);
  });

  it('reads the block if nothing was recorded', () => {
    const results = shownResults({ queries: ['x ', 'y', 'z'], results: [] }, text);
    expect(results.map(({ query }) => query)).toEqual(['x  ## y ## z', 'x  ## y ## z']);
    expect(results[1].passages).toEqual([{ id: null, title: 'C', score: null, text: 'c text' }]);
    expect(
      shownResults({ queries: ['x'], results: [] }, '<information>free text</information>'),
    ).toEqual([]);
    const failed = '<information>Retrieval failed: timeout</information>';
    expect(shownResults({ queries: ['x'], results: [] }, failed)).toEqual([
      { query: 'x', failure: 'timeout', isUnlike: false, passages: [] },
    ]);
  });
});
