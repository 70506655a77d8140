import { describe, expect, it } from 'vitest';
import { markdownTable, replaceGenerated } from '../../lib/mini-wiki/markdown.js';

describe('markdownTable', () => {
  it('has a line a row, and one of dashes below the head', () => {
    expect(markdownTable(['a', 'b'], [['1', '2']])).toBe('| a | b |\n| --- | --- |\n| 1 | 2 |');
  });
});

describe('replaceGenerated', () => {
  const marks = ['<!-- begin -->', '<!-- end -->'] as const;

  it('replaces what stands between the marks, again and again, and nothing else', () => {
    const once = replaceGenerated(`before\n${marks[0]}\nold\n${marks[1]}\nafter\n`, marks, '| new |');
    expect(once).toBe(`before\n${marks[0]}\n\n| new |\n\n${marks[1]}\nafter\n`);
    expect(replaceGenerated(once, marks, '| new |')).toBe(once);
  });

  it('refuses a page without the marks', () => {
    expect(() => replaceGenerated(`${marks[1]} ${marks[0]}`, marks, 'x')).toThrow(
      'Expected the page to hold the marks',
    );
  });
});
