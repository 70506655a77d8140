/**
 * Measures the wall-clock time of 1 to 16 sub-queries in one turn and one by one, for
 * each retriever: `npm run bench -- turns NAME ...`, where NAME is `bm25`, `exact`,
 * `hnsw`, or NAME=ADDRESS of a server with the small world's passages, such as
 * `serve=http://127.0.0.1:9000/retrieve` or
 * `milvus=milvus://127.0.0.1:19530/small_world`. `--python PROGRAM` starts and adds
 * Search-R1's server in Python with FAISS. Prints one JSON object: median and quartiles
 * in milliseconds and, for vector search, recall against exact search at 10 over 400
 * queries.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { mean, quantile } from 'd3-array';
import { independentQueries } from '../lib/experiments/latency/measuring.js';
import { serveLocally } from '../lib/io/local-server.js';
import { ENCODER, packagePath } from '../lib/io/paths.js';
import { provenanceHere } from '../lib/io/provenance.js';
import { createRandom } from '../lib/random.js';
import { encodePassages } from '../lib/retrieval/dense.js';
import type { Retriever } from '../lib/retrieval/retriever.js';
import { createRetriever, openEncoder } from '../lib/retrieval/retrievers.js';
import { searchAll } from '../lib/retrieval/search.js';
import { loadWorld } from '../lib/retrieval/small-world.js';

const WIDTHS = [1, 2, 4, 8, 16];
const REPEATS = 25;
const WARM_UPS = 3;
const TOP_K = 3;
const RECALL = { topK: 10, queries: 400 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { python: { type: 'string' } },
});
const { passages, questions } = await loadWorld();
const queries = independentQueries(questions);

/** Search-R1's server in Python, which receives the vectors of passages and queries. */
async function startFaiss(python: string): Promise<string> {
  const encoder = await openEncoder(ENCODER);
  const [vectors, queryVectors] = [
    await encodePassages(encoder, passages),
    await encoder.encode(queries, { kind: 'query' }),
  ];
  const free = await serveLocally(0, async () => new Response());
  await free.close();
  const folder = mkdtempSync(join(tmpdir(), 'faiss-'));
  const file = join(folder, 'index.json');
  const data = {
    port: free.port,
    passages: passages.map(({ id, contents }) => ({ id, contents })),
    vectors: vectors.map((vector) => Array.from(vector)),
    queries: Object.fromEntries(queries.map((query, i) => [query, Array.from(queryVectors[i])])),
  };
  writeFileSync(file, JSON.stringify(data));
  const script = packagePath('test', 'retrieval', 'faiss_peer.py');
  const child = spawn(python, [script, 'serve', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  // However this process ends.
  process.on('exit', () => (child.kill(), rmSync(folder, { recursive: true })));
  const url = `http://127.0.0.1:${free.port}/retrieve`;
  for (let i = 0; i < 240 && !(await fetch(url, { method: 'POST' }).catch(() => null)); i++)
    await delay(500);
  return url;
}

const faiss = values.python === undefined ? null : await startFaiss(values.python);
const named = [...positionals, ...(faiss ? [`faiss=${faiss}`] : [])].map((argument) => {
  const [, name, place] = /^([^=:]+)(?:=(.*))?$/.exec(argument) ?? [];
  if (!name)
    throw new Error(`Expected the name of a retriever, or NAME=ADDRESS, but got ${argument}.`);
  return { name, place: place ?? name };
});
if (named.length === 0)
  throw new Error('Expected retrievers, such as: npm run bench -- turns bm25 exact hnsw');

/**
 * Whether a retriever uses the encoder's vectors. A server with another name is one with
 * BM25, the default of `serve-retriever`.
 */
const isDense = (name: string): boolean => ['exact', 'hnsw', 'faiss', 'milvus'].includes(name);

async function askMs(retriever: Retriever, turns: readonly string[][]): Promise<number> {
  const start = performance.now();
  for (const turn of turns) {
    for (const outcome of await searchAll(retriever, turn, { topK: TOP_K }))
      if (outcome.status === 'failed')
        throw new Error(`Expected every search to succeed, but got: ${outcome.reason}`);
  }
  return performance.now() - start;
}

const asked = queries.slice(0, RECALL.queries);
async function searchIds(retriever: Retriever): Promise<string[][]> {
  const lists = await retriever.retrieve(asked, { topK: RECALL.topK });
  return lists.map((list) => list.map(({ passage }) => passage.id));
}
const exactIds = await searchIds(await createRetriever('exact', passages));

const rows = [];
const recall: Record<string, number> = {};
for (const { name, place } of named) {
  const retriever = await createRetriever(place, passages);
  if (isDense(name)) {
    const found = await searchIds(retriever);
    const shares = found.map(
      (ids, i) => ids.filter((id) => exactIds[i].includes(id)).length / RECALL.topK,
    );
    recall[name] = Number(mean(shares)!.toFixed(4));
  }
  const random = createRandom('turns');
  for (let i = 0; i < WARM_UPS; i++) await askMs(retriever, [random.shuffle(queries).slice(0, 16)]);
  const samples = new Map<string, number[]>();
  for (let i = 0; i < REPEATS; i++) {
    const drawn = random.shuffle(queries);
    const ways = WIDTHS.flatMap((width) =>
      ['in turns', 'one turn'].map((asked) => ({ asked, width, of: drawn.slice(0, width) })),
    );
    for (const { asked, width, of } of random.shuffle(ways)) {
      const ms = await askMs(retriever, asked === 'in turns' ? of.map((query) => [query]) : [of]);
      const key = `${asked}/${width}`;
      samples.set(key, [...(samples.get(key) ?? []), ms]);
    }
  }
  for (const width of WIDTHS)
    for (const asked of ['in turns', 'one turn']) {
      const [low, value, high] = [0.25, 0.5, 0.75].map((p) =>
        Number(quantile(samples.get(`${asked}/${width}`)!, p)!.toPrecision(3)),
      );
      rows.push({ retriever: name, asked, sub_queries: width, value, low, high, n: REPEATS });
    }
  console.error(name);
}
const provenance = {
  passages: passages.length,
  topK: TOP_K,
  warmUps: WARM_UPS,
  ...provenanceHere(),
};
console.log(JSON.stringify({ rows, recall, provenance }, null, 1));
process.exit();
