/** What the experiment on passages a sub-query recorded, and the tidy table over it (Figure 6). */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { questionResultSchema } from '../../evaluation/load.js';
import { methodNameSchema } from '../../methods/index.js';
import { mainMeasure, type Measure } from '../../evaluation/measures.js';
import type { QuestionResult } from '../../evaluation/result.js';
import {
  summariseResults,
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
  type TidyTable,
} from '../../evaluation/table.js';

const count = z.int().min(1);
export const RETRIEVER_NAMES = ['bm25', 'exact', 'hnsw'] as const;
export type RetrieverName = (typeof RETRIEVER_NAMES)[number];

export const topKConfigSchema = z.strictObject({
  methods: z.array(methodNameSchema).min(1),
  model: z.enum(['base', 'instruct']),
  seeds: z.array(z.int()).min(1),
  retrievers: z.array(z.enum(RETRIEVER_NAMES)).min(1),
  /** Passages a sub-query. */
  ks: z.array(count).min(1),
  /** One of so many test questions of each benchmark and kind is asked. */
  oneOf: count,
  /** Tokens kept free for every later search turn (see `reservePerTurn` of a rollout). */
  reservePerTurn: count,
  batchSize: count,
});
export type TopKConfig = z.infer<typeof topKConfigSchema>;

/** What came back for the sub-queries of one question. */
const retrievedSchema = z.object({
  subQueries: z.int().min(0),
  passagesFound: z.int().min(0),
  /** The others were left out for want of room. */
  passagesShown: z.int().min(0),
  /** Share of the graph's sub-questions for which a passage was shown that states the answer. */
  evidenceShown: z.number().min(0).max(1),
  /** Whether the rollout ended because the context was full. */
  isContextFull: z.boolean(),
});
export type Retrieved = z.infer<typeof retrievedSchema>;

/** A setting of the experiment. */
export interface TopKSetting {
  retriever: RetrieverName;
  k: number;
}

/** One question answered by one run with one retriever and k. */
export type TopKAnswer = QuestionResult & Retrieved & TopKSetting;

const recallSchema = z.object({
  retriever: z.enum(RETRIEVER_NAMES),
  k: count,
  /** Share of queries with a passage that states the answer among the first k. */
  hitRate: z.number(),
  /** Queries. */
  n: count,
});
export type TopKRecall = z.infer<typeof recallSchema>;

const answerSchema: z.ZodType<TopKAnswer> = z.intersection(
  questionResultSchema,
  retrievedSchema.extend({ retriever: z.enum(RETRIEVER_NAMES), k: count }),
);

const recordSchema = z.object({
  // The experiment's configuration also holds hashes, which are nothing to a reader.
  config: topKConfigSchema.loose(),
  answers: z.array(answerSchema).min(1),
  recall: z.array(recallSchema).min(1),
  provenance: z.record(z.string(), z.unknown()),
});
export type TopKRecord = z.infer<typeof recordSchema>;

export interface TopKRow extends TidyRow, TopKSetting {}
/** Two values of k, two retrievers or two methods, everything else the same. */
export interface TopKContrast extends TidyContrast, TopKSetting {
  against_k?: number;
  against_retriever?: RetrieverName;
}

export interface TopKResults {
  kind: 'results';
  /** One sentence on what is there. */
  summary: string;
  record: TopKRecord;
  tidy: TidyTable<TopKRow, TopKContrast>;
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

/**
 * Loads what the experiment wrote and computes the tidy table with its intervals.
 * @throws Error naming the file that is missing or does not fit
 */
export function loadTopK(folder: string, options: Omit<SummaryOptions, 'provenance'> = {}): TopKResults {
  const file = path.join(folder, 'results.json');
  if (!existsSync(file)) {
    throw new Error(
      `Expected ${file} to exist, but it does not. Run "npx parallelsearch experiment top-k" first.`,
    );
  }
  const parsed = recordSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) {
    const reason = z.prettifyError(parsed.error);
    throw new Error(
      `Expected ${file} to be a record of top-k, but:\n${reason}\nRun "npx parallelsearch experiment top-k --force".`,
    );
  }
  return summariseTopK(parsed.data, options);
}

type Variant = TopKSetting & { method: string };

// The bootstrap knows methods only, so a variant goes through it under one name.
const variantName = ({ method, retriever, k }: Variant): string => `${method}/${retriever}/${k}`;

function variantOf(name: string): Variant {
  const [method, retriever, k] = name.split('/');
  return { method, retriever: retriever as RetrieverName, k: Number(k) };
}

/** Tidy rows and contrasts over a record. */
export function summariseTopK(
  record: TopKRecord,
  options: Omit<SummaryOptions, 'provenance'> = {},
): TopKResults {
  const { config, answers, recall } = record;
  const named = answers.map((answer) => ({ ...answer, method: variantName(answer) }));
  const { rows, contrasts } = summariseResults(named, {
    ...{ measures: MEASURES, pairs: pairsOf(config), weightsOf: (name) => variantOf(name).method },
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
    ...options,
  });
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const summary = `${answers.length.toLocaleString('en')} answers to ${numQuestions} questions, with ${config.retrievers.length} retrievers and ${config.ks.length} numbers of passages a sub-query.`;
  return {
    ...{ kind: 'results', summary, record },
    tidy: {
      rows: rows.map((row) => ({ ...row, ...variantOf(row.method) })),
      contrasts: contrasts.map(namedContrast),
      provenance: { ...record.provenance, numQuestions, recall },
    },
  };
}

/** Every k beside the smallest, every retriever beside the first, every method beside the last. */
function pairsOf({ methods, retrievers, ks }: TopKConfig): MethodPair[] {
  const variants = methods.flatMap((method) =>
    retrievers.flatMap((retriever) => ks.map((k): Variant => ({ method, retriever, k }))),
  );
  const beside = (change: Partial<Variant>): MethodPair[] =>
    variants.flatMap((variant) => {
      const pair = [variant, { ...variant, ...change }].map(variantName);
      return pair[0] === pair[1] ? [] : [[pair[0], pair[1]] as const];
    });
  return [
    ...beside({ k: Math.min(...ks) }),
    ...beside({ retriever: retrievers[0] }),
    ...beside({ method: methods[methods.length - 1] }),
  ];
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
