/** Titles, units and order of metrics, fields and their values. */
import { range } from 'd3-array';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import { METHODS } from '../training/methods.js';
import type { Row } from './frame.js';

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
  weight: 'Varied weight',
  rewards: 'Rewards used',
  curve: 'Curve',
  asked: 'Asked',
  sub_queries: 'Sub-queries',
  beginning: 'First thought',
  trained_k: 'Trained with k',
  step: 'GRPO steps',
  part: 'Component',
  engine: 'Engine',
  rows: 'Batch size (questions)',
  schedule: 'Schedule',
  search: 'Search',
  questions: 'Questions',
  size: 'Passages',
  delay_ms: 'Search latency (ms)',
  assumption: 'Assumption',
  factor: 'Factor (×)',
};

const MODEL_TITLES: Titles = { base: 'base', instruct: 'instruct', all: 'both, pooled' };

/** Titles of values by field, in the order of tables and charts. */
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
    hops_3: 'three or more hops',
    wording_seen: 'wording of training',
    wording_unseen: 'new wording',
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
  questions: { training: 'training mix', parallelizable: 'parallelizable' },
  assumption: {
    gpuSpeed: 'GPU speed',
    written: 'tokens written per call',
    found: 'tokens retrieved per sub-query',
    cut: 'token limit of a turn',
    searchTime: 'search latency',
  },
  rewards: { neither: 'neither', one: 'one', both: 'both', paper: 'both, as in the paper' },
};

const isMethod = (field: string): boolean => field === 'method' || field === 'against';

/** The title of a field. */
export const fieldTitle = (field: string): string => FIELD_TITLES[field] ?? field;

/** The title of a field's value. */
export function valueTitle(field: string, value: unknown): string {
  const text = String(value);
  if (field === 'metric') return metricInfo(text).title;
  if (isMethod(field)) return METHODS.has(text) ? METHODS.get(text).title : text;
  if (field === 'k') return `k = ${text}`;
  return VALUE_TITLES[field]?.[text] ?? text;
}

/** The distinct values of a field: those with titles in their order, then the others. */
export function distinctValues(field: string, rows: readonly Row[]): Row[string][] {
  const order = isMethod(field) ? METHODS.names() : Object.keys(VALUE_TITLES[field] ?? {});
  const rank = (value: Row[string]): number =>
    (order.indexOf(String(value)) + order.length + 1) % (order.length + 1);
  return [...new Set(rows.map((row) => row[field]))].sort((a, b) => rank(a) - rank(b));
}

export interface MetricInfo {
  title: string;
  /** Shown in parentheses after the title of an axis. */
  unit: string;
  /** Default 3. */
  decimals?: number;
  /** Lower is better. */
  isCost?: boolean;
}

const QUESTION = 'mean per question';
const ROLLOUT = 'mean per rollout';
const ROLLOUTS = 'share of rollouts';
const SUB_QUESTIONS = 'share of sub-questions';
const OMISSIONS = 'share of sub-questions left out';

const METRIC_INFO: Readonly<Record<string, MetricInfo>> = {
  // Evaluation.
  em: { title: 'Exact match', unit: 'share of questions' },
  f1: { title: 'F1', unit: 'mean per question' },
  well_formed: { title: 'Well formed', unit: 'share of questions' },
  turns: { title: 'Search turns', unit: QUESTION, decimals: 2 },
  model_calls: { title: 'Model calls', unit: QUESTION, decimals: 2 },
  retrievals: { title: 'Retrievals', unit: QUESTION, decimals: 2 },
  repeated_queries: { title: 'Repeated queries', unit: 'share of sub-queries', isCost: true },
  decomposition_ratio: { title: 'Decomposed', unit: 'share of questions' },
  coverage: { title: 'Sub-question recall', unit: SUB_QUESTIONS },
  evidence_seen: { title: 'Evidence recall', unit: SUB_QUESTIONS },
  critical_path_ratio: { title: 'Calls / shortest path', unit: 'ratio', decimals: 2 },
  tokens_written: { title: 'Tokens written', unit: 'tokens', decimals: 1 },
  seconds: { title: 'Seconds', unit: QUESTION },
  parallelizing_precision: { title: 'Precision of parallelization', unit: 'share of decomposed' },
  parallelizing_recall: {
    title: 'Recall of parallelization',
    unit: 'share of parallelizable questions',
  },
  parallelizing_f1: { title: 'F1 of parallelization', unit: 'harmonic mean' },
  decomposition_ratio_if_right: { title: 'Decomposed, if right', unit: 'share of right answers' },
  decomposition_ratio_if_wrong: { title: 'Decomposed, if wrong', unit: 'share of wrong answers' },
  coverage_if_right: { title: 'Sub-question recall, if right', unit: SUB_QUESTIONS },
  coverage_if_wrong: { title: 'Sub-question recall, if wrong', unit: SUB_QUESTIONS },
  em_if_decomposed: { title: 'Exact match, if decomposed', unit: 'share of decomposed' },
  em_if_not_decomposed: { title: 'Exact match, if not decomposed', unit: 'share of the rest' },
  omitted_misnamed: { title: 'Name not in the question', unit: OMISSIONS },
  omitted_repeated: { title: 'Another one repeated', unit: OMISSIONS },
  omitted_no_search: { title: 'No search', unit: OMISSIONS },
  omitted_overlooked: { title: 'Overlooked', unit: OMISSIONS },
  failure_over_parallelized: {
    title: 'Over-parallelized',
    unit: 'share of sequential questions',
    isCost: true,
  },
  failure_no_search: { title: 'No search', unit: 'share of questions', isCost: true },
  failure_half_decomposed: {
    title: 'Half a decomposition',
    unit: 'share of parallelizable questions',
    isCost: true,
  },
  failure_aggregation: {
    title: 'Wrong aggregation',
    unit: 'share of parallelizable questions',
    isCost: true,
  },
  failure_repeats: { title: 'Repeats a query', unit: 'share of questions', isCost: true },
  failure_ignored_evidence: { title: 'Ignores evidence', unit: 'share of questions', isCost: true },
  calls_saved: { title: 'Right with fewer calls', unit: 'share of questions' },
  failure_from_memory: { title: 'Answers from memory', unit: 'share of questions', isCost: true },
  match_precision: { title: 'Precision', unit: 'share of sub-queries' },
  match_recall: { title: 'Recall', unit: SUB_QUESTIONS },
  match_f1: { title: 'F1', unit: 'harmonic mean' },
  asked_at_once: { title: 'Asked at once', unit: SUB_QUESTIONS },
  complete_at_once: { title: 'All at once', unit: 'share of questions' },
  passages_shown: { title: 'Passages seen', unit: 'mean per query' },
  passages_left_out: { title: 'Passages left out', unit: 'share of retrieved' },
  context_full: { title: 'Context full', unit: 'share of questions' },
  recall_at_k: { title: 'Recall@k', unit: SUB_QUESTIONS },
  wall_ms: { title: 'Wall-clock time per set', unit: 'ms' },
  question_ms: { title: 'Time per question', unit: 'ms' },
  speed_up: { title: 'Speed-up', unit: '×', decimals: 2 },
  rollout_seconds: { title: 'Rollouts', unit: 'seconds per step', decimals: 2 },
  step_seconds: { title: 'Whole step', unit: 'seconds per step', decimals: 1 },
  alone_seconds: { title: 'Longest rollout alone', unit: 'seconds', decimals: 2 },
  questions_per_second: { title: 'Questions', unit: 'per second', decimals: 2 },
  tokens_per_second: { title: 'Tokens written', unit: 'per second', decimals: 0 },
  first_search: { title: 'Probability of the first thought', unit: 'mean over questions' },
  // Training, with TRL's names.
  reward: { title: 'Reward', unit: ROLLOUT },
  'rewards/outcome': { title: 'Outcome reward', unit: ROLLOUT },
  'rewards/decomposition': { title: 'Decomposition reward', unit: ROLLOUT },
  'rewards/search_count': { title: 'Search-count reward', unit: ROLLOUT },
  'rewards/format': { title: 'Format reward', unit: ROLLOUT },
  'completions/mean_length': { title: 'Response length', unit: 'tokens', decimals: 1 },
  'completions/clipped_ratio': { title: 'Truncated', unit: ROLLOUTS },
  'decomposition_ratio/parallelizable': {
    title: 'Decomposed, parallelizable questions',
    unit: ROLLOUTS,
  },
  'decomposition_ratio/sequential': { title: 'Decomposed, sequential questions', unit: ROLLOUTS },
  'coverage/parallelizable': {
    title: 'Sub-question recall, parallelizable questions',
    unit: SUB_QUESTIONS,
  },
  steps_to_decompose: { title: 'Steps until 90 % are decomposed', unit: 'GRPO steps', decimals: 1 },
  decomposed_at_end: { title: 'Decomposed, last 20 steps', unit: ROLLOUTS },
  turns_over_training: { title: 'Search turns, all of training', unit: ROLLOUT },
  outcome_over_training: { title: 'Outcome reward, all of training', unit: ROLLOUT },
  kl: { title: 'KL to the reference', unit: 'nats per token' },
  entropy: { title: 'Entropy', unit: 'nats per token' },
  value_loss: { title: 'Value loss', unit: 'half squared error' },
  explained_variance: { title: 'Explained variance', unit: 'share of return variance' },
  noise: { title: 'Noisy documents requested', unit: 'share of queries' },
  'documents/true_useful': { title: 'Useful documents, correct', unit: 'share of queries' },
  'documents/true_noisy': { title: 'Noisy documents, correct', unit: 'share of queries' },
  clip_ratio: { title: 'Clipped', unit: 'share of tokens' },
  grad_norm: { title: 'Gradient norm', unit: 'before clipping' },
};

/** Title and unit of a metric; an unlisted one, such as `rewards/NAME`, has its name. */
export function metricInfo(metric: string): MetricInfo {
  const [, base] = /^(.+)_multi_hop$/.exec(metric) ?? [];
  if (base) return { ...metricInfo(base), title: `${metricInfo(base).title}, HotpotQA and 2Wiki` };
  return (
    METRIC_INFO[metric] ?? { title: metric.replace(/^rewards\/(.+)$/, 'Reward “$1”'), unit: 'mean' }
  );
}

/** Decimals of a metric's value; milliseconds have three significant digits. */
export function metricDecimals(metric: string, value: unknown): number {
  const { unit, decimals = 3 } = metricInfo(metric);
  if (unit !== 'ms' || typeof value !== 'number' || value < 1) return decimals;
  return Math.max(0, 2 - Math.floor(Math.log10(value)));
}

/** Whether a metric is a share from 0 to 1; its differences are in points. */
export const isShare = (metric: string): boolean =>
  /^f1(_multi_hop)?$/.test(metric) || metricInfo(metric).unit.startsWith('share');
