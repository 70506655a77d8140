/** Titles, units and order of metrics, fields and their values. */
import { range } from 'd3-array';
import { BEHAVIOURS } from '../evaluation/behaviour.js';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import { ownValue } from '../own-value.js';
import { METHODS } from '../training/methods.js';
import type { Row } from './frame.js';

type Titles = Readonly<Record<string, string>>;

const FIELD_TITLES: Titles = {
  method: 'Method',
  against: 'Against',
  model: 'Initial model',
  benchmark: 'Benchmark',
  subset: 'Questions',
  counts_once: 'Counted once',
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
  condition: 'Condition',
  limit: 'Limit',
  at_most: 'At most',
  late: 'Late answers',
  request_ms: 'Request (ms)',
  initial_model: 'Initial model',
  edition: 'Edition',
  against_edition: 'of edition',
  training: 'Training',
  test: 'Test',
  line: 'Weights',
};

const MODEL_TITLES: Titles = {
  base: 'base',
  instruct: 'instruct',
  hasty: 'hasty',
  paired: 'paired',
  all: 'both, pooled',
};

const EDITIONS: Titles = { none: 'no training', first: 'first edition', second: 'second edition' };

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
    without_hybrid: 'without hybrid',
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
  training: {
    hasty: 'from hasty',
    instruct: 'from instruct',
    main: 'no hybrids in RL',
    mixed: 'a fifth hybrid in RL',
    mixed_without_rd: 'a fifth hybrid, no r_d',
    paired_before_rl: 'shown at once, before RL',
    paired: 'shown at once, then RL',
    hasty_two_seeds: 'from hasty, two seeds',
    near_misses: 'RL among near misses',
    main_near_misses: 'RL without near misses',
  },
  late: { wrong: 'count as wrong', forced: 'forced', best_seen: 'best entity seen' },
  request_ms: { 50: '50 ms a request', 200: '200 ms a request' },
  edition: EDITIONS,
  against_edition: EDITIONS,
  rewards: { neither: 'neither', one: 'one', both: 'both', paper: 'both, as in the paper' },
};

const isMethod = (field: string): boolean => field === 'method' || field === 'against';

export const fieldTitle = (field: string): string => ownValue(FIELD_TITLES, field) ?? field;

export function valueTitle(field: string, value: unknown): string {
  const text = String(value);
  if (field === 'metric') return metricInfo(text).title;
  if (isMethod(field)) return METHODS.has(text) ? METHODS.get(text).title : text;
  if (field === 'k') return `k = ${text}`;
  return ownValue(ownValue(VALUE_TITLES, field), text) ?? text;
}

/** The distinct values of a field: titled ones in their titles' order, then others. */
export function distinctValues(field: string, rows: readonly Row[]): Row[string][] {
  const order = isMethod(field)
    ? METHODS.names()
    : Object.keys(ownValue(VALUE_TITLES, field) ?? {});
  const rank = (value: Row[string]): number =>
    (order.indexOf(String(value)) + order.length + 1) % (order.length + 1);
  return [...new Set(rows.map((row) => row[field]))].sort((a, b) => rank(a) - rank(b));
}

export interface MetricInfo {
  title: string;
  /** Shown in parentheses after the title of an axis. */
  unit: string;
  decimals: number;
}

const QUESTION = 'mean per question';
const ROLLOUT = 'mean per rollout';
const ROLLOUTS = 'share of rollouts';
const SUB_QUESTIONS = 'share of sub-questions';
const OMISSIONS = 'share of sub-questions left out';

const BEHAVIOUR_TITLES = Object.fromEntries(
  Object.entries(BEHAVIOURS).map(([label, { title, unit }]) => [label, [title, unit] as const]),
);

/** Titles, units and decimals (default: 3). */
const METRIC_TITLES: Readonly<
  Record<string, readonly [title: string, unit: string, decimals?: number]>
> = {
  // Metrics of evaluation.
  em: ['Exact match', 'share of questions'],
  f1: ['F1', QUESTION],
  well_formed: ['Well formed', 'share of questions'],
  turns: ['Search turns', QUESTION, 2],
  model_calls: ['Model calls', QUESTION, 2],
  retrievals: ['Retrievals', QUESTION, 2],
  critical_steps: ['Critical steps', QUESTION, 2],
  repeated_queries: ['Repeated queries', 'share of sub-queries'],
  decomposition_ratio: ['Decomposed', 'share of questions'],
  coverage: ['Sub-question recall', SUB_QUESTIONS],
  evidence_seen: ['Evidence recall', SUB_QUESTIONS],
  critical_path_ratio: ['Calls / shortest path', 'ratio', 2],
  tokens_written: ['Tokens written', 'tokens', 1],
  seconds: ['Seconds', QUESTION],
  parallelizing_precision: ['Precision of parallelization', 'share of decomposed'],
  parallelizing_recall: ['Recall of parallelization', 'share of parallelizable questions'],
  parallelizing_f1: ['F1 of parallelization', 'harmonic mean'],
  parallelizing_precision_with_hybrid: ['Precision with hybrid questions', 'share of decomposed'],
  parallelizing_recall_with_hybrid: [
    'Recall with hybrid questions',
    'share of parallelizable questions',
  ],
  parallelizing_f1_with_hybrid: ['F1 with hybrid questions', 'harmonic mean'],
  decomposition_ratio_if_right: ['Decomposed, if right', 'share of right answers'],
  decomposition_ratio_if_wrong: ['Decomposed, if wrong', 'share of wrong answers'],
  coverage_if_right: ['Sub-question recall, if right', SUB_QUESTIONS],
  coverage_if_wrong: ['Sub-question recall, if wrong', SUB_QUESTIONS],
  em_if_evidence: ['Exact match, if all evidence was shown', 'share of those questions'],
  em_choice: ['Exact match, one of two', 'share of those questions'],
  em_yes_no: ['Exact match, yes or no', 'share of those questions'],
  em_within_1: ['Exact match within one search turn', 'share of questions'],
  em_within_2: ['Exact match within two search turns', 'share of questions'],
  em_if_decomposed: ['Exact match, if decomposed', 'share of decomposed'],
  em_if_not_decomposed: ['Exact match, if not decomposed', 'share of the rest'],
  omitted_misnamed: ['Name not in the question', OMISSIONS],
  omitted_repeated: ['Another one repeated', OMISSIONS],
  omitted_no_search: ['No search', OMISSIONS],
  omitted_overlooked: ['Overlooked', OMISSIONS],
  match_precision: ['Precision', 'share of sub-queries'],
  match_recall: ['Recall', SUB_QUESTIONS],
  match_f1: ['F1', 'harmonic mean'],
  asked_at_once: ['Asked at once', SUB_QUESTIONS],
  complete_at_once: ['All at once', 'share of questions'],
  passages_shown: ['Passages seen', 'mean per query'],
  passages_left_out: ['Passages left out', 'share of retrieved'],
  context_full: ['Context full', 'share of questions'],
  recall_at_k: ['Recall@k', SUB_QUESTIONS],
  wall_ms: ['Wall-clock time per set', 'ms'],
  question_ms: ['Time per question', 'ms'],
  speed_up: ['Speed-up', '×', 2],
  rollout_seconds: ['Rollouts', 'seconds per step', 2],
  step_seconds: ['Whole step', 'seconds per step', 1],
  alone_seconds: ['Longest rollout alone', 'seconds', 2],
  questions_per_second: ['Questions', 'per second', 2],
  tokens_per_second: ['Tokens written', 'per second', 0],
  first_search: ['Probability of the first thought', 'mean over questions'],
  ...BEHAVIOUR_TITLES,
  // Metrics of training, with TRL's names.
  reward: ['Reward', ROLLOUT],
  'logps/correct': ['Log-prob of correct rollouts', 'nats per token'],
  'logps/incorrect': ['Log-prob of incorrect rollouts', 'nats per token'],
  'logps/correct_drop': ['Log-prob of correct rollouts, below its best', 'nats per token'],
  'turns/sequential': ['Search turns, sequential questions', ROLLOUT],
  sub_queries_drop: ['Searches per question, below their best', 'share'],
  p95_rollout_seconds: ['Rollout time, 95th percentile', 'seconds', 2],
  p99_rollout_seconds: ['Rollout time, 99th percentile', 'seconds', 2],
  llds: ['LLDS penalty', 'nats per token'],
  retrieval_timeouts: ['Searches timed out', 'queries per step', 0],
  frac_rollouts_timed_out: ['Left out after a timeout', ROLLOUTS],
  phantom_advantages: ['Groups without a correct rollout', 'share of trained groups'],
  'rewards/outcome': ['Outcome reward', ROLLOUT],
  'rewards/decomposition': ['Decomposition reward', ROLLOUT],
  'rewards/search_count': ['Search-count reward', ROLLOUT],
  'rewards/format': ['Format reward', ROLLOUT],
  'completions/mean_length': ['Response length', 'tokens', 1],
  'completions/clipped_ratio': ['Truncated', ROLLOUTS],
  'decomposition_ratio/parallelizable': ['Decomposed, parallelizable questions', ROLLOUTS],
  'decomposition_ratio/sequential': ['Decomposed, sequential questions', ROLLOUTS],
  'coverage/parallelizable': ['Sub-question recall, parallelizable questions', SUB_QUESTIONS],
  steps_to_decompose: ['Steps until 90 % are decomposed', 'GRPO steps', 1],
  decomposed_at_end: ['Decomposed, last 20 steps', ROLLOUTS],
  turns_over_training: ['Search turns, all of training', ROLLOUT],
  outcome_over_training: ['Outcome reward, all of training', ROLLOUT],
  kl: ['KL to the reference', 'nats per token'],
  entropy: ['Entropy', 'nats per token'],
  value_loss: ['Value loss', 'half squared error'],
  explained_variance: ['Explained variance', 'share of return variance'],
  noise: ['Noisy documents requested', 'share of queries'],
  'documents/true_useful': ['Useful documents, correct', 'share of queries'],
  'documents/true_noisy': ['Noisy documents, correct', 'share of queries'],
  clip_ratio: ['Clipped', 'share of tokens'],
  grad_norm: ['Gradient norm', 'before clipping'],
};

/** An unlisted metric, such as `rewards/NAME`, has its name as title. */
export function metricInfo(metric: string): MetricInfo {
  const [, base] = /^(.+)_multi_hop$/.exec(metric) ?? [];
  if (base) return { ...metricInfo(base), title: `${metricInfo(base).title}, HotpotQA and 2Wiki` };
  const name = metric.replace(/^rewards\/(.+)$/, 'Reward “$1”');
  const [title, unit, decimals = 3] = ownValue(METRIC_TITLES, metric) ?? [name, 'mean'];
  return { title, unit, decimals };
}

/** Decimals of a metric's value; milliseconds have three significant digits. */
export function metricDecimals(metric: string, value: unknown): number {
  const { unit, decimals } = metricInfo(metric);
  if (unit !== 'ms' || typeof value !== 'number' || value < 1) return decimals;
  return Math.max(0, 2 - Math.floor(Math.log10(value)));
}

/** Whether a metric is a share from 0 to 1; its differences are in points. */
export const isShare = (metric: string): boolean =>
  /^f1(_multi_hop)?$/.test(metric) || metricInfo(metric).unit.startsWith('share');
