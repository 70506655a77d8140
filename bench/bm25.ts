/**
 * BM25 on disk compared with bm25s, over synthetic passages of a hundred words: `npm run
 * bench -- bm25 PYTHON 10000,100000,1000000`, where PYTHON has bm25s (`-` without it).
 * Every side runs in a process of its own, with seconds of the processor, so that other
 * work counts little. Both must find the same scores. Prints a line of JSON per size.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { max, mean, quantile } from 'd3-array';
import { packagePath } from '../lib/io/paths.js';
import { openBm25Files } from '../lib/retrieval/bm25-files.js';
import { writeEncyclopedia } from './support/encyclopedia.js';

const [QUESTIONS, TOP_K] = [500, 10];
const SIDE = '--side';

interface Measured {
  seconds: number;
  megabytes: number;
}
interface Searched extends Measured {
  milliseconds: number[];
  scores: number[][];
}

const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
};

/** Our side: opens the index, which is made by the first call, and answers questions. */
async function measure({ corpus, folder, questions }: Record<string, string>): Promise<Searched> {
  const start = processorMs();
  const options = { file: corpus, titleWeight: 1, analyzer: 'plain' };
  const bm25 = await openBm25Files(options, { folder });
  const seconds = (processorMs() - start) / 1e3;
  const milliseconds: number[] = [];
  const scores: number[][] = [];
  for (const question of JSON.parse(readFileSync(questions, 'utf8')) as string[]) {
    const before = processorMs();
    const [found] = await bm25.retrieve([question], { topK: TOP_K });
    milliseconds.push(processorMs() - before);
    scores.push(found.map(({ score }) => score));
  }
  return { seconds, milliseconds, scores, megabytes: process.resourceUsage().maxRSS / 1e3 };
}

const run = <T>(program: string, args: readonly string[]): T =>
  JSON.parse(execFileSync(program, args, { maxBuffer: 1 << 30 }).toString()) as T;

const round = (value: number): number => Number(value.toPrecision(3));

const figures = (index: Measured, { milliseconds, megabytes }: Searched) => ({
  indexSeconds: round(index.seconds),
  indexMegabytes: Math.round(index.megabytes),
  searchMegabytes: Math.round(megabytes),
  queryMs: round(mean(milliseconds)!),
  p95Ms: round(quantile(milliseconds, 0.95)!),
});

async function compare(python: string, numPassages: number, folder: string): Promise<object> {
  const [corpus, questions, none] = ['corpus.jsonl', 'questions.json', 'none.json'].map((name) =>
    join(folder, name),
  );
  const asked = await writeEncyclopedia(corpus, numPassages, QUESTIONS);
  writeFileSync(questions, JSON.stringify(asked));
  writeFileSync(none, '[]');
  const [indexed, searched] = [none, questions].map((file) =>
    run<Searched>(process.execPath, [
      packagePath('scripts', 'bench.mjs'),
      'bm25',
      SIDE,
      corpus,
      join(folder, 'index'),
      file,
    ]),
  );
  const own = { ...figures(indexed, searched), openSeconds: round(searched.seconds) };
  const corpusMegabytes = Math.round(statSync(corpus).size / 1e6);
  if (python === '-') return { numPassages, corpusMegabytes, own, bm25s: 'not installed' };
  const peer = run<Searched>(python, [
    packagePath('bench', 'bm25_peer.py'),
    corpus,
    questions,
    String(TOP_K),
  ]);
  const bm25s = figures(peer, peer);
  const largestDifference = max(searched.scores, (scores, q) =>
    max(scores, (score, k) => Math.abs(score - peer.scores[q][k])),
  );
  const ratios = {
    index: round(own.indexSeconds / bm25s.indexSeconds),
    query: round(own.queryMs / bm25s.queryMs),
    memory: round(own.indexMegabytes / bm25s.indexMegabytes),
  };
  return { numPassages, corpusMegabytes, own, bm25s, ratios, largestDifference };
}

const args = process.argv.slice(2);
if (args[0] === SIDE)
  console.log(
    JSON.stringify(await measure({ corpus: args[1], folder: args[2], questions: args[3] })),
  );
else {
  const [python, sizes] = args;
  if (!sizes)
    throw new Error(
      'Expected a Python with bm25s and numbers of passages. Try: npm run bench -- bm25 PYTHON 10000,100000',
    );
  for (const size of sizes.split(',').map(Number)) {
    const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
    try {
      console.log(JSON.stringify(await compare(python, size, folder)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
