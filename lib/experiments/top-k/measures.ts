/** What is measured of answers under every setting, and what is compared with what. */
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import {
  summariseResults,
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../../evaluation/table.js';
import type { TopKAnswer } from './answers.js';
import { TOP_K, topKSettings, type TopKSetting } from './settings.js';

export interface TopKRow extends TidyRow, TopKSetting {}
/** Two values of k, two retrievers or two methods, everything else the same. */
export interface TopKContrast extends TidyContrast, TopKSetting {
  against_k?: number;
  against_retriever?: string;
}

const of =
  (value: (answer: TopKAnswer) => number) =>
  (answer: QuestionResult): number =>
    value(answer as TopKAnswer);

const MEASURES: readonly Measure[] = [
  ...(['em', 'model_calls', 'decomposition_ratio', 'coverage'] as const).map(mainMeasure),
  { metric: 'evidence_shown', of: of(({ evidenceShown }) => evidenceShown) },
  {
    metric: 'passages_shown',
    of: of(({ passagesShown }) => passagesShown),
    per: of(({ subQueries }) => subQueries),
  },
  {
    metric: 'passages_left_out',
    of: of(({ passagesFound, passagesShown }) => passagesFound - passagesShown),
    per: of(({ passagesFound }) => passagesFound),
  },
  { metric: 'context_full', of: of(({ isContextFull }) => (isContextFull ? 1 : 0)) },
];

/** The two data sets of Figure 6, and all questions. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];

type Variant = TopKSetting & { method: string };

// The bootstrap knows methods only, so a variant goes through it under one name.
const variantName = ({ method, retriever, k }: Variant): string => `${method}/${retriever}/${k}`;

function variantOf(name: string): Variant {
  const [method, retriever, k] = name.split('/');
  return { method, retriever, k: Number(k) };
}

/** Every k beside the smallest, every retriever beside the first, and ParallelSearch beside Search-R1. */
function pairs(): MethodPair[] {
  const variants = TOP_K.methods.flatMap((method) =>
    topKSettings().map((setting): Variant => ({ method, ...setting })),
  );
  const beside = (change: Partial<Variant>): MethodPair[] =>
    variants
      .map((variant): MethodPair => [variantName(variant), variantName({ ...variant, ...change })])
      .filter(([variant, other]) => variant !== other);
  return [
    ...beside({ k: Math.min(...TOP_K.ks) }),
    ...beside({ retriever: TOP_K.retrievers[0] }),
    ...beside({ method: TOP_K.methods[1] }),
  ];
}

/** Tidy rows and contrasts of answers; the same weights under every setting are resampled alike. */
export function summariseTopK(
  answers: readonly TopKAnswer[],
  options: Omit<SummaryOptions, 'provenance'> = {},
): { rows: TopKRow[]; contrasts: TopKContrast[] } {
  const named = answers.map((answer) => ({ ...answer, method: variantName(answer) }));
  const { rows, contrasts } = summariseResults(named, {
    ...{ measures: MEASURES, pairs: pairs(), weightsOf: (name) => variantOf(name).method },
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
    ...options,
  });
  return {
    rows: rows.map((row) => ({ ...row, ...variantOf(row.method) })),
    contrasts: contrasts.map(namedContrast),
  };
}

function namedContrast(contrast: TidyContrast): TopKContrast {
  const [ours, theirs] = [contrast.method, contrast.against].map(variantOf);
  return {
    ...contrast,
    ...ours,
    against: theirs.method,
    ...(ours.k === theirs.k ? {} : { against_k: theirs.k }),
    ...(ours.retriever === theirs.retriever ? {} : { against_retriever: theirs.retriever }),
  };
}
