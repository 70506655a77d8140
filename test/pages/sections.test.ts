import { describe, expect, it } from 'vitest';
import { citationSection, PAPER_BIBTEX, reportBibtex } from '../../lib/pages/sections.js';
import { markupHtml } from '../../lib/report/markup.js';

describe('the BibTeX of the paper', () => {
  it('has balanced braces', () => {
    const entry = reportBibtex('A {broken} & title', 'abc_1');
    for (const text of [PAPER_BIBTEX, entry])
      expect(text.match(/(?<!\\)\{/g)).toHaveLength(text.match(/(?<!\\)\}/g)!.length);
    expect(entry).toContain('Report: A \\{broken\\} \\& title, commit abc\\_1');
  });

  it('is escaped in the page', () => {
    expect(markupHtml(citationSection('<b>').content)).toContain(
      'Report: \\textless{}b\\textgreater{}',
    );
    expect(markupHtml(citationSection('a', '<0>').content)).not.toContain('<0>');
  });
});
