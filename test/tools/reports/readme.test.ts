import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../../lib/io/paths.js';
import { replaceMarked, writeReadme } from '../../../tools/reports/readme.js';
import { chart, emptyResult, writeReport } from '../../experiments/made-up-results.js';
import { temporaryFolder } from '../../folder.js';

const cells = {
  caption: 'The shape of Table 2.',
  columns: ['benchmark', 'points'],
  rows: [['NQ', '1.0 [0.5, 1.5]']],
};
const START = '<!-- written by npm start -->';
const END = '<!-- end -->';

describe('writeReadme', () => {
  const folder = temporaryFolder();

  it('writes questions, findings, tables, pictures and claims', async () => {
    writeReport(folder, 'Main', {
      ...emptyResult('main-results'),
      finding: 'It is ahead by 0.5.',
      figures: {
        overall: { kind: 'table', cells },
        entities: chart,
        types: chart,
        untrained: chart,
        gaps: { kind: 'table', cells },
      },
      provenance: { questions: 'dev: no test has been drawn' },
    });
    await writeReadme(folder);
    const text = readFileSync(join(folder, 'README.md'), 'utf8');
    expect(text).toContain('dev: no test has been drawn');
    expect(text).toContain('| NQ | 1.0 \\[0.5, 1.5\\] |');
    expect(text).toContain('- **Main**: It is ahead by 0.5.');
    expect(text).toContain('![What the chart shows.](main-results-entities.svg)');
    expect(text).toMatch(
      /\| Answers more questions than the best baseline.* \| not computed yet \|/,
    );
    const pictures = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(pictures).toEqual(
      ['entities', 'types', 'untrained'].map((name) => `main-results-${name}.svg`),
    );
    expect(readFileSync(join(folder, pictures[0]), 'utf8')).toContain('<svg');
  });

  it('replaces only the lines between the marks', () => {
    const text = ['a', START, 'old', END, 'z'].join('\n');
    expect(replaceMarked(text, 'new\n')).toBe(['a', START, '', 'new', '', END, 'z'].join('\n'));
    expect(replaceMarked('a z', 'new')).toBe('a z');
  });

  it('has all figures of the project’s README', () => {
    const [all, readme] = ['reports/README.md', 'README.md'].map((file) =>
      readFileSync(packagePath(file), 'utf8'),
    );
    const table = readme.slice(readme.indexOf(START), readme.indexOf(END));
    const figures = table.match(/[+−]?[\d.]+ \\\[[^\]]+\]/g) ?? [];
    expect(figures.length).toBeGreaterThanOrEqual(5);
    expect(figures.filter((figure) => !all.includes(figure))).toEqual([]);
  });

  it('reports a missing figure', async () => {
    writeReport(folder, 'Main', emptyResult('main-results'));
    await expect(writeReadme(folder)).rejects.toThrow(/main-results.*overall/);
  });
});
