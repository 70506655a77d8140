/** Passages per query (Figure 6): jobs, and what the report reads. */
import { join } from 'node:path';
import type { DataFrame } from 'danfojs-node';
import type { SummaryOptions } from '../../evaluation/table.js';
import { configHash, contentHash } from '../../io/hash.js';
import { ENCODER } from '../../io/paths.js';
import { ENCODER_FILE } from '../../retrieval/encoder-file.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf } from '../../report/frame.js';
import { count, dataHash, evaluationHash, SEEDS } from '../answers.js';
import { computation, type Experiment, type Job } from '../experiment.js';
import { provenanceOf, requireResults } from '../results.js';
import { runName, type PolicyRun } from '../runs.js';
import { answerSample, measureRecall, type TopKAnswer, type TopKRecall } from './answers.js';
import { topKClaims } from './claims.js';
import { summariseTopK } from './measures.js';
import { TOP_K, topKRuns, topKSettings, type TopKSetting } from './settings.js';

/** A run under one setting, or the recall of all retrievers. */
export type TopKInput = (TopKSetting & { run: PolicyRun }) | 'recall';
type Value = { answers: TopKAnswer[] } | { recall: TopKRecall[] };

/** Seconds that the sample takes on one core at each k, roughly: for an estimate and nothing else. */
const roughSeconds = (k: number): number => 20 + 2.5 * k;

async function jobs(): Promise<Job<TopKInput>[]> {
  const { retrievers, ks, oneOf, reservePerTurn } = TOP_K;
  const encoder = await contentHash([join(ENCODER, ENCODER_FILE)]);
  const jobsOf = async (run: PolicyRun): Promise<Job<TopKInput>[]> => {
    const policy = await evaluationHash(run);
    return topKSettings().map(({ retriever, k }) => ({
      key: `top-k/${runName(run)}-${retriever}-k${k}`,
      hash: configHash({ policy, encoder, retriever, k, oneOf, reservePerTurn }),
      ...{ input: { run, retriever, k }, seconds: roughSeconds(k) },
    }));
  };
  const recall: Job<TopKInput> = {
    ...{ key: 'top-k/recall', hash: configHash({ data: await dataHash(), encoder, retrievers, ks }) },
    ...{ input: 'recall', seconds: 60 },
  };
  return [recall, ...(await Promise.all(topKRuns().map(jobsOf))).flat()];
}

export const topK: Experiment = {
  name: 'top-k',
  title: 'passages per query, for BM25, exact and HNSW search',
  computation: computation<TopKInput, Value>({
    jobs,
    work: async (input, context) =>
      input === 'recall'
        ? { recall: await measureRecall(context) }
        : { answers: await answerSample(input, context) },
  }),
  claims: topKClaims,
};

export interface TopK extends ReportResults {
  /** Recall@k of the retrievers by themselves, a row for each retriever and k. */
  recall: DataFrame;
}

/**
 * Reads the answers under every setting and computes their figures with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadTopK(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<TopK> {
  const done = await requireResults<TopKInput, Value>(topK, folder);
  const values = done.map(({ record }) => record.value);
  const answers = values.flatMap((value) => ('answers' in value ? value.answers : []));
  const recall = values.flatMap((value) => ('recall' in value ? value.recall : []));
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const provenance = { ...provenanceOf(done, { seeds: SEEDS }), numQuestions, recall };
  const summary = `${count(answers.length)} answers to ${numQuestions} questions, with ${TOP_K.retrievers.length} retrievers and ${TOP_K.ks.length} numbers of passages per query.`;
  return {
    ...resultsOf(summary, { ...summariseTopK(answers, options), provenance }),
    recall: frameOf(recall.map(({ hitRate, ...row }) => ({ ...row, metric: 'recall_at_k', value: hitRate }))),
  };
}
