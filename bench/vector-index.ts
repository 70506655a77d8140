/**
 * Compares vector search by size: exact, HNSW in this process and Milvus, on random
 * vectors: `npm run bench -- vector-index [MILVUS] [SIZES] [DIMENSIONS]`, such as
 * `vector-index 127.0.0.1:19530 10000,100000,1000000 128`, or `-` for no server. Prints
 * one JSON object: seconds to build, memory (of the vectors or the saved graph; unknown
 * for Milvus), recall at 10 against exact search, milliseconds of a turn with 1 and 4
 * queries (median, 99th percentile), and power laws through these sizes, extrapolated to
 * the paper's 21 million passages. One thread, except for Milvus, which uses all cores.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { MilvusClient } from '@zilliz/milvus2-sdk-node';
import { mean, quantile } from 'd3-array';
import { provenanceHere } from '../lib/io/provenance.js';
import { createDenseRetriever } from '../lib/retrieval/dense.js';
import type { Encoder } from '../lib/retrieval/encoder.js';
import { buildExactIndex } from '../lib/retrieval/exact.js';
import { buildHnswIndex, type HnswIndex } from '../lib/retrieval/hnsw.js';
import { buildMilvusCollection, createMilvusRetriever } from '../lib/retrieval/milvus.js';
import type { Retriever } from '../lib/retrieval/retriever.js';
import { createVectors } from './support/vectors.js';

const [server = '-', sizeList = '10000,100000', dimensionText = '128'] = process.argv.slice(2);
const sizes = sizeList.split(',').map(Number);
const dimensions = Number(dimensionText);
const NUM_QUERIES = 200;
const TOP_K = 10;
const PAPER = { size: 21_015_324, dimensions: 768 };

const makeVector = createVectors(dimensions);
const vectors = new Map<string, Float32Array>();
/** A text is the name of its vector. */
const encoder: Encoder = {
  name: 'synthetic',
  dimensions,
  encode: async (texts) => texts.map((text) => vectors.get(text)!),
};
const queries = Array.from({ length: NUM_QUERIES }, (_, i) => `query ${i}`);
for (const query of queries) vectors.set(query, makeVector());
const passages: { id: string; contents: string; title: string; text: string }[] = [];

const MB = 2 ** 20;

interface Row {
  engine: string;
  size: number;
  buildSeconds: number;
  memoryMb: number | null;
  recall: number;
  oneQueryMs: number[];
  fourQueriesMs: number[];
}
const rows: Row[] = [];
const folder = mkdtempSync(join(tmpdir(), 'vector-index-'));

async function searchIds(retriever: Retriever, asked: string[]): Promise<string[][]> {
  const found = await retriever.retrieve(asked, { topK: TOP_K });
  return found.map((list) => list.map(({ passage }) => passage.id));
}

/** Milliseconds of turns with `width` queries. */
async function turnMs(retriever: Retriever, width: number) {
  const times: number[] = [];
  for (let i = 0; i + width <= queries.length; i += width) {
    const start = performance.now();
    await retriever.retrieve(queries.slice(i, i + width), { topK: TOP_K });
    times.push(performance.now() - start);
  }
  return [0.5, 0.99].map((p) => Number(quantile(times, p)!.toPrecision(3)));
}

async function measure(
  engine: string,
  build: () => Promise<Retriever>,
  truth?: string[][],
  memoryMb: () => Promise<number | null> = async () => null,
) {
  const start = performance.now();
  const retriever = await build();
  const buildSeconds = (performance.now() - start) / 1000;
  const found = await searchIds(retriever, queries);
  const shares = found.map(
    (ids, i) => ids.filter((id) => (truth ?? found)[i].includes(id)).length / TOP_K,
  );
  const row: Row = {
    engine,
    size: passages.length,
    buildSeconds,
    memoryMb: await memoryMb(),
    recall: mean(shares)!,
    oneQueryMs: await turnMs(retriever, 1),
    fourQueriesMs: await turnMs(retriever, 4),
  };
  console.error(JSON.stringify(row));
  rows.push(row);
  return found;
}

async function buildMilvus(): Promise<Retriever> {
  const name = `synthetic_${passages.length}`;
  const client = new MilvusClient({ address: server, logLevel: 'error' });
  await client.connectPromise;
  await client.dropCollection({ collection_name: name });
  await buildMilvusCollection(`milvus://${server}/${name}`, passages, encoder);
  // Milvus builds the graph after the rows have arrived; until then, it scans them all.
  for (;;) {
    const progress = await client.getIndexBuildProgress({
      collection_name: name,
      field_name: 'vector',
    });
    if (Number(progress.indexed_rows) >= passages.length) break;
    await delay(500);
  }
  await client.closeConnection();
  return createMilvusRetriever(`milvus://${server}/${name}`, encoder);
}

/** Fits y = factor * x^exponent by least squares on logarithms. */
function fitPowerLaw(points: readonly (readonly [number, number])[]) {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)]);
  const [mx, my] = [0, 1].map((i) => mean(logs, (log) => log[i])!);
  const exponent =
    logs.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0) /
    logs.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
  return { exponent, at: (x: number) => Math.exp(my + exponent * (Math.log(x) - mx)) };
}

for (const size of sizes) {
  while (passages.length < size) {
    const id = `p${passages.length}`;
    vectors.set(id, makeVector());
    passages.push({ id, contents: id, title: id, text: '' });
  }
  const all = passages.map(({ id }) => vectors.get(id)!);
  const asRetriever = (index: Parameters<typeof createDenseRetriever>[0]['index']): Retriever =>
    createDenseRetriever({ encoder, index, passages });
  const truth = await measure(
    'exact',
    async () => asRetriever(buildExactIndex(all)),
    undefined,
    async () => (4 * size * dimensions) / MB,
  );
  let graph: HnswIndex;
  await measure(
    'hnsw',
    async () => asRetriever((graph = await buildHnswIndex(all))),
    truth,
    async () => {
      const file = join(folder, 'graph');
      await graph.save(file);
      return statSync(file).size / MB;
    },
  );
  if (server !== '-') await measure('milvus', buildMilvus, truth);
}
rmSync(folder, { recursive: true });

const fits = [...new Set(rows.map(({ engine }) => engine))].flatMap((engine) =>
  (['buildSeconds', 'memoryMb', 'oneQueryMs'] as const).flatMap((what) => {
    const points = rows
      .filter((row) => row.engine === engine && row[what] !== null)
      .map((row) => [row.size, [row[what]].flat()[0]!] as const);
    if (points.length < 2) return [];
    const { exponent, at } = fitPowerLaw(points);
    return [{ engine, what, exponent, atPaperSize: at(PAPER.size) }];
  }),
);
const provenance = { queries: NUM_QUERIES, ...provenanceHere() };
console.log(JSON.stringify({ dimensions, rows, fits, paper: PAPER, provenance }, null, 1));
