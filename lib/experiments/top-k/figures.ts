/** The report on passages a sub-query, for three retrievers: Figure 6, and the retrieval that explains it. */
import type { RetrieverName, TopKContrast, TopKResults, TopKRow } from './measures.js';
import {
  chartOf,
  SERIES_COLORS,
  SERIES_SHAPES,
  SMALL_WORLD,
  titled,
  type Chart,
  type VegaLiteSpec,
} from '../../report/chart.js';
import { tableOf, type Table } from '../../report/frame.js';
import {
  benchmarkTitle,
  figureText,
  intervalText,
  methodTitle,
  pointsIntervalText,
  SUBSET_TITLES,
} from '../../report/select.js';
import { intervalLayers, methodSeries } from '../../report/series.js';

const RETRIEVER_TITLES: Readonly<Record<RetrieverName, string>> = {
  bm25: 'BM25',
  exact: 'dense, exact',
  hnsw: 'dense, HNSW',
};
const METRIC_TITLES: Readonly<Record<string, readonly [title: string, unit: string]>> = {
  em: ['Exact match', 'share of questions'],
  model_calls: ['Model calls', 'mean per question'],
  evidence_shown: ['Evidence seen', 'share of sub-questions'],
  passages_shown: ['Passages seen', 'mean per sub-query'],
};
/** The two data sets of Figure 6, and all questions. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const K_AXIS = {
  ...{ field: 'k', type: 'ordinal', title: titled('k', 'passages a sub-query') },
  axis: { labelAngle: 0 },
};

type RowQuery = Partial<Pick<TopKRow, 'method' | 'retriever' | 'k' | 'benchmark' | 'subset' | 'metric'>>;
type ContrastQuery = Partial<TopKContrast>;

const matches = (item: object, query: object): boolean =>
  Object.entries(query).every(([key, value]) => (item as Record<string, unknown>)[key] === value);
const rowsOf = ({ tidy }: TopKResults, query: RowQuery): TopKRow[] =>
  tidy.rows.filter((row) => matches(row, query));
const findContrast = ({ tidy }: TopKResults, query: ContrastQuery): TopKContrast | undefined =>
  tidy.contrasts.find((contrast) => matches(contrast, query));

/** A setting by retriever and method, in the configuration's order. */
function linesOf({ record }: TopKResults): { retriever: RetrieverName; method: string }[] {
  const { retrievers, methods } = record.config;
  return retrievers.flatMap((retriever) => methods.map((method) => ({ retriever, method })));
}

/** A panel for each retriever. */
function retrieverPanels({ record }: TopKResults, row?: VegaLiteSpec): VegaLiteSpec {
  const sort = record.config.retrievers.map((name) => RETRIEVER_TITLES[name]);
  return { column: { field: 'retriever', sort }, ...(row ? { row } : {}) };
}

/** A metric over k: a panel for each retriever and data set, both methods with their intervals. Exact match is Figure 6. */
export function topKChart(results: TopKResults, metric = 'em', benchmarks = BENCHMARKS): Chart {
  const { methods, ks } = results.record.config;
  const rows = benchmarks.flatMap((benchmark) => rowsOf(results, { benchmark, subset: 'all', metric }));
  const values = rows.map(({ method, retriever, benchmark, k, value, low, high, n }) => ({
    ...{ method: methodTitle(method), retriever: RETRIEVER_TITLES[retriever] },
    ...{ benchmark: benchmarkTitle(benchmark), k, value, low, high, n },
  }));
  const [title, unit] = METRIC_TITLES[metric] ?? [metric, 'mean'];
  const y = { type: 'quantitative', title: titled(title, unit), scale: { zero: true } };
  const spoken = linesOf(results).map((line) => {
    const figure = (k: number): string =>
      figureText(rowsOf(results, { ...line, k, benchmark: 'all', subset: 'all', metric })[0]?.value);
    const [first, last] = [ks[0], ks[ks.length - 1]];
    return `${methodTitle(line.method)} with ${RETRIEVER_TITLES[line.retriever]}: ${figure(first)} at k = ${first}, ${figure(last)} at k = ${last}.`;
  });
  const row = { field: 'benchmark', sort: benchmarks.map(benchmarkTitle) };
  return chartOf({
    title: `${title} by passages a sub-query, with 95 % intervals`,
    subtitle: SMALL_WORLD,
    alt: `${title} over k for each retriever and method. All questions: ${spoken.join(' ')}`,
    spec: {
      data: { values },
      facet: retrieverPanels(results, row),
      // High enough for the title of the axis.
      spec: { width: { step: 20 }, height: 190, layer: intervalLayers(methodSeries(methods), K_AXIS, y) },
    },
  });
}

/** How often the evidence of a sub-question is among the first k passages, asked as the data set words it. */
export function recallChart({ record }: TopKResults): Chart {
  const values = record.recall.map(({ retriever, k, hitRate }) => ({
    ...{ retriever: RETRIEVER_TITLES[retriever], k, value: hitRate },
  }));
  const domain = record.config.retrievers.map((name) => RETRIEVER_TITLES[name]);
  const channel = { field: 'retriever', type: 'nominal', title: 'Retriever' };
  const color = { ...channel, scale: { domain, range: SERIES_COLORS } };
  const shape = { ...channel, scale: { domain, range: SERIES_SHAPES } };
  const y = {
    ...{ field: 'value', type: 'quantitative', title: titled('Recall@k', 'share of sub-questions') },
    scale: { zero: false },
  };
  const spoken = record.recall.map(
    ({ retriever, k, hitRate }) => `${RETRIEVER_TITLES[retriever]} at ${k}: ${figureText(hitRate)}`,
  );
  return chartOf({
    title: `Recall@k of the retrievers, ${record.recall[0].n.toLocaleString('en')} sub-questions`,
    subtitle: SMALL_WORLD,
    alt: `Share of sub-questions whose evidence is among the first k passages. ${spoken.join(', ')}.`,
    spec: {
      data: { values },
      ...{ width: 320, height: 200 },
      layer: [
        { mark: { type: 'line', strokeWidth: 2 }, encoding: { x: K_AXIS, y, color } },
        { mark: { type: 'point', filled: true, size: 55 }, encoding: { x: K_AXIS, y, color, shape } },
      ],
    },
  });
}

/** A line for each retriever and method, a column for each k. */
function tableByK(
  results: TopKResults,
  caption: string,
  textOf: (line: { retriever: RetrieverName; method: string }, k: number) => string,
): Table {
  const records = linesOf(results).map((line) => ({
    ...{ Retriever: RETRIEVER_TITLES[line.retriever], Method: methodTitle(line.method) },
    ...Object.fromEntries(results.record.config.ks.map((k) => [`k = ${k}`, textOf(line, k)])),
  }));
  return tableOf(`Small world. ${caption}`, records);
}

/** A metric by retriever, method and k. */
export function topKTable(
  results: TopKResults,
  { metric = 'em', benchmark = 'all', subset = 'all' } = {},
): Table {
  const cell = { metric, benchmark, subset };
  const [title] = METRIC_TITLES[metric] ?? [metric];
  const [row] = rowsOf(results, cell);
  const questions = subset === 'all' ? benchmarkTitle(benchmark) : SUBSET_TITLES[subset];
  return tableByK(results, `${title} [95 %] on ${row?.n ?? 0} questions: ${questions}.`, (line, k) =>
    intervalText(rowsOf(results, { ...cell, ...line, k })[0]),
  );
}

/** What more passages gain: exact match at each k minus that at the smallest, in points. */
export function topKGainTable(results: TopKResults, benchmark = 'all'): Table {
  const least = Math.min(...results.record.config.ks);
  const caption = `Exact match minus that at k = ${least}, in points [95 %]: ${benchmarkTitle(benchmark)}.`;
  return tableByK(results, caption, ({ retriever, method }, k) =>
    pointsIntervalText(
      findContrast(results, {
        ...{ method, against: method, retriever, k, against_k: least, benchmark },
        ...{ subset: 'all', metric: 'em', kind: 'difference', against_retriever: undefined },
      }),
    ),
  );
}

/** ParallelSearch minus Search-R1 in exact match at each k, in points. */
export function topKMethodTable(results: TopKResults, subset = 'all'): Table {
  const { retrievers, ks, methods } = results.record.config;
  const [method, against] = [methods[0], methods[methods.length - 1]];
  const records = retrievers.map((retriever) => {
    const found = (k: number): TopKContrast | undefined =>
      findContrast(results, {
        ...{ method, against, retriever, k, benchmark: 'all', subset, metric: 'em', kind: 'difference' },
        ...{ against_k: undefined, against_retriever: undefined },
      });
    const texts = ks.map((k) => [`k = ${k}`, pointsIntervalText(found(k))] as const);
    return { Retriever: RETRIEVER_TITLES[retriever], ...Object.fromEntries(texts) };
  });
  return tableOf(
    `Small world. ${methodTitle(method)} minus ${methodTitle(against)} in exact match, in points [95 %]: ${SUBSET_TITLES[subset]}.`,
    records,
  );
}

/** Recall@k of the retrievers. */
export function recallTable({ record }: TopKResults): Table {
  const records = record.config.retrievers.map((retriever) => {
    const own = record.recall.filter((recall) => recall.retriever === retriever);
    const texts = own.map(({ k, hitRate }) => [`k = ${k}`, figureText(hitRate)] as const);
    return { Retriever: RETRIEVER_TITLES[retriever], ...Object.fromEntries(texts) };
  });
  return tableOf(
    `Recall@k: share of ${record.recall[0].n.toLocaleString('en')} test sub-questions whose evidence is among the first k, asked as the data set words them.`,
    records,
  );
}

/** How many of the passages found there was room for, and how often the context was full all the same. */
export function roomTable(results: TopKResults): Table {
  const columns = [
    ['passages_shown', 'Seen a sub-query'],
    ['passages_left_out', 'Left out, share of those found'],
    ['context_full', 'Context full, share of questions'],
    ['evidence_shown', 'Evidence seen, share of sub-questions'],
  ] as const;
  const records = linesOf(results).flatMap((line) =>
    results.record.config.ks.map((k) => {
      const cell = { ...line, k, benchmark: 'all', subset: 'all' };
      const texts = columns.map(([metric, title]) => [
        `${title} [95 %]`,
        intervalText(rowsOf(results, { ...cell, metric })[0]),
      ]);
      return {
        ...{ Retriever: RETRIEVER_TITLES[line.retriever], Method: methodTitle(line.method), k },
        ...(Object.fromEntries(texts) as Record<string, string>),
      };
    }),
  );
  return tableOf('Small world. Passages that the context had room for, all questions.', records);
}
