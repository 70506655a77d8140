/** The charts of the latency report, as Vega-Lite specifications over tidy rows. */
import { requestCosts, type LatencyResults, type LatencyRow } from './measures.js';
import { predictTime, type AskingName } from './model.js';
import { chartOf, titled, type Chart, type VegaLiteSpec } from '../../report/chart.js';
import {
  askingTitle,
  mostQueries,
  msText,
  questionSpeedUp,
  retrieversOf,
  retrieverTitle,
  wallRows,
} from './tables.js';

/** Distinguishable for colour-blind readers, on white and on black; shapes repeat what colours say. */
const COLORS = ['#8a8a8a', '#2b86c5', '#b98a00', '#d95f02'];
const SHAPES = ['square', 'circle', 'triangle-up', 'diamond'];
const DODGE = 0.13;
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 2, 2, 2],
];

/** Rows as a chart needs them; `at` is beside `sub_queries`, so that the ways of asking do not hide each other. */
function valuesOf(
  results: LatencyResults,
  rows: readonly LatencyRow[],
  ways: readonly string[],
): Record<string, string | number>[] {
  return rows.map(({ retriever, method, limit, sub_queries, value, low, high, predicted, n }) => {
    const asked = askingTitle(method, limit);
    const at = sub_queries + DODGE * (ways.indexOf(asked) - (ways.length - 1) / 2);
    return {
      ...{ retriever: retrieverTitle(results, retriever), asked, at },
      ...{ sub_queries, value, low, high, predicted, n },
    };
  });
}

/** A panel for each retriever with a scale of its own on one axis. */
function panels(
  results: LatencyResults,
  { axis, ...spec }: VegaLiteSpec & { axis: 'x' | 'y'; values: readonly object[] },
): VegaLiteSpec {
  const { values, ...inner } = spec;
  const sort = retrieversOf(results).map((name) => retrieverTitle(results, name));
  return {
    data: { values },
    facet: { field: 'retriever', type: 'nominal', sort },
    columns: 2,
    spec: { width: 300, height: 200, ...inner },
    resolve: { scale: { [axis]: 'independent' }, axis: { x: 'independent' } },
  };
}

/** Colour and shape of the ways of asking, in one legend. */
function askedChannels(ways: readonly string[]): { color: VegaLiteSpec; shape: VegaLiteSpec } {
  const field = { field: 'asked', type: 'nominal', title: 'Asked' };
  return {
    color: { ...field, scale: { domain: ways, range: COLORS.slice(0, ways.length) } },
    shape: { ...field, scale: { domain: ways, range: SHAPES.slice(0, ways.length) } },
  };
}

/** Medians with quartiles as points, and the model's figures as a dashed line. */
function measuredLayers(results: LatencyResults, ways: readonly string[]): VegaLiteSpec[] {
  const values = results.record.config.numQueries;
  const x = {
    field: 'sub_queries',
    type: 'quantitative',
    title: titled('Sub-queries', 'number'),
    axis: { values, format: 'd', grid: false },
    scale: { domain: [0.5, Math.max(...values) + 0.5], nice: false },
  };
  const beside = { ...x, field: 'at' };
  const y = { type: 'quantitative', title: titled('Wall clock of the set', 'ms'), scale: { zero: true } };
  const { color, shape } = askedChannels(ways);
  const figure = { type: 'quantitative', format: '.3f' };
  const tooltip = [
    { field: 'asked' },
    { field: 'sub_queries' },
    ...['value', 'low', 'high', 'predicted'].map((field) => ({ field, ...figure })),
    { field: 'n' },
  ];
  return [
    {
      mark: { type: 'line', strokeDash: [4, 3], opacity: 0.8 },
      encoding: { x, y: { ...y, field: 'predicted' }, color },
    },
    {
      mark: { type: 'rule', strokeWidth: 2 },
      encoding: { x: beside, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
    },
    {
      mark: { type: 'point', filled: true, size: 55, opacity: 1 },
      encoding: { x: beside, y: { ...y, field: 'value' }, color, shape, tooltip },
    },
  ];
}

/** Wall clock by number of sub-queries: in turns, in one turn, in one request. */
export function wallClockChart(results: LatencyResults): Chart {
  const rows = wallRows(results, {}).filter(
    ({ method, limit }) => method !== 'one-turn' || limit === 'unlimited',
  );
  const ways = (['in-turns', 'one-turn', 'one-request'] as const).map((method) => askingTitle(method));
  const most = mostQueries(results);
  const spoken = retrieversOf(results).map((retriever) => {
    const ms = (method: AskingName): string =>
      msText(
        rows.find((r) => r.retriever === retriever && r.method === method && r.sub_queries === most)!.value,
      );
    return `${retrieverTitle(results, retriever)}: ${ms('in-turns')} ms in turns, ${ms('one-turn')} ms in one turn, ${ms('one-request')} ms in one request.`;
  });
  return chartOf({
    title: 'Wall clock of a set of sub-queries, median and quartiles (dashed: the model)',
    alt: `Wall clock by number of sub-queries, a panel for each retriever. With ${most} sub-queries: ${spoken.join(' ')}`,
    spec: panels(results, {
      axis: 'y',
      values: valuesOf(results, rows, ways),
      layer: measuredLayers(results, ways),
    }),
  });
}

/** Wall clock of one turn by number of sub-queries and concurrency limit. */
export function concurrencyChart(results: LatencyResults): Chart {
  const rows = wallRows(results, { method: 'one-turn' });
  const ways = results.record.config.limits.map((limit) => askingTitle('one-turn', limit));
  const most = mostQueries(results);
  const spoken = retrieversOf(results).map((retriever) => {
    const ms = rows
      .filter((row) => row.retriever === retriever && row.sub_queries === most)
      .map((row) => `${msText(row.value)} ms (${row.limit === 'unlimited' ? 'no limit' : row.limit})`);
    return `${retrieverTitle(results, retriever)}: ${ms.join(', ')}.`;
  });
  return chartOf({
    title: 'One turn under a concurrency limit, median and quartiles (dashed: the model)',
    alt: `Wall clock of one turn by number of sub-queries and requests allowed on the way. With ${most} sub-queries: ${spoken.join(' ')}`,
    spec: panels(results, {
      axis: 'y',
      values: valuesOf(results, rows, ways),
      layer: measuredLayers(results, ways),
    }),
  });
}

const PARTS = { waitingMs: 'waiting', callMs: 'requests', serviceMs: 'searching' } as const;
const PART_COLORS = ['#5b8fc7', '#d95f02', '#1b7a5a'];

/** The parts of the model's time for every way of asking `numQueries` sub-queries, a value each. */
function timeParts(results: LatencyResults, numQueries: number) {
  return wallRows(results, { sub_queries: numQueries }).flatMap(({ method, limit, retriever, value }) => {
    const time = predictTime({ method, limit, numQueries }, requestCosts(results.record, retriever));
    const name = { retriever: retrieverTitle(results, retriever), asked: askingTitle(method, limit), value };
    return (Object.keys(PARTS) as (keyof typeof PARTS)[]).map((part, order) => {
      return { ...name, part: PARTS[part], order, ms: time[part] };
    });
  });
}

/** Where the time goes by the model, for `numQueries` sub-queries, with the measured time as a mark. */
export function timePartsChart(results: LatencyResults, numQueries = 4): Chart {
  const values = timeParts(results, numQueries);
  const spoken = values
    .filter(({ asked }) => asked === askingTitle('in-turns'))
    .map(({ retriever, part, ms }) => `${retriever}, ${part} ${msText(ms)} ms`);
  const title = titled('Asked', `${numQueries} sub-queries`);
  const y = { field: 'asked', type: 'nominal', sort: null, title, axis: { labelLimit: 240 } };
  const x = { type: 'quantitative', title: titled('Wall clock of the set', 'ms') };
  const scale = { domain: Object.values(PARTS), range: PART_COLORS };
  const color = { field: 'part', type: 'nominal', title: 'The model', scale };
  const order = { field: 'order', type: 'quantitative' };
  const bars = {
    mark: { type: 'bar', height: { band: 0.7 } },
    encoding: { y, x: { ...x, field: 'ms', stack: 'zero' }, order, color },
  };
  const measured = {
    transform: [{ filter: 'datum.order === 0' }],
    mark: { type: 'point', shape: 'diamond', filled: true, size: 60, color: '#6b6b6b', opacity: 1 },
    encoding: { y, x: { ...x, field: 'value' } },
  };
  return chartOf({
    title: `Where the time goes with ${numQueries} sub-queries: the model (bars), measured medians (diamonds)`,
    alt: `Parts of the predicted wall clock by retriever and way of asking. In turns: ${spoken.join('; ')}.`,
    spec: panels(results, { axis: 'x', values, height: { step: 24 }, layer: [bars, measured] }),
  });
}

/** Times of a call of the model over which a question is looked at, ms: 1 to 10,000 in equal ratios. */
const GENERATION_MS = Array.from({ length: 41 }, (_, i) => 10 ** (i / 10));

/** How many times as fast a question of `numQueries` sub-questions is in one turn, by the time of a call of the model. */
export function questionTimeChart(results: LatencyResults, numQueries = 3): Chart {
  const curves = retrieversOf(results).map((retriever) => ({
    retriever: retrieverTitle(results, retriever),
    speedUps: GENERATION_MS.map((ms) =>
      questionSpeedUp(results, { retriever, numQueries, generationMs: ms }),
    ),
  }));
  const values = curves.flatMap(({ retriever, speedUps }) =>
    speedUps.map((speed_up, i) => ({ retriever, speed_up, generation_ms: GENERATION_MS[i] })),
  );
  const ends = curves.map(
    ({ retriever, speedUps }) =>
      `${retriever}: ${speedUps[0].toFixed(2)} with 1 ms, ${speedUps.at(-1)!.toFixed(2)} with 10,000 ms.`,
  );
  const titles = curves.map(({ retriever }) => retriever);
  const stated = results.generation ? [statedRule(results.generation.msPerCall)] : [];
  return chartOf({
    title: `A question of ${numQueries} independent sub-questions: time in turns over time in one turn`,
    alt: `How many times as fast one turn is, by the time of a call of the model. ${ends.join(' ')}`,
    spec: { data: { values }, width: 480, height: 260, layer: [speedUpLines(titles), ...stated] },
  });
}

const GENERATION_AXIS = {
  type: 'quantitative',
  title: titled('A call of the model', 'ms, logarithmic'),
  scale: { type: 'log' },
};

function speedUpLines(retrievers: readonly string[]): VegaLiteSpec {
  const field = { field: 'retriever', type: 'nominal', title: 'Retriever' };
  const channel = (range: readonly unknown[]): VegaLiteSpec => ({
    ...field,
    scale: { domain: retrievers, range: retrievers.map((_, i) => range[i % range.length]) },
  });
  const title = titled('One turn is faster', 'times');
  const y = { field: 'speed_up', type: 'quantitative', title, scale: { zero: false } };
  return {
    mark: { type: 'line', strokeWidth: 2 },
    encoding: {
      x: { ...GENERATION_AXIS, field: 'generation_ms' },
      y,
      color: channel(COLORS),
      strokeDash: channel(DASHES),
    },
  };
}

/** Where an evaluation's own time of a call lies. */
function statedRule(msPerCall: number): VegaLiteSpec {
  return {
    mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
    encoding: { x: { ...GENERATION_AXIS, datum: msPerCall } },
  };
}
