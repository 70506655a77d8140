/**
 * Measures recall and latency of the embedded retrievers on the small world's dev split,
 * and the time saved by concurrent sub-queries when retrieval waits for a network. Prints
 * one JSON object; times are for one thread on this machine.
 */
import { performance } from 'node:perf_hooks';
import { readPassages, readQuestions } from '../lib/data/flashrag.js';
import { createRandom } from '../lib/random.js';
import { createBm25Retriever } from '../lib/retrieval/bm25.js';
import { createDenseRetriever, encodePassages } from '../lib/retrieval/dense.js';
import { type Encoder, createHashedEncoder, loadEncoder } from '../lib/retrieval/encoder.js';
import { buildExactIndex } from '../lib/retrieval/exact.js';
import { buildHnswIndex } from '../lib/retrieval/hnsw.js';
import {
  queriesWithEvidence,
  retrievalRecall,
  type QueryWithEvidence,
} from '../lib/retrieval/recall.js';
import { createRemoteRetriever } from '../lib/retrieval/remote.js';
import type { Retriever } from '../lib/retrieval/retriever.js';
import { searchAll } from '../lib/retrieval/search.js';
import { startRetrievalServer } from '../lib/retrieval/server.js';
import { randomWeights } from '../tools/encoder/hashed-weights.js';

const [folder = 'data/small-world', encoderFolder] = process.argv.slice(2);
const passages = await readPassages(`${folder}/passages.jsonl`);
const questions = await readQuestions(`${folder}/questions.jsonl`);
const encoder: Encoder = encoderFolder
  ? await loadEncoder(encoderFolder)
  : createHashedEncoder(
      randomWeights(
        passages.map(({ contents }) => contents),
        createRandom(0),
      ),
    );

async function timed<T>(work: () => Promise<T> | T): Promise<[T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}

async function measure(retriever: Retriever, buildMs: number) {
  const rows = [];
  for (const of of ['subQueries', 'questions'] as const) {
    const queries: QueryWithEvidence[] = queriesWithEvidence(questions, { split: 'dev', of });
    const [recall, ms] = await timed(() => retrievalRecall(retriever, queries, [1, 2, 3, 5, 10]));
    const msPerQuery = ms / queries.length;
    rows.push({ retriever: retriever.name, buildMs, of, n: queries.length, msPerQuery, recall });
  }
  return rows;
}

/**
 * Milliseconds of a search turn with `count` sub-queries on a server that takes 50 ms,
 * all at once and one by one.
 */
async function turnLatency(retriever: Retriever, count: number) {
  const server = await startRetrievalServer(retriever, { delayMs: 50 });
  const remote = createRemoteRetriever({ url: server.url });
  const queries = passages.slice(0, count).map(({ title }) => title);
  const ask = (maxConcurrency: number) =>
    timed(() => searchAll(remote, queries, { topK: 3, batchSize: 1, maxConcurrency }));
  await ask(count); // opens the connections
  const [, parallelMs] = await ask(count);
  const [, sequentialMs] = await ask(1);
  await server.close();
  return { count, parallelMs, sequentialMs };
}

const [bm25, bm25Ms] = await timed(() => createBm25Retriever(passages));
const [vectors, encodeMs] = await timed(() => encodePassages(encoder, passages));
const [exact, exactMs] = await timed(() => buildExactIndex(vectors));
const [hnsw, hnswMs] = await timed(() => buildHnswIndex(vectors));
const dense = [exact, hnsw].map((index) => createDenseRetriever({ encoder, index, passages }));
const latency = [];
for (const count of [1, 2, 3, 4, 8]) latency.push(await turnLatency(bm25, count));
const retrieval = [
  ...(await measure(bm25, bm25Ms)),
  ...(await measure(dense[0], encodeMs + exactMs)),
  ...(await measure(dense[1], encodeMs + hnswMs)),
];
console.log(
  JSON.stringify({ passages: passages.length, encoder: encoder.name, retrieval, latency }, null, 2),
);
