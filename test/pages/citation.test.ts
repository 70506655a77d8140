import { describe, expect, it } from 'vitest';
import { citationHtml, PAPER_BIBTEX, reportBibtex } from '../../lib/pages/citation.js';

describe('the BibTeX of the paper', () => {
  it('has balanced braces', () => {
    const entry = reportBibtex('A {broken} & title', 'abc_1');
    for (const text of [PAPER_BIBTEX, entry])
      expect(text.match(/(?<!\\)\{/g)).toHaveLength(text.match(/(?<!\\)\}/g)!.length);
    expect(entry).toContain('Report: A \\{broken\\} \\& title, commit abc\\_1');
  });

  it('is escaped in the page', () => {
    expect(citationHtml('<b>')).toContain('Report: \\textless{}b\\textgreater{}');
    expect(citationHtml('a', '<0>')).not.toContain('<0>');
  });
});
