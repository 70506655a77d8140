/**
 * Compares HNSW with FAISS's at equal recall, on synthetic vectors and one thread: `npm
 * run bench -- hnsw PYTHON SIZES [DIMENSIONS]`, where PYTHON has faiss-cpu. Both graphs
 * have the same M and efConstruction; FAISS searches with the smallest efSearch that
 * reaches our recall at 10. Times are processor times. Prints one JSON object.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mean, median, range } from 'd3-array';
import { buildHnswIndex } from '../lib/retrieval/hnsw.js';
import { processorMs, speeds, startPeer, type Comparison } from './support/peer.js';
import { createVectors } from './support/vectors.js';

const [TURNS, QUERIES, TOP_K] = [3, 500, 10];
const [M, EF_CONSTRUCTION] = [16, 200];

const [python, sizes, dimensionText = '128'] = process.argv.slice(2);
if (!sizes)
  throw new Error(
    'Expected a Python with faiss-cpu and numbers of vectors. Try: npm run bench -- hnsw PYTHON 10000,100000',
  );
const dimensions = Number(dimensionText);

const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
const rows: Comparison[] = [];
const recalls: object[] = [];
try {
  for (const size of sizes.split(',').map(Number)) {
    const makeVector = createVectors(dimensions);
    const makeFile = (name: string, vectors: readonly Float32Array[]): string => {
      const file = join(folder, name);
      writeFileSync(file, Buffer.concat(vectors.map(({ buffer }) => new Uint8Array(buffer))));
      return file;
    };
    const queries = range(QUERIES).map(makeVector);
    const vectors = range(size).map(makeVector);
    const peer = startPeer(python, 'faiss_peer.py', String(dimensions));
    const { seconds, truth } = await peer.ask<{ seconds: number; truth: number[][] }>({
      do: 'index',
      vectors: makeFile('vectors', vectors),
      queries: makeFile('queries', queries),
      m: M,
      efConstruction: EF_CONSTRUCTION,
      topK: TOP_K,
    });
    const startMs = processorMs();
    const index = await buildHnswIndex(vectors, { m: M, efConstruction: EF_CONSTRUCTION });
    const buildSeconds = (processorMs() - startMs) / 1e3;
    const search = (query: Float32Array, q: number): number => {
      const found = index.search(query, TOP_K).map((neighbour) => neighbour.index);
      return mean(found, (i) => Number(truth[q].includes(i)))!;
    };
    const recall = mean(queries, search)!;
    const { efSearch, recall: peerRecall } = await peer.ask<{ efSearch: number; recall: number }>({
      do: 'match',
      recall,
    });
    recalls.push({ size, recall, peerRecall, efSearch });
    const querySeconds: [number, number][] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const times = queries.map((query) => {
        const start = processorMs();
        index.search(query, TOP_K);
        return processorMs() - start;
      });
      const { milliseconds } = await peer.ask<{ milliseconds: number[] }>({ do: 'search' });
      querySeconds.push([median(times)! / 1e3, median(milliseconds)! / 1e3]);
    }
    peer.stop();
    rows.push(
      { work: 'HNSW build', batch: size, ...speeds([[buildSeconds, seconds]], size) },
      { work: 'HNSW query', batch: size, unit: 'queries/s', ...speeds(querySeconds, 1) },
    );
    console.error(JSON.stringify([recalls.at(-1), ...rows.slice(-2)]));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(JSON.stringify({ dimensions, recalls, rows }));
