/** Passages per query (Figure 6): jobs, and what the report reads. */
import { join } from 'node:path';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { MethodPair, SummaryOptions, TidyContrast } from '../../evaluation/table.js';
import { configHash, contentHash } from '../../io/hash.js';
import { ENCODER } from '../../io/paths.js';
import { ENCODER_FILE } from '../../retrieval/encoder-file.js';
import { count, dataHash, drawOf, evaluationHash, seedsOf } from '../answers.js';
import { computation, type Experiment, type Job } from '../experiment.js';
import { reportOf, summarise, told, type Predicted } from '../report.js';
import { provenanceOf, requireResults } from '../results.js';
import { isTrained, runName, type PolicyRun } from '../runs.js';
import { trainingOf } from '../train-runs.js';
import { partsAhead, type PaperClaim } from '../verdicts.js';
import {
  answersUnder,
  measureRecall,
  TOP_K,
  topKRuns,
  topKSettings,
  trainedKOf,
  type TopKAnswer,
  type TopKRecall,
  type TopKSetting,
} from './answers.js';

/** A run under one setting, or the recall of all retrievers. */
export type TopKInput = (TopKSetting & { run: PolicyRun }) | 'recall';
type Value = { answers: TopKAnswer[] } | { recall: TopKRecall[] };

/**
 * Seconds that the sample takes on one core at each k, roughly: for an estimate and
 * nothing else.
 */
const roughSeconds = (k: number): number => 20 + 2.5 * k;

async function jobs(): Promise<Job<TopKInput>[]> {
  const { retrievers, ks, oneOf, reservePerTurn } = TOP_K;
  const encoder = await contentHash([join(ENCODER, ENCODER_FILE)]);
  const jobsOf = async (run: PolicyRun): Promise<Job<TopKInput>[]> => {
    const policy = await evaluationHash(run);
    return topKSettings(trainedKOf(run)).map(({ retriever, k, trainedK }) => ({
      key: `top-k/${runName(run)}-${retriever}-k${k}`,
      hash: configHash({ policy, encoder, retriever, k, oneOf, reservePerTurn }),
      input: { run, retriever, k, trainedK },
      seconds: roughSeconds(k),
    }));
  };
  const recall: Job<TopKInput> = {
    key: 'top-k/recall',
    hash: configHash({ data: await dataHash(), encoder, retrievers, ks }),
    input: 'recall',
    seconds: 60,
  };
  const runs = topKRuns().filter((run) => isTrained(run));
  return [recall, ...(await Promise.all(runs.map(jobsOf))).flat()];
}

const tenOverOne: PaperClaim = {
  id: 'top-k',
  claim: 'More passages per query help: k = 10 answers more questions than k = 1',
  paper: 'about +6 (2Wiki) and +7 (HotpotQA), Figure 6',
  tables: () => 'no point values are printed',
  evidence: {
    cell: 'claims',
    rule: 'Difference in exact match on all questions with BM25 above 0',
    parts: (numbers) =>
      partsAhead(numbers, 'BM25', {
        subset: 'all',
        retriever: 'bm25',
        k: 10,
        against_k: 1,
        trained_k: 3,
      }),
  },
};

export const topK: Experiment = {
  name: 'top-k',
  title: 'passages per query, for BM25, exact and HNSW search',
  computation: computation<TopKInput, Value>({
    jobs,
    prepare: trainingOf(topKRuns),
    work: async (input, context) =>
      input === 'recall'
        ? { recall: await measureRecall(context) }
        : { answers: await answersUnder(input, context) },
  }),
  claims: [tenOverOne],
};

const of =
  (value: (answer: TopKAnswer) => number) =>
  (answer: QuestionResult): number =>
    value(answer as TopKAnswer);

const MEASURES: readonly Measure[] = [
  ...(['em', 'model_calls', 'decomposition_ratio', 'coverage', 'evidence_seen'] as const).map(
    mainMeasure,
  ),
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
const variantName = ({ method, retriever, k, trainedK }: Variant): string =>
  `${method}/${retriever}/${k}/${trainedK}`;

function variantOf(name: string): Variant {
  const [method, retriever, k, trainedK] = name.split('/');
  return { method, retriever, k: Number(k), trainedK: Number(trainedK) };
}

/** A variant as rows have it. */
const fieldsOf = ({ trainedK, ...variant }: Variant) => ({ ...variant, trained_k: trainedK });

/**
 * Every k beside the smallest, every retriever beside the first, and ParallelSearch
 * beside Search-R1.
 */
function pairs(): MethodPair[] {
  const variants = TOP_K.methods.flatMap((method) =>
    TOP_K.trainedKs.flatMap((trainedK) =>
      topKSettings(trainedK).map((setting): Variant => ({ method, ...setting })),
    ),
  );
  const beside = (change: Partial<Variant>): MethodPair[] =>
    variants
      .map((variant): MethodPair => [variantName(variant), variantName({ ...variant, ...change })])
      .filter(([variant, other]) => variant !== other);
  return [
    ...beside({ k: Math.min(...TOP_K.ks) }),
    ...beside({ retriever: TOP_K.retrievers[0] }),
    ...beside({ method: TOP_K.methods[1] }),
    ...beside({ trainedK: 1 }).filter(
      ([, other]) => variantOf(other).retriever === TOP_K.retrievers[0],
    ),
  ];
}

/**
 * A contrast of variants: the method, retriever and k of both sides where they differ.
 */
function contrastOf(contrast: TidyContrast) {
  const [ours, theirs] = [contrast.method, contrast.against].map(variantOf);
  return {
    ...contrast,
    ...fieldsOf(ours),
    against: theirs.method,
    ...(ours.k === theirs.k ? {} : { against_k: theirs.k }),
    ...(ours.retriever === theirs.retriever ? {} : { against_retriever: theirs.retriever }),
    ...(ours.trainedK === theirs.trainedK ? {} : { against_trained_k: theirs.trainedK }),
  };
}

/** ParallelSearch with so many passages per query beside one, by BM25. */
const besideOne = (k: number): Predicted['figure'] => ({
  method: 'parallelsearch',
  against: 'parallelsearch',
  retriever: 'bm25',
  k,
  against_k: 1,
  trained_k: 3,
  benchmark: 'all',
  subset: 'all',
  metric: 'em',
  kind: 'difference',
});

/** Figure 6, in one figure. */
const MORE_IS_BETTER: Predicted = {
  prediction: 'Ten passages per query answer more questions than one, with BM25',
  figure: besideOne(10),
  holds: ({ low }) => low > 0,
  because: { where: 'five in place of one', figure: besideOne(5) },
};

/**
 * Reads the answers under every setting and computes their figures with intervals; the
 * same weights under every setting are resampled alike. Contrasts are of two values of k,
 * two retrievers or two methods, everything else the same.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadTopK(folder?: string, options: SummaryOptions = {}) {
  const done = await requireResults<TopKInput, Value>(topK, folder);
  const values = done.map(({ record }) => record.value);
  const found = values.flatMap((value) => ('answers' in value ? value.answers : []));
  const recall = values.flatMap((value) => ('recall' in value ? value.recall : []));
  const answers = found.map((answer) => ({ ...answer, method: variantName(answer) }));
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const runs = done.flatMap(({ job: { input } }) => (input === 'recall' ? [] : [input.run]));
  const provenance = {
    ...provenanceOf(done, { ...seedsOf(runs), ...(await drawOf()) }),
    numQuestions,
    recall,
  };
  const own: SummaryOptions = {
    measures: MEASURES,
    pairs: pairs(),
    weightsOf: (name) => `${variantOf(name).method}/${variantOf(name).trainedK}`,
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
  };
  const { rows, contrasts } = summarise({ answers, provenance }, own, options);
  const ten = told(contrasts.map(contrastOf), besideOne(10));
  const change = {
    above: 'answer more questions',
    below: 'answer fewer questions',
    undecided: 'decide nothing',
  };
  return reportOf({
    finding: `With BM25, ten passages per query in place of one ${change[ten.side]}: ${ten.text} of exact match for ParallelSearch, all sampled questions.`,
    summary: `${count(answers)} answers to ${numQuestions} questions, with ${TOP_K.retrievers.length} retrievers and ${TOP_K.ks.length} numbers of passages per query.`,
    tidy: {
      rows: rows.map((row) => ({ ...row, ...fieldsOf(variantOf(row.method)) })),
      provenance,
      contrasts: contrasts.map(contrastOf),
    },
    predicted: [MORE_IS_BETTER],
    frames: {
      // Recall@k of the retrievers by themselves, a row for each retriever and k.
      recall: recall.map(({ hitRate, ...row }) => ({
        ...row,
        metric: 'recall_at_k',
        value: hitRate,
      })),
    },
  });
}
export type TopK = Awaited<ReturnType<typeof loadTopK>>;
