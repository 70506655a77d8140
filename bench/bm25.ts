/**
 * Compares BM25 on disk and in memory with bm25s and tantivy, on synthetic passages of a
 * hundred words: `npm run bench -- bm25 PYTHON SIZE [PEERS]`, such as `bm25 python3
 * 100000 bm25s,tantivy`, where PYTHON has the peers; PEERS may be `-`. Every side is one
 * process; without this limit, our index would be made by several. They search in turns,
 * with other questions each turn, and return passages. Times are processor times, so that
 * other load matters little. Scores must equal those of bm25s; tantivy rounds lengths.
 * Prints one JSON object.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { max, mean, median, quantile, zip } from 'd3-array';
import { readPassages } from '../lib/data/flashrag.js';
import { packagePath } from '../lib/io/paths.js';
import { openBm25Files } from '../lib/retrieval/bm25-files.js';
import { createBm25Retriever } from '../lib/retrieval/bm25.js';
import type { Retriever } from '../lib/retrieval/retriever.js';
import { writeEncyclopedia } from './support/encyclopedia.js';
import {
  processorMs,
  speeds,
  spread,
  startPeer,
  startProgram,
  type Comparison,
} from './support/peer.js';

const [TURNS, QUESTIONS, WARM_UP, TOP_K] = [3, 500, 100, 10];
/** In bytes; larger files are not indexed in memory. */
const LARGE = 100e6;
const SIDE = '--side';

interface Indexed {
  seconds: number;
  /** Peak resident memory. */
  bytes: number;
}
interface Searched {
  milliseconds: number[];
  ids: string[][];
  scores: number[][];
  bytes: number;
}

// Our side, the counterpart of bm25_peer.py.

async function serve(kind: string): Promise<void> {
  let retriever: Retriever;
  const actions = {
    async index({ corpus, folder }: Record<string, string>) {
      const start = processorMs();
      retriever =
        kind === 'disk'
          ? await openBm25Files(
              { file: corpus, titleWeight: 1, analyzer: 'plain' },
              { folder, processes: 1 },
            )
          : createBm25Retriever(await readPassages(corpus));
      return { seconds: (processorMs() - start) / 1e3 };
    },
    async search({ questions, topK }: { questions: string[]; topK: number }) {
      const reply: Omit<Searched, 'bytes'> = { milliseconds: [], ids: [], scores: [] };
      for (const question of questions) {
        const start = processorMs();
        const [found] = await retriever.retrieve([question], { topK });
        reply.milliseconds.push(processorMs() - start);
        reply.ids.push(found.map(({ passage }) => passage.id));
        reply.scores.push(found.map(({ score }) => score));
      }
      return reply;
    },
  };
  for await (const line of createInterface(process.stdin)) {
    const { do: action, ...request } = JSON.parse(line) as { do: keyof typeof actions };
    const reply = await actions[action](request as never);
    console.log(JSON.stringify({ ...reply, bytes: process.resourceUsage().maxRSS * 1024 }));
  }
}

const startOurs = (kind: string) =>
  startProgram(process.execPath, [packagePath('scripts', 'bench.mjs'), 'bm25', SIDE, kind]);

// The comparison.

type Program = ReturnType<typeof startProgram>;
interface Side extends Program {
  name: string;
  indexed: Indexed;
  /** By turn. */
  searched: Searched[];
}

const round = (value: number): number => Number(value.toPrecision(3));

/** The rows of one of our sides, compared with a peer if there is one. */
const compareSides = (size: number, own: Side, peer?: Side): Comparison[] =>
  [
    {
      work: 'BM25 index',
      unit: 'passages/s',
      amount: size,
      seconds: ({ indexed }: Side) => [indexed.seconds],
      bytes: ({ indexed }: Side) => indexed.bytes,
    },
    {
      work: 'BM25 query',
      unit: 'queries/s',
      amount: 1,
      seconds: ({ searched }: Side) =>
        searched.map(({ milliseconds }) => median(milliseconds)! / 1e3),
      bytes: ({ searched }: Side) => searched.at(-1)!.bytes,
      p95Ms: ({ searched }: Side) =>
        round(median(searched, ({ milliseconds }) => quantile(milliseconds, 0.95))!),
    },
  ].map(({ work, unit, amount, seconds, bytes, p95Ms }) => ({
    work,
    batch: size,
    unit,
    backend: own.name,
    perSecond: spread(seconds(own).map((s) => amount / s)),
    peakGigabytes: round(bytes(own) / 1e9),
    ...(p95Ms && { p95Ms: p95Ms(own) }),
    ...(peer && {
      peer: peer.name,
      ...speeds(zip(seconds(own), seconds(peer)) as [number, number][], amount),
      peerPeakGigabytes: round(bytes(peer) / 1e9),
      ...(p95Ms && { peerP95Ms: p95Ms(peer) }),
    }),
  }));

/** How far another side's passages and scores differ from the first one's. */
function compareResults({ searched: [own] }: Side, { name, searched: [other] }: Side) {
  const differences = own.scores.flatMap((scores, q) =>
    scores.map((score, k) => Math.abs(score - other.scores[q][k])),
  );
  const found = own.ids.flatMap((ids, q) => ids.map((id) => Number(other.ids[q].includes(id))));
  const result = { name, largestDifference: max(differences)!, samePassages: mean(found)! };
  if (name !== 'tantivy' && !(result.largestDifference < 1e-3))
    throw new Error(`Expected equal scores, but got ${JSON.stringify(result)}`);
  return result;
}

async function compare(python: string, size: number, peers: readonly string[]): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
  const programs: Program[] = [];
  try {
    const corpus = join(folder, 'corpus.jsonl');
    const asked = await writeEncyclopedia(corpus, size, WARM_UP + TURNS * QUESTIONS);
    const startSide = async (name: string, program: Program): Promise<Side> => {
      programs.push(program);
      const request = { do: 'index', corpus, folder: join(folder, `index-${name}`) };
      const indexed = await program.ask<Indexed>(request);
      console.error(JSON.stringify({ name, ...indexed }));
      return { ...program, name, indexed, searched: [] };
    };
    // One process makes an index on disk, another opens it.
    const { indexed, stop } = await startSide('disk', startOurs('disk'));
    stop();
    const opened = await startSide('disk', startOurs('disk'));
    const ours: Side[] = [{ ...opened, indexed }];
    if (statSync(corpus).size < LARGE) ours.push(await startSide('memory', startOurs('memory')));
    const others: Side[] = [];
    for (const peer of peers)
      others.push(await startSide(peer, startPeer(python, 'bm25_peer.py', peer)));

    const sides = [...ours, ...others];
    const search = (side: Side, first: number, count: number): Promise<Searched> =>
      side.ask({ do: 'search', questions: asked.slice(first, first + count), topK: TOP_K });
    for (const side of sides) await search(side, 0, WARM_UP);
    for (let turn = 0; turn < TURNS; turn++)
      for (const side of sides)
        side.searched.push(await search(side, WARM_UP + turn * QUESTIONS, QUESTIONS));
    return {
      corpusMegabytes: Math.round(statSync(corpus).size / 1e6),
      openSeconds: opened.indexed.seconds,
      results: sides.slice(1).map((side) => compareResults(sides[0], side)),
      rows: ours.flatMap((own) =>
        (others.length > 0 ? others : [undefined]).flatMap((peer) => compareSides(size, own, peer)),
      ),
    };
  } finally {
    for (const { stop } of programs) stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const [python, size, peers = 'bm25s,tantivy'] = process.argv.slice(2);
if (python === SIDE) await serve(size);
else if (!(Number(size) > 0))
  throw new Error(
    'Expected a Python with bm25s and tantivy, and a number of passages. Try: npm run bench -- bm25 PYTHON 10000',
  );
else {
  const names = peers === '-' ? [] : peers.split(',');
  console.log(JSON.stringify(await compare(python, Number(size), names)));
}
