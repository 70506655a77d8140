import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceMarked, writeReadme } from '../../lib/experiments/reports.js';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { chart, emptyResult, writeReport } from './made-up-results.js';

const cells = {
  caption: 'The shape of Table 2.',
  columns: ['benchmark', 'points'],
  rows: [['NQ', '1.0 [0.5, 1.5]']],
};
const START = '<!-- written by npm start -->';
const END = '<!-- end -->';

describe('the README of the reports', () => {
  const folder = temporaryFolder();

  it('has findings, tables, pictures and claims, and says which questions were asked', async () => {
    writeReport(folder, 'Main', {
      ...emptyResult('main-results'),
      finding: 'It is ahead by 0.5.',
      figures: { entities: chart, untrained: chart, gaps: { kind: 'table', cells } },
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
    expect(pictures).toEqual(['main-results-entities.svg', 'main-results-untrained.svg']);
    expect(readFileSync(join(folder, pictures[0]), 'utf8')).toContain('<svg');
  });

  it('replaces only the lines between the marks', () => {
    const text = ['a', START, 'old', END, 'z'].join('\n');
    expect(replaceMarked(text, 'new\n')).toBe(['a', START, '', 'new', '', END, 'z'].join('\n'));
    expect(replaceMarked('a z', 'new')).toBe('a z');
  });

  it('has every figure of the project’s README', () => {
    const [all, readme] = ['reports/README.md', 'README.md'].map((file) =>
      readFileSync(packagePath(file), 'utf8'),
    );
    const table = readme.slice(readme.indexOf(START), readme.indexOf(END));
    const figures = table.match(/[+−]?[\d.]+ \\\[[^\]]+\]/g) ?? [];
    expect(figures.length).toBeGreaterThanOrEqual(5);
    expect(figures.filter((figure) => !all.includes(figure))).toEqual([]);
  });

  it('names a figure that a result lacks', async () => {
    writeReport(folder, 'Main', emptyResult('main-results'));
    await expect(writeReadme(folder)).rejects.toThrow(/main-results.*entities/);
  });
});
