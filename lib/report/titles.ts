/**
 * What the fields of a tidy table and their values are called, and in which order they
 * stand.
 */
import { range } from 'd3-array';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import { METHODS } from '../methods/index.js';
import type { Row } from './frame.js';
import { metricInfo } from './metrics.js';

type Titles = Readonly<Record<string, string>>;

const FIELD_TITLES: Titles = {
  method: 'Method',
  against: 'Against',
  model: 'Initial model',
  benchmark: 'Benchmark',
  subset: 'Questions',
  metric: 'Metric',
  retriever: 'Retriever',
  k: 'k',
  kind: 'Kind',
  setting: '(lambda_d, lambda_s)',
  against_setting: 'minus',
  weight: 'Weight that is varied',
  rewards: 'Which of the two rewards',
  curve: 'Curve',
  asked: 'Asked',
  sub_queries: 'Sub-queries',
  beginning: 'First thought',
  trained_k: 'Trained with k',
  step: 'GRPO steps',
  part: 'Component',
  engine: 'Engine',
  rows: 'Questions at a time',
  schedule: 'Schedule',
  search: 'Search',
  questions: 'Questions',
  size: 'Passages',
  delay_ms: 'A search takes, ms',
  assumption: 'Assumption',
  factor: 'Times',
};

const MODEL_TITLES: Titles = { base: 'base', instruct: 'instruct', all: 'both, pooled' };

/** Titles by field, in the order in which values stand. */
const VALUE_TITLES: Readonly<Record<string, Titles>> = {
  model: MODEL_TITLES,
  against_model: MODEL_TITLES,
  benchmark: {
    ...BENCHMARK_TITLES,
    multihoprag: 'MultiHop-RAG',
    [MANY]: 'Many',
    average: 'Average of seven',
    all: 'All questions',
  },
  subset: {
    all: 'all questions',
    single_hop: 'single hop',
    parallelizable: 'parallelizable',
    sequential: 'sequential',
    hybrid: 'hybrid',
    ...Object.fromEntries(range(2, 9).map((count) => [`entities_${count}`, `compares ${count}`])),
    hops_3: 'of three hops and more',
    wording_seen: 'worded as in training',
    wording_unseen: 'worded as never before',
    yes_no: 'yes or no',
  },
  kind: { difference: 'difference of', ratio: 'ratio of', gain: 'gain in' },
  retriever: {
    bm25: 'BM25',
    exact: 'dense, exact',
    hnsw: 'dense, HNSW',
    embedded: 'embedded',
    http: 'local HTTP',
    faiss: 'FAISS in Python, HTTP',
    milvus: 'Milvus',
    'slow-50': 'HTTP, 50 ms delay',
    'slow-200': 'HTTP, 200 ms delay',
  },
  engine: { hnsw: 'HNSW, in memory', exact: 'exact, in memory', milvus: 'Milvus' },
  search: { hnsw: 'HNSW, in memory', milvus: 'Milvus' },
  questions: { training: 'as trained on', parallelizable: 'parallelizable' },
  assumption: {
    gpuSpeed: 'speed of a GPU',
    written: 'tokens written a call',
    found: 'tokens found a sub-query',
    cut: 'tokens that a turn is cut at',
    searchTime: 'time of a search',
  },
  rewards: { neither: 'neither', one: 'one', both: 'both', paper: 'both, the paper’s' },
};

const isMethod = (field: string): boolean => field === 'method' || field === 'against';

/** What a field is called. */
export const fieldTitle = (field: string): string => FIELD_TITLES[field] ?? field;

/** What a value of a field is called. */
export function titleOf(field: string, value: unknown): string {
  const text = String(value);
  if (field === 'metric') return metricInfo(text).title;
  if (isMethod(field)) return METHODS.has(text) ? METHODS.get(text).title : text;
  if (field === 'k') return `k = ${text}`;
  return VALUE_TITLES[field]?.[text] ?? text;
}

/**
 * The different values of a field in the rows of a table: as titles are listed, then as
 * they come.
 */
export function valuesOf(field: string, rows: readonly Row[]): Row[string][] {
  const known = isMethod(field) ? METHODS.names() : Object.keys(VALUE_TITLES[field] ?? {});
  const rank = (value: Row[string]): number =>
    (known.indexOf(String(value)) + known.length + 1) % (known.length + 1);
  return [...new Set(rows.map((row) => row[field]))].sort((a, b) => rank(a) - rank(b));
}
