import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tidyJson } from '../../lib/experiments/reports.js';
import { writeSummary } from '../../lib/experiments/summary.js';
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
      [block('data-table="gap-table"', table), ...charts].join(''),
    );

  it('has the headline table, pictures and the claims, and says which questions were asked', async () => {
    page(chart('untrained-charts-1'), chart('entities-chart-2'));
    const provenance = { questions: 'dev: no test has been drawn' };
    writeFileSync(join(folder, 'main-results.json'), tidyJson({ rows: [], contrasts: [], provenance }));
    await writeSummary(folder);
    const text = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(text).toContain('The questions asked are those of dev: no test has been drawn.');
    expect(text).toContain('| NQ | 1.0 \\[0.5, 1.5\\] |');
    expect(text).toContain('![What the chart shows.](entities-chart-2.svg)');
    expect(text).toMatch(/\| Answers more questions than the best baseline.* not computed yet \|/);
    const pictures = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(pictures).toEqual(['entities-chart-2.svg', 'untrained-charts-1.svg']);
    expect(readFileSync(join(folder, pictures[0]), 'utf8')).toContain('<svg');
  });

  it('names what a report lacks', async () => {
    page(chart('untrained-charts-1'));
    await expect(writeSummary(folder)).rejects.toThrow('main-results.html to show entities-chart-2');
  });
});
