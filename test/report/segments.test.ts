import { describe, expect, it } from 'vitest';
import { markupHtml } from '../../lib/report/markup.js';
import { segmentsMarkup, shownResults } from '../../lib/report/segments.js';
import { wrapResults } from '../../lib/text/tags.js';

describe('shownResults', () => {
  const text =
    '<information>Doc 1(Title: A) a text\nDoc 2(Title: B) b text\nDoc 1(Title: C) c text</information>';

  const passage = (title: string, score: number) => ({ id: `id-${title}`, title, score });
  const ok = (...passages: ReturnType<typeof passage>[]) => ({ status: 'ok' as const, passages });

  it('joins recorded scores to the text that the policy read', () => {
    const results = [
      ok(passage('A', 2), passage('B', 1)),
      { ...ok(passage('C', 3)), isUnlike: true as const },
    ];
    const turn = { queries: ['x', 'y'], results };
    const [first, second] = shownResults(turn, text);
    expect(first).toMatchObject({ query: 'x', failure: null });
    expect(first.passages[1]).toEqual({ id: 'id-B', title: 'B', score: 1, text: 'b text' });
    expect([first, second].map(({ isUnlike }) => isUnlike)).toEqual([false, true]);
    expect(second.passages).toEqual([{ id: 'id-C', title: 'C', score: 3, text: 'c text' }]);
  });

  it('finds the text of a passage if earlier results were cut off', () => {
    const results = [{ ...ok(), numLeftOut: 1 }, ok(passage('C', 1))];
    const turn = { queries: ['x', 'y'], results };
    const cut = '<information>Doc 1(Ti\nDoc 1(Title: C) c text</information>';
    expect(shownResults(turn, cut).map(({ passages }) => passages)).toEqual([
      [],
      [{ id: 'id-C', title: 'C', score: 1, text: 'c text' }],
    ]);
  });

  it('reads the block if nothing was recorded', () => {
    const read = (queries: string[], block: string) =>
      shownResults({ queries, results: [] }, block);
    const results = read(['x ', 'y', 'z'], text);
    expect(results.map(({ query }) => query)).toEqual(['x  ## y ## z', 'x  ## y ## z']);
    expect(results[1].passages).toEqual([{ id: null, title: 'C', score: null, text: 'c text' }]);
    expect(read(['x'], '<information>free text</information>')).toEqual([]);
    expect(read(['x'], '<information>Retrieval failed: timeout</information>')).toEqual([
      { query: 'x', failure: 'timeout', isUnlike: false, passages: [] },
    ]);
  });
});

describe('segmentsMarkup', () => {
  it('shows the queries of a search separately, for any separator', () => {
    const policy = { kind: 'policy' as const, text: '<search> a ## b, c </search>' };
    const show = (text: string, querySeparator?: string): string[] => {
      const segments = [policy, { kind: 'information' as const, text }];
      const html = markupHtml(segmentsMarkup({ segments, querySeparator }, []));
      const [, list] = /<ul class="queries">(.*?)<\/ul>/s.exec(html)!;
      return Array.from(list.matchAll(/<li>(.*?)<\/li>/g), ([, query]) => query);
    };
    const plain = '<information>Nothing found.</information>';
    expect(show(plain)).toEqual(['a', 'b, c']);
    expect(show(plain, ',')).toEqual(['a ## b', 'c']);
    expect(show(wrapResults([''], { form: 'json', queries: ['a ## b'] }))).toEqual(['a ## b', 'c']);
  });
});
