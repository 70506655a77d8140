import { cross, range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { timeParts } from '../../../lib/experiments/latency/experiment.js';
import { intervalChart, lineChart } from '../../../lib/report/charts/chart.js';
import { trainingRows, type CurvePoint } from '../../../lib/report/training-rows.js';
import { renderSvg, textWidth } from '../../../lib/report/charts/render.js';
import { STYLES, seriesChannels } from '../../../lib/report/charts/series.js';
import { createChart, type VegaLiteSpec } from '../../../lib/report/charts/spec.js';
import { stackedChart } from '../../../lib/report/charts/stacked.js';
import { createFrame } from '../../../lib/report/frame.js';
import { METHODS } from '../../../lib/training/methods.js';
import { syntheticLatency } from '../../experiments/synthetic-latency.js';
import { where } from '../fixtures.js';

const x = { field: 'a', type: 'nominal', title: 'Method' };
const y = { field: 'b', type: 'quantitative', title: 'Time (ms)' };
const made = (spec: VegaLiteSpec, title = 'T', alt = 'A is 1.') =>
  createChart({ title, alt, spec });

describe('createChart', () => {
  it.each([
    { mark: 'bar', encoding: { x, y } },
    {
      facet: { field: 'c' },
      spec: { layer: [{ encoding: { x, y } }, { encoding: { y: { field: 'c' } } }] },
    },
    { encoding: { x: { datum: 0, type: 'quantitative' }, y } },
    // Data fields may be named like channels.
    { data: { values: [{ encoding: { x: { field: 1 } } }] }, encoding: { x, y } },
  ])('accepts axes with titles and units, also in layers and panels: %j', (spec) => {
    expect(made(spec).spec).toMatchObject(spec);
  });

  it('lists what is missing', () => {
    const bare = { layer: [{ encoding: { x, y: { field: 'b', type: 'quantitative' } } }] };
    expect(() => made(bare, ' ', '')).toThrow(/a title, a text alternative .*, .* y axis/);
    expect(() => made({}, 'T', 'T')).toThrow(/text alternative/);
    expect(() => made({ encoding: { y: { ...y, title: 'Time' } } })).toThrow(/unit.*"Time/);
  });
});

const MODELS = ['base', 'instruct'];
const IN_PAPER = ['r1', 'search-r1', 'search-r1-parallel-prompt', 'parallelsearch'];
const frame = createFrame(
  cross(MODELS, cross(IN_PAPER, ['nq', 'hotpotqa']), (model, [method, benchmark]) => {
    const value = 0.1 * IN_PAPER.indexOf(method);
    const interval = { value, low: value - 0.05, high: value + 0.05 };
    const paper = method === 'r1' ? null : 0.2;
    return { method, model, benchmark, metric: 'em', n: 10, paper, ...interval };
  }),
);
const curves = cross(MODELS, cross([1, 2], [0, 1, 2]), (model, [seed, step]): CurvePoint => {
  return { method: 'search-r1', model, seed, step, reward: seed + step };
});
const spec = { title: 'A title', color: 'method' };

describe('charts', () => {
  const training = createFrame(trainingRows(curves, ['reward']));
  const base = where(frame, ({ model }) => model === 'base');
  const charts = {
    intervals: intervalChart(frame, { ...spec, x: 'benchmark', row: 'model' }),
    bands: lineChart(training, { ...spec, x: 'step', column: 'model' }),
    lines: lineChart(base, { ...spec, x: 'benchmark' }),
  };

  it.each(Object.entries(charts))('are drawn without warnings: %s', async (_, chart) => {
    expect(await renderSvg(chart)).toMatch(/^<svg/);
  });

  it('support field names with dots and brackets', async () => {
    const dotted = (x: string) =>
      [0.15, 0.5].flatMap((value, i) =>
        ['parallelsearch', 'search-r1'].map((method) => {
          return { metric: 'em', [x]: value, method, value: i / 10, low: i / 10, high: 0.5 };
        }),
      );
    for (const x of ['rewards.lambdaD', 'top[k]'])
      for (const draw of [intervalChart, lineChart]) {
        const svg = await renderSvg(draw(dotted(x), { ...spec, x, xTitle: 'X (unit)' }));
        expect(svg).not.toContain('undefined');
        expect(svg).toContain('>0.5<');
      }
  });

  const drawField = async (name: string, option: string, draw: typeof lineChart) => {
    const rows = [0.1, 0.2, 0.4].map((value, i) => {
      const interval = { value, low: value - 0.1, high: value + 0.1 };
      return {
        metric: 'em',
        other: `o${i}`,
        ...interval,
        ...Object.fromEntries([[name, `v${i}`]]),
      };
    });
    const axes = { title: 'T', x: 'other', xTitle: 'X', color: 'other', [option]: name };
    const svg = await renderSvg(draw(rows, axes));
    expect(svg).not.toContain('undefined');
    const marks = svg.matchAll(
      /aria-roledescription="[\w ]+ mark" transform="[^"]+"[^>]* d="[^"]+"/g,
    );
    const texts = svg.matchAll(/>([ov]\d)<\/text>/g);
    return [...marks].map(([mark]) => mark).concat([...texts].map(([, text]) => text));
  };
  const OPTIONS = cross(['x', 'color', 'panel', 'row'], [intervalChart, lineChart]);
  const drawAll = (name: string) =>
    Promise.all(OPTIONS.map(([option, draw]) => drawField(name, option, draw)));
  let plain: Promise<string[][]>;
  beforeAll(() => void (plain = drawAll('plain')));

  // Derived from a plain name: the marks must stand at the same places.
  it.each([
    'a\\b',
    '\\',
    'a\\.b',
    'a.b',
    'a[0]',
    "a'b",
    'a"b',
    'a\nb',
    'if',
    'constructor',
    '__proto__',
  ])('draw the right values of the field %j', async (field) => {
    expect(await drawAll(field)).toEqual(await plain);
  });

  it('have titles of methods, values as text, and hollow points for the paper', () => {
    const { spec: drawn, alt } = charts.intervals;
    const text = JSON.stringify(drawn);
    expect(text).toContain('"Search-R1 + parallel prompt"');
    expect(text).toContain('isValid(datum.paper)');
    expect(alt).toMatch(
      /^Exact match\. base: R1 \(no search\) 0\.000 \(NQ\), 0\.000 \(HotpotQA\); Search-R1 0\.100 \(NQ\), .+\. instruct: R1 /,
    );
    expect(charts.bands.alt).toBe(
      'Reward. base: Search-R1 1.500 (step 0), 2.500 (step 1), 3.500 (step 2). ' +
        'instruct: Search-R1 1.500 (step 0), 2.500 (step 1), 3.500 (step 2).',
    );
  });

  it('have tooltips with the digits of small numbers', async () => {
    const rows = [{ metric: 'kl', method: 'a', k: 'x', value: 4e-8, low: 1e-8, high: 0.523 }];
    const chart = intervalChart(rows, { ...spec, x: 'k', xTitle: 'X', color: 'method' });
    expect(await renderSvg(chart)).toContain('value: 4e-8; low: 1e-8; high: 0.523');
  });

  it.each([
    [45, [0, 50]],
    [-0.5, [-0.6, 1]],
    [0.5, [0, 1]],
  ])('show a share of %d within the axis', (value, domain) => {
    const interval = { value, low: value - 0.1, high: value > 1 ? 50 : 0.9 };
    const row = { metric: 'em', method: 'a', k: 'x', ...interval };
    const axes = { ...spec, x: 'k', xTitle: 'X', panel: 'method' };
    for (const draw of [intervalChart, lineChart])
      expect(JSON.stringify(draw([row], axes).spec)).toContain(
        `"domain":${JSON.stringify(domain)}`,
      );
  });

  it.each([new Date(0), true])('need numbers or texts on the axis, not %s', (step) => {
    const rows = [{ metric: 'em', method: 'a', value: 1, step }];
    expect(() => lineChart(rows, { ...spec, x: 'step' })).toThrow(
      `Expected numbers or texts in the field step of the chart "A title", but got ${String(step)}.`,
    );
  });

  it('describe long series only by their ends', () => {
    const steps = range(20).map((step) => ({ method: 'm', step, metric: 'kl', value: step }));
    const { alt } = lineChart(createFrame(steps), { ...spec, x: 'step' });
    expect(alt).toBe('KL to the reference. m from 0.000 (step 0) to 19.000 (step 19).');
  });

  it('need rows of a single metric', () => {
    const row = { method: 'r1', value: 1, benchmark: 'nq' };
    const two = createFrame(['em', 'f1'].map((metric) => ({ ...row, metric })));
    expect(() => intervalChart(two, { ...spec, x: 'benchmark' })).toThrow(/one metric/);
    expect(() => intervalChart(createFrame([]), { ...spec, x: 'benchmark' })).toThrow(/no rows/);
  });

  it.each(['x', 'color', 'row', 'panel'])('need an existing column: %s', (option) => {
    const rows = createFrame([{ method: 'r1', metric: 'em', value: 1, benchmark: 'nq' }]);
    const wrong = { ...spec, x: 'benchmark', [option]: 'methd' };
    for (const draw of [intervalChart, lineChart])
      expect(() => draw(rows, wrong)).toThrow(
        `Expected ${option} of the chart "${spec.title}" to be one of method, metric, value, benchmark, but got methd.`,
      );
    for (const absent of ['', 'constructor'])
      expect(() => lineChart(rows, { ...wrong, [option]: absent })).toThrow(/to be one of/);
  });
});

it.each([
  ['external data', { data: { url: 'https://example.org/x.json' }, mark: 'point' }, /example\.org/],
  [
    'specifications with warnings',
    { data: { values: [] }, mark: 'bar', encoding: { no: { field: 'a' } } },
    /valid encoding channel/,
  ],
  ...[
    { layer: 'no' },
    { hconcat: 3 },
    { vconcat: [null] },
    { mark: 'nope', encoding: {} },
    { mark: 'point', transform: 'x' },
    { mark: 'point', params: 3 },
  ].map((spec): [string, VegaLiteSpec, RegExp] => [
    JSON.stringify(spec),
    spec,
    /^The chart "T" cannot be drawn: its Vega-Lite specification is invalid/,
  ]),
])('renderSvg rejects %s', async (_, spec, message) => {
  await expect(renderSvg(made(spec))).rejects.toThrow(message);
});

it('stackedChart describes the parts of each bar, and can be drawn', async () => {
  const parts = timeParts(syntheticLatency()) as { sub_queries: number }[];
  const four = createFrame(parts.filter(({ sub_queries: n }) => n === 4));
  const axes = { y: 'asked', panel: 'retriever', xTitle: 'Wall clock (ms)', mark: 'measured' };
  const chart = stackedChart(four, { title: 'Where the time goes', ...axes });
  expect(chart.alt).toContain('HTTP, 50 ms delay, in turns: waiting 200');
  const svg = await renderSvg(chart);
  expect(svg).toContain('<svg');
  expect(svg.match(/diamond|in turns/g)!.length).toBeGreaterThan(1);
  const named = parts.map((row) => ({ ...row, 'a\\b': row.sub_queries }));
  const renamed = await renderSvg(stackedChart(named, { title: 'T', ...axes, panel: 'a\\b' }));
  expect(renamed).toMatch(/>4<\/text>/);
});

/** Relative luminance by WCAG 2 of `#rrggbb`. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe('colours', () => {
  const methods = seriesChannels('method', METHODS.names()).color.scale.range;

  it.each([
    ['of methods', methods],
    ['of series', STYLES.map(({ color }) => color)],
  ])('%s differ and have a contrast of 3 on light and dark pages', (_, colors) => {
    expect(new Set(colors).size).toBe(colors.length);
    for (const page of ['#ffffff', '#14171b']) {
      for (const color of colors) {
        const [low, high] = [luminance(color), luminance(page)].sort((a, b) => a - b);
        expect((high + 0.05) / (low + 0.05)).toBeGreaterThan(3);
      }
    }
  });
});

describe('textWidth', () => {
  it.each([
    // Measured by Chromium in DejaVu Sans of 100 px.
    ['Answered with evidence incomplete', 1810, 2039],
    ['2WikiMultiHopQA', 865, 988],
    ['parallelizable', 666, 760],
  ])('is slightly more than the width of %s in a wide typeface', (text, plain, bold) => {
    const widths = ['normal', 'bold'].map((fontWeight) =>
      textWidth({ fontSize: 100, fontWeight }, text),
    );
    for (const [i, width] of [plain, bold].entries()) {
      expect(widths[i]).toBeGreaterThan(width);
      expect(widths[i]).toBeLessThan(1.12 * width);
    }
  });

  it('is at most the limit', () => {
    expect(textWidth({ fontSize: 10, limit: 20 }, 'parallelizable')).toBe(20);
  });
});

it('marks values between missing ones, which no line reaches', async () => {
  const values = [1, null, 3, NaN, 5];
  const steps = values.map((value, step) => ({ metric: 'loss', method: 'a', step, value }));
  const svg = await renderSvg(lineChart(steps, { title: 'T', x: 'step', color: 'method' }));
  expect(svg.match(/aria-roledescription="point"/g)).toHaveLength(3);
});

it('labels few and whole steps, also where points stand between them', async () => {
  const labels = async (places: readonly number[]) => {
    const rows = places.map((step) => ({ metric: 'loss', method: 'a', step, value: step }));
    const spec = { title: 'T', x: 'step', color: 'method', width: 300 };
    const svg = await renderSvg(lineChart(rows, spec));
    const [axis] = /role-axis-label.*?<\/g>/s.exec(svg)!;
    return [...axis.matchAll(/>([\d.,]+)<\/text>/g)].map(([, label]) => Number(label));
  };
  expect(await labels([1.5, 2.5])).toEqual([2]);
  expect(await labels([1.5, 98.5, 197.5])).toEqual([0, 50, 100, 150, 200]);
});

it('writes years without a comma, and counts rows without a place on the axis', async () => {
  const draw = (xs: readonly (number | null)[]) => {
    const rows = xs.map((year) => ({ metric: 'loss', method: 'a', year, value: 1 + (year ?? 0) }));
    const axes = { title: 'T', x: 'year', xTitle: 'Time (years)', color: 'method' };
    return renderSvg(lineChart(rows, axes));
  };
  const years = await draw([2018, 2019, 2020]);
  expect(years).toContain('>2019</text>');
  expect(years).not.toContain('not shown');
  expect(await draw([0, 5000, 10_000])).toContain('>10,000</text>');
  const gaps = await draw([2018, null, 2020, NaN]);
  expect(gaps).toContain('2 rows without year not shown');
  expect(gaps).toContain('>2020</text>');
});

describe('names that Vega reads as its own', () => {
  it.each(['if', 'constructor', 'toString', '__proto__'])('draws %s', async (name) => {
    const named = createFrame(
      cross([name, 'other'], range(3), (method, step) => ({
        method,
        step,
        metric: 'reward',
        value: step / 3,
      })),
    );
    const svg = await renderSvg(lineChart(named, { title: 'T', x: 'step', color: 'method' }));
    expect(svg).toContain(`>${name}\u2060</text>`);
    for (const { color } of STYLES.slice(0, 2)) expect(svg).toContain(`stroke="${color}"`);
    const foreign = {
      data: { values: [{ [name]: name, b: 1 }] },
      mark: 'bar',
      encoding: { x: { field: name, sort: [name] }, y, color: { field: name } },
    };
    expect(await renderSvg({ title: 'T', spec: foreign })).toMatch(/fill="#[0-9a-f]{6}"/);
  });
});
