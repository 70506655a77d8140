import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tidyJson } from '../../lib/experiments/reports.js';
import { withMarked, writeSummary } from '../../lib/experiments/summary.js';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';

const spec = {
  description: 'What the chart shows.',
  data: { values: [{ a: 1, b: 2 }] },
  mark: 'point',
  encoding: { x: { field: 'a', type: 'quantitative' }, y: { field: 'b', type: 'quantitative' } },
};
const table = {
  caption: 'The shape of Table 2.',
  columns: ['benchmark', 'points'],
  rows: [['NQ', '1.0 [0.5, 1.5]']],
};
const block = (attributes: string, content: object): string =>
  `<script type="application/json" ${attributes}>${JSON.stringify(content)}</script>`;
const chart = (name: string): string => block(`data-chart="1" data-name="${name}"`, spec);

describe('the summary of the reports', () => {
  const folder = temporaryFolder();
  const page = (...charts: string[]): void =>
    writeFileSync(
      join(folder, 'main-results.html'),
      ['<title>Main</title>', block('data-table="gap-table"', table), ...charts].join(''),
    );

  it('has the headline table, pictures and the claims, and says which questions were asked', async () => {
    page(chart('untrained-charts-1'), chart('entities-chart-1'));
    const provenance = {
      questions: 'dev: no test has been drawn',
      finding: 'It is ahead: 0.5 [0.4, 0.6].',
    };
    writeFileSync(
      join(folder, 'main-results.json'),
      tidyJson({ rows: [], contrasts: [], provenance }),
    );
    await writeSummary(folder);
    const text = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(text).toContain('The questions asked are those of dev: no test has been drawn.');
    expect(text).toContain('| NQ | 1.0 \\[0.5, 1.5\\] |');
    expect(text).toContain('- **Main**: It is ahead: 0.5 [0.4, 0.6].');
    expect(text).toContain('![What the chart shows.](entities-chart-1.svg)');
    expect(text).toMatch(
      /\| Answers more questions than the best baseline.* \| not computed yet \|/,
    );
    const pictures = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(pictures).toEqual(['entities-chart-1.svg', 'untrained-charts-1.svg']);
    expect(readFileSync(join(folder, pictures[0]), 'utf8')).toContain('<svg');
  });

  it('takes the place of the lines between the marks, and of no others', () => {
    const marks = ['<!-- npm start writes these lines -->', '<!-- as far as here -->'];
    const text = ['a', marks[0], 'old', marks[1], 'z'].join('\n');
    expect(withMarked(text, 'new\n')).toBe(
      ['a', marks[0], '', 'new', '', marks[1], 'z'].join('\n'),
    );
    expect(withMarked('a z', 'new')).toBe('a z');
  });

  it('has every figure of the project’s README', () => {
    const [all, readme] = ['reports/README.md', 'README.md'].map((file) =>
      readFileSync(packagePath(file), 'utf8'),
    );
    const [, table] = /<!-- npm start writes these lines -->(.*)<!-- as far as here -->/s.exec(
      readme,
    )!;
    const figures = table.match(/[+−]?[\d.]+ \\\[[^\]]+\]/g) ?? [];
    expect(figures.length).toBeGreaterThanOrEqual(5);
    expect(figures.filter((figure) => !all.includes(figure))).toEqual([]);
  });

  it('names what a report lacks', async () => {
    page(chart('untrained-charts-1'));
    await expect(writeSummary(folder)).rejects.toThrow(
      'main-results.html to show entities-chart-1',
    );
  });
});
