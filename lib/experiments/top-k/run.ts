/**
 * Figure 6: how many passages a sub-query should bring, for three retrievers. The same trained policies answer a fixed sample
 * of the test questions under every setting.
 *
 * Two departures from the paper. The small policy's context has 1,024 positions: where the passages of a turn would leave no
 * room for the turns to come, those of the lowest ranks are left out, counted and reported (the paper cuts what a turn brings
 * at 500 tokens and does not say whether it did so here). And the policies have been trained with one passage a sub-query, and
 * warmed up with one or two, where the paper trains with three: larger k are outside of what they have seen.
 */
import { join } from 'node:path';
import {
  topKConfigSchema,
  type TopKAnswer,
  type TopKConfig,
  type TopKRecall,
  type TopKRecord,
} from './measures.js';
import { queriesWithEvidence, retrievalRecall } from '../../retrieval/recall.js';
import { useBackend } from '../../tensor/backend.js';
import { ENCODER } from '../../io/paths.js';
import { SEEDS } from '../evaluate-runs.js';
import { evaluationBatchSize, evaluationHash } from '../evaluation-run.js';
import type { Experiment, ExperimentContext, ExperimentResults } from '../experiment.js';
import { addUp, workSideBySide } from '../renewed-worker.js';
import { loadRetrievers, sampleQuestions } from './answers.js';
import { startTopKWorker, type TopKJob } from './worker.js';
import { loadWorld } from '../world.js';
import { runName } from '../runs.js';
import { contentHash } from '../../io/hash.js';

export const TOP_K_CONFIG: TopKConfig = topKConfigSchema.parse({
  methods: ['parallelsearch', 'search-r1'],
  model: 'instruct',
  seeds: SEEDS,
  retrievers: ['bm25', 'exact', 'hnsw'],
  ks: [1, 3, 5, 10],
  oneOf: 20,
  // A search and one passage for it.
  reservePerTurn: 100,
  batchSize: 64,
});

const NUM_WORKERS = 2;
/** Seconds a question on one core at each k, roughly: for an estimate and nothing else. */
const roughSeconds = (k: number): number => 0.15 + 0.02 * k;

/** Share of the test split's sub-questions whose evidence is among the first k, asked as the data set words them. */
async function measureRecall({ retrievers, ks }: TopKConfig): Promise<TopKRecall[]> {
  const world = await loadWorld();
  const all = await loadRetrievers(world);
  const queries = queriesWithEvidence(world.questions, { split: 'test', of: 'subQueries' });
  const tables = retrievers.map(async (retriever) => {
    const recall = await retrievalRecall(all[retriever], queries, ks);
    return recall.map(({ k, hitRate }) => ({ retriever, k, hitRate, n: queries.length }));
  });
  return (await Promise.all(tables)).flat();
}

/** Everything that is evaluated, run by run. */
function jobsOf(config: TopKConfig): Omit<TopKJob, 'backend'>[] {
  const { methods, seeds, model, retrievers, ks } = config;
  return seeds.flatMap((seed) =>
    methods.flatMap((method) =>
      retrievers.flatMap((retriever) =>
        ks.map((k) => ({ config, run: { method, model, seed }, setting: { retriever, k } })),
      ),
    ),
  );
}

/** Answers the sample under every setting, two at a time. */
export async function runTopK(
  config: TopKConfig,
  context: Pick<ExperimentContext, 'backend' | 'signal' | 'onProgress' | 'part'>,
): Promise<Omit<TopKRecord, 'config' | 'provenance'> & ExperimentResults> {
  const backend = await useBackend(context.backend);
  const recall = await context.part('recall', () => measureRecall(config));
  const batchSize = Math.min(config.batchSize, evaluationBatchSize(backend.name));
  const jobs = jobsOf(config);
  const answers = new Array<TopKAnswer[]>(jobs.length);
  const weights = jobs.map(({ setting }) => roughSeconds(setting.k));
  const report = addUp(weights, (fraction, i) => context.onProgress(fraction, nameOf(jobs[i])));
  const pool = { numJobs: jobs.length, numWorkers: NUM_WORKERS, signal: context.signal };
  await workSideBySide(startTopKWorker, pool, async (i, worker) => {
    answers[i] = await context.part(nameOf(jobs[i]), async () => {
      const job = { ...jobs[i], config: { ...config, batchSize }, backend: backend.name };
      return (await worker.work(job, (fraction) => report(i, fraction))).answers;
    });
    report(i, 1);
  });
  return { answers: answers.flat(), recall, provenance: { seeds: config.seeds, backend: backend.detail } };
}

const nameOf = ({ run, setting: { retriever, k } }: Pick<TopKJob, 'run' | 'setting'>): string =>
  `${runName(run)}-${retriever}-k${k}`;

/** About how long a configuration takes on two cores. */
export function estimateTopKSeconds(config: TopKConfig, numQuestions: number): number {
  const seconds = jobsOf(config).reduce((sum, { setting }) => sum + roughSeconds(setting.k), 0);
  return (seconds * numQuestions) / NUM_WORKERS;
}

/** The experiment of `notebooks/04-top-k.ipynb`. */
export const topKExperiment: Experiment = {
  title: 'passages a sub-query, for BM25, exact and HNSW search',
  config: async () => {
    const runs = jobsOf({ ...TOP_K_CONFIG, retrievers: ['bm25'], ks: [1] }).map(({ run }) => run);
    return {
      ...TOP_K_CONFIG,
      encoder: await contentHash([join(ENCODER, 'encoder.safetensors')]),
      runs: await Promise.all(runs.map(evaluationHash)),
    };
  },
  plan: async () => {
    const numQuestions = await countQuestions();
    return `${jobsOf(TOP_K_CONFIG).length} evaluations of ${numQuestions} questions`;
  },
  estimateSeconds: async () => estimateTopKSeconds(TOP_K_CONFIG, await countQuestions()),
  run: (context): Promise<ExperimentResults> => runTopK(TOP_K_CONFIG, context),
};

async function countQuestions(): Promise<number> {
  return sampleQuestions((await loadWorld()).questions, TOP_K_CONFIG.oneOf).length;
}
