import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { citationHtml, PAPER_BIBTEX, reportBibtex } from '../../lib/report/citation.js';

const cff = readFileSync(new URL('../../CITATION.cff', import.meta.url), 'utf8');

/** Values of a key in CITATION.cff, folded lines joined. */
function cffValues(key: string): string[] {
  const pattern = new RegExp(`\\b${key}: (?:>-\\n((?: {4}.*\\n)+)|'?(.*?)'?\\n)`, 'g');
  return [...cff.matchAll(pattern)].map(
    ([, folded, plain]) => folded?.trim().replace(/\s+/g, ' ') ?? plain,
  );
}

describe('the BibTeX of the paper', () => {
  const fields = PAPER_BIBTEX.replace(/[{}]/g, '');

  it('agrees with CITATION.cff', () => {
    expect(fields).toContain(`title = ${cffValues('title')[1]},`);
    expect(fields).toContain(`doi = ${cffValues('doi')[0]},`);
    expect(fields).toContain(`year = ${cffValues('year')[0]},`);
    const given = cffValues('given-names');
    const authors = cffValues('family-names').map((family, i) => `${family}, ${given[i]}`);
    expect(authors).toHaveLength(6);
    expect(fields).toContain(`author = ${authors.join(' and ')},`);
  });

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
