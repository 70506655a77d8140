import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { METHODS } from '../../lib/methods/index.js';
import { chartOf, methodColor, type VegaLiteSpec } from '../../lib/report/chart.js';
import { chartComplaints } from '../../lib/report/chart-rules.js';

const x = { field: 'a', type: 'nominal', title: 'Method' };
const y = { field: 'b', type: 'quantitative', title: 'Time (ms)' };
const complaintsOf = (spec: VegaLiteSpec, title = 'T', alt = 'A is 1.'): string[] =>
  chartComplaints({ title, alt, spec });

describe('chartComplaints', () => {
  it('has nothing against named axes with units, in layers and panels, too', () => {
    expect(complaintsOf({ mark: 'bar', encoding: { x, y } })).toEqual([]);
    const layered = { layer: [{ encoding: { x, y } }, { encoding: { x, y: { ...y, title: undefined } } }] };
    expect(complaintsOf({ facet: { field: 'c' }, spec: layered })).toEqual([]);
    expect(complaintsOf({ encoding: { x: { datum: 0, type: 'quantitative' }, y } })).toEqual([]);
  });

  it('names what is missing', () => {
    const bare = { field: 'b', type: 'quantitative' };
    expect(complaintsOf({ layer: [{ encoding: { x, y: bare } }] }, ' ', '')).toEqual([
      'a title',
      'a text alternative that says more',
      'a title of the y axis',
    ]);
    expect(complaintsOf({ encoding: { y: { ...y, title: 'Time' } } })).toEqual([
      'a unit in parentheses at the end of the y axis title "Time"',
    ]);
    expect(complaintsOf({}, 'T', 'T')).toEqual(['a text alternative that says more']);
  });

  it('is not misled by fields of the data that are called like channels', () => {
    expect(
      complaintsOf({ data: { values: [{ encoding: { x: { field: 1 } } }] }, encoding: { x, y } }),
    ).toEqual([]);
  });
});

describe('chartOf', () => {
  it('refuses a chart that does not tell enough', () => {
    const spec = { encoding: { x: { field: 'a' } } };
    expect(() => chartOf({ title: 'Speed', alt: 'A', spec })).toThrow(
      'Expected the chart "Speed" to have a title of the x axis, but it has not.',
    );
  });

  it('is the only maker of charts', () => {
    const folder = new URL('../../lib/', import.meta.url);
    const makers = readdirSync(folder, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => /kind: 'chart',/.test(readFileSync(new URL(file, folder), 'utf8')));
    // publication.ts reads charts back from a page.
    expect(makers.sort()).toEqual(['report/chart.ts', 'report/publication.ts']);
  });
});

/** Relative luminance by WCAG 2 of `#rrggbb`. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe('the colours of the methods', () => {
  const methods = METHODS.names();
  const { range: colors } = methodColor(methods).scale as { range: string[] };

  it('differ, and stand out 3 to 1 from a light and from a dark page', () => {
    expect(new Set(colors).size).toBe(methods.length);
    for (const page of ['#ffffff', '#14171b']) {
      for (const color of colors) {
        const [low, high] = [luminance(color), luminance(page)].sort((a, b) => a - b);
        expect((high + 0.05) / (low + 0.05)).toBeGreaterThan(3);
      }
    }
  });
});
