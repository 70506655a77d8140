import { describe, expect, it } from 'vitest';
import { lineChart } from '../../../lib/report/charts/chart.js';
import { highlightLines, linesOverTime, smoothLines } from '../../../lib/report/charts/lines.js';
import { renderSvg } from '../../../lib/report/charts/render.js';

const rows = ['a', 'b', 'c'].flatMap((curve, i) =>
  [0, 1, 2].map((step) => ({ metric: 'reward', curve, step, value: i + step, minutes: step / 2 })),
);
const SPEC = { title: 'Reward', x: 'step', color: 'curve' };
const chart = lineChart(rows, SPEC);
interface Drawn {
  data: { values: { curve: string; value: number }[] };
  layer: { encoding: { x: object; color?: { scale: { range: string[] } } } }[];
}
const drawn = (spec: object): Drawn => spec as Drawn;

describe('highlightLines', () => {
  it('gives the chosen lines the first colours and the legend, and draws them on top', async () => {
    const { range: before } = drawn(chart.spec).layer[0].encoding.color!.scale;
    const spec = highlightLines(chart.spec, ['c', 'a']);
    const [others, lines] = drawn(spec).layer;
    expect(others.encoding.color).toBeUndefined();
    expect(lines.encoding.color!.scale).toEqual({ domain: ['c', 'a'], range: before.slice(0, 2) });
    const highlighted = lineChart(rows, { ...SPEC, highlight: ['c', 'a'] });
    const title = { subtitle: '1 other in grey' };
    expect(highlighted.spec).toMatchObject({ layer: drawn(spec).layer, title });
    const strokes = (await renderSvg(highlighted)).matchAll(
      /curve: (\w)" role="graphics-symbol" aria-roledescription="line mark"[^>]* stroke="([^"]+)"/gi,
    );
    expect([...strokes].map(([, name, stroke]) => [name, stroke])).toEqual([
      ['b', '#929292'],
      ['a', before[1]],
      ['c', before[0]],
    ]);
  });
});

describe('smoothLines', () => {
  it('is the moving average of each line, corrected at its start', () => {
    const { values } = drawn(smoothLines(chart.spec, 0.5)).data;
    const smooth = values.flatMap(({ curve, value }) => (curve === 'b' ? value : []));
    // (1), (0.5 * 1 + 2) / 1.5, (0.25 * 1 + 0.5 * 2 + 3) / 1.75
    const expected = [1, 2.5 / 1.5, 4.25 / 1.75];
    smooth.forEach((value, i) => expect(value).toBeCloseTo(expected[i], 12));
    // The same for a field that Vega-Lite reads escaped.
    const dotted = rows.map(({ curve, ...row }) => ({ ...row, 'a.b': curve }));
    const { spec } = lineChart(dotted, { ...SPEC, color: 'a.b' });
    const numbers = drawn(smoothLines(spec, 0.5)).data.values.map(({ value }) => value);
    expect(numbers).toEqual(values.map(({ value }) => value));
  });
});

describe('linesOverTime', () => {
  it('changes the field and the title of the horizontal axis', () => {
    const [{ encoding }] = drawn(linesOverTime(chart.spec)).layer;
    expect(encoding.x).toMatchObject({ field: 'minutes', title: 'Training (minutes)' });
  });
});
