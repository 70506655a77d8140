/**
 * BM25 compared with bm25s on 100,000 passages with natural word frequencies, in turns:
 * `npm run bench -- bm25 PYTHON`, where PYTHON has bm25s (numba is not needed). Both must
 * find the same scores. Prints one JSON object: CPU seconds, and ratios of ours to theirs
 * (above 1: this project is slower).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPassages } from '../lib/data/question.js';
import { createRandom } from '../lib/random.js';
import { createBm25Retriever } from '../lib/retrieval/bm25.js';
import { inTurns, speeds, startPeer } from './support/peer.js';

const [PASSAGES, WORDS, QUERIES, QUERY_WORDS, VOCABULARY] = [100_000, 80, 200, 12, 200_000];
const REPEATS = 5;
const TOP_K = 10;

const [python] = process.argv.slice(2);
if (!python) throw new Error('Expected a Python with bm25s. Try: npm run bench -- bm25 PYTHON');

// Zipf's law with exponent 1: rank = vocabulary ** uniform.
const random = createRandom(0);
const text = (length: number): string =>
  Array.from({ length }, () => `w${Math.floor(VOCABULARY ** random.uniform())}`).join(' ');
const texts = Array.from({ length: PASSAGES }, () => text(WORDS));
const queries = Array.from({ length: QUERIES }, () => text(QUERY_WORDS));

const peer = startPeer(python, 'bm25_peer.py');
const theirs = (request: object) => peer.ask<{ seconds: number; scores: number[][] }>(request);

function ours<T>(work: () => T): { seconds: number; result: T } {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return { seconds: (user + system) / 1e6, result };
}

const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
try {
  const corpus = join(folder, 'corpus.txt');
  writeFileSync(corpus, texts.map((line) => `${line}\n`).join(''));
  const passages = createPassages(
    Object.fromEntries(texts.map((contents, i) => [`t${i}`, contents])),
  );
  const analyze = (words: string): string[] => words.split(' ');
  const before = process.memoryUsage().rss;
  const built = ours(() => createBm25Retriever(passages, { titleWeight: 0, analyze }));
  const megabytes = Math.round((process.memoryUsage().rss - before) / 1e6);
  const indexed = await theirs({ do: 'index', corpus });
  const search = () => queries.map((query) => built.result.search(query, TOP_K));
  const { own, other, seconds } = await inTurns(
    REPEATS,
    () => Promise.resolve(ours(search)),
    () => theirs({ do: 'search', queries, k: TOP_K }),
  );
  const differences = own.result.flatMap((list, q) =>
    list.map(({ score }, k) => Math.abs(score - other.scores[q][k])),
  );
  const index = { seconds: built.seconds, peerSeconds: indexed.seconds, megabytes };
  const largestDifference = Math.max(...differences);
  console.log(JSON.stringify({ index, ...speeds(seconds, QUERIES), largestDifference }, null, 2));
} finally {
  rmSync(folder, { recursive: true, force: true });
  peer.stop();
}
