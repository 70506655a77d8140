/**
 * What metrics are called, in training (TRL's names) as in evaluation: titles and units
 * of axes and columns.
 */

export interface MetricInfo {
  title: string;
  /** What it is counted in, as an axis says it. */
  unit: string;
  /** Decimals that it deserves; default 3. */
  decimals?: number;
  /** A share of which less is better: nobody is ahead in it. */
  isCost?: boolean;
}

const QUESTION = 'mean per question';
const ROLLOUT = 'mean per rollout';
const ROLLOUTS = 'share of rollouts';
const SUB_QUESTIONS = 'share of sub-questions';
const OMISSIONS = 'share of sub-questions left out';

const METRIC_INFO: Readonly<Record<string, MetricInfo>> = {
  // of evaluation
  em: { title: 'Exact match', unit: 'share of questions' },
  f1: { title: 'F1', unit: 'mean per question' },
  well_formed: { title: 'Well formed', unit: 'share of questions' },
  turns: { title: 'Search turns', unit: QUESTION, decimals: 2 },
  model_calls: { title: 'Model calls', unit: QUESTION, decimals: 2 },
  retrievals: { title: 'Retrievals', unit: QUESTION, decimals: 2 },
  repeated_queries: { title: 'Repeated queries', unit: 'share of sub-queries', isCost: true },
  decomposition_ratio: { title: 'Decomposed', unit: 'share of questions' },
  coverage: { title: 'Coverage', unit: SUB_QUESTIONS },
  evidence_seen: { title: 'Evidence seen', unit: SUB_QUESTIONS },
  critical_path_ratio: { title: 'Calls / shortest path', unit: 'ratio', decimals: 2 },
  tokens_written: { title: 'Tokens written', unit: 'tokens', decimals: 1 },
  seconds: { title: 'Seconds', unit: QUESTION },
  parallelizing_precision: { title: 'Precision of parallelizing', unit: 'share of decomposed' },
  parallelizing_recall: {
    title: 'Recall of parallelizing',
    unit: 'share of parallelizable questions',
  },
  parallelizing_f1: { title: 'F1 of parallelizing', unit: 'harmonic mean' },
  decomposition_ratio_if_right: { title: 'Decomposed, if right', unit: 'share of right answers' },
  decomposition_ratio_if_wrong: { title: 'Decomposed, if wrong', unit: 'share of wrong answers' },
  coverage_if_right: { title: 'Coverage, if right', unit: SUB_QUESTIONS },
  coverage_if_wrong: { title: 'Coverage, if wrong', unit: SUB_QUESTIONS },
  em_if_decomposed: { title: 'Exact match, if decomposed', unit: 'share of decomposed' },
  em_if_not_decomposed: { title: 'Exact match, if not decomposed', unit: 'share of the others' },
  omitted_misnamed: { title: 'Under a name not in the question', unit: OMISSIONS },
  omitted_repeated: { title: 'Another repeated in its place', unit: OMISSIONS },
  omitted_no_search: { title: 'No search at all', unit: OMISSIONS },
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
  passages_left_out: { title: 'Left out', unit: 'share of passages found' },
  context_full: { title: 'Context full', unit: 'share of questions' },
  recall_at_k: { title: 'Recall@k', unit: SUB_QUESTIONS },
  wall_ms: { title: 'Wall clock of the set', unit: 'ms' },
  question_ms: { title: 'A whole question', unit: 'ms' },
  speed_up: { title: 'One turn is faster', unit: 'times', decimals: 2 },
  rollout_seconds: { title: 'Rollouts', unit: 'seconds a step', decimals: 2 },
  step_seconds: { title: 'The whole step', unit: 'seconds a step', decimals: 1 },
  alone_seconds: { title: 'The longest rollout alone', unit: 'seconds', decimals: 2 },
  questions_per_second: { title: 'Questions', unit: 'a second', decimals: 2 },
  tokens_per_second: { title: 'Tokens written', unit: 'a second', decimals: 0 },
  first_search: { title: 'Probability of the first thought', unit: 'mean of the questions' },
  // of training
  reward: { title: 'Reward', unit: ROLLOUT },
  'rewards/outcome': { title: 'Outcome reward', unit: ROLLOUT },
  'rewards/decomposition': { title: 'Decomposition reward', unit: ROLLOUT },
  'rewards/search_count': { title: 'Search-count reward', unit: ROLLOUT },
  'rewards/format': { title: 'Format reward', unit: ROLLOUT },
  'completions/mean_length': { title: 'Response length', unit: 'tokens', decimals: 1 },
  'completions/clipped_ratio': { title: 'Cut short', unit: ROLLOUTS },
  'decomposition_ratio/parallelizable': {
    title: 'Decomposed, of parallelizable questions',
    unit: ROLLOUTS,
  },
  'decomposition_ratio/sequential': {
    title: 'Decomposed, of sequential questions',
    unit: ROLLOUTS,
  },
  'coverage/parallelizable': { title: 'Coverage of parallelizable questions', unit: SUB_QUESTIONS },
  steps_to_decompose: { title: 'Steps until 0.9 are decomposed', unit: 'GRPO steps', decimals: 1 },
  decomposed_at_end: { title: 'Decomposed, last 20 steps', unit: ROLLOUTS },
  turns_over_training: { title: 'Search turns, all of training', unit: ROLLOUT },
  outcome_over_training: { title: 'Outcome reward, all of training', unit: ROLLOUT },
  kl: { title: 'KL to the reference', unit: 'nats per token' },
  entropy: { title: 'Entropy', unit: 'nats per token' },
  value_loss: { title: 'Value loss', unit: 'squared error, halved' },
  explained_variance: { title: 'Explained variance', unit: 'share of the variance of returns' },
  noise: { title: 'Noisy documents wanted', unit: 'share of queries' },
  'documents/true_useful': { title: 'Useful documents that are true', unit: 'share of queries' },
  'documents/true_noisy': { title: 'Noisy documents that are true', unit: 'share of queries' },
  clip_ratio: { title: 'Clipped', unit: 'share of tokens' },
  grad_norm: { title: 'Gradient norm', unit: 'before clipping' },
};

/**
 * Of a metric that is not listed, such as a reward of one's own (`rewards/NAME`), its
 * name.
 */
export function metricInfo(metric: string): MetricInfo {
  const [, ofAll] = /^(.+)_multi_hop$/.exec(metric) ?? [];
  if (ofAll)
    return { ...metricInfo(ofAll), title: `${metricInfo(ofAll).title}, HotpotQA and 2Wiki` };
  return (
    METRIC_INFO[metric] ?? { title: metric.replace(/^rewards\/(.+)$/, 'Reward “$1”'), unit: 'mean' }
  );
}

/**
 * Decimals that a value of a metric deserves; milliseconds have three digits that count.
 */
export function decimalsOf(metric: string, value: unknown): number {
  const { unit, decimals = 3 } = metricInfo(metric);
  if (unit !== 'ms' || typeof value !== 'number' || value < 1) return decimals;
  return Math.max(0, 2 - Math.floor(Math.log10(value)));
}

/** Whether a metric is a share, from 0 to 1, whose differences are told in points. */
export const isShare = (metric: string): boolean =>
  /^f1(_multi_hop)?$/.test(metric) || metricInfo(metric).unit.startsWith('share');
