import { describe, expect, it } from 'vitest';
import { markup, markupHtml } from '../../lib/report/markup.js';

describe('markupHtml', () => {
  it('escapes texts and attributes, and leaves out null and false', () => {
    const attributes = { title: '"<', hidden: false, id: null, inert: true };
    const tree = markup('p.a.b', attributes, 'a < b', null);
    expect(markupHtml(markup('div', tree))).toBe(
      '<div><p class="a b" title="&quot;&lt;" inert>a &lt; b</p></div>',
    );
  });

  it('flattens nested lists of children, with or without attributes', () => {
    const items = ['x', 'y'].map((text) => [markup('dt', text), [markup('dd', { id: text })]]);
    expect(markupHtml(markup('dl', items, false))).toBe(
      '<dl><dt>x</dt><dd id="x"></dd><dt>y</dt><dd id="y"></dd></dl>',
    );
  });
});
