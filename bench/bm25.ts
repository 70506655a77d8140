/**
 * BM25 on disk and in memory compared with bm25s and tantivy, over synthetic passages of
 * a hundred words: `npm run bench -- bm25 PYTHON SIZE [PEERS]`, such as `bm25 python3
 * 100000 bm25s,tantivy`, where PYTHON has the peers; PEERS may be `-`. Every side has a
 * process of its own; searches are in turns, with other questions each turn, and return
 * passages. Times are of the processor, so that other work counts little. Scores must
 * equal bm25s'; tantivy rounds lengths. Prints one JSON object.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { max, mean, median, quantile, range } from 'd3-array';
import { packagePath } from '../lib/io/paths.js';
import { readPassages } from '../lib/data/flashrag.js';
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
  /** The most that were ever resident. */
  bytes: number;
}
interface Searched {
  milliseconds: number[];
  ids: string[][];
  scores: number[][];
  bytes: number;
}

// Our side, as bm25_peer.py.

async function serve(kind: string): Promise<void> {
  let retriever: Retriever;
  const actions = {
    async index({ corpus, folder }: Record<string, string>) {
      const start = processorMs();
      retriever =
        kind === 'disk'
          ? await openBm25Files({ file: corpus, titleWeight: 1, analyzer: 'plain' }, { folder })
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

const gigabytes = ({ bytes }: { bytes: number }): number => Number((bytes / 1e9).toPrecision(2));

async function compare(python: string, size: number, peers: readonly string[]): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
  const sides: (ReturnType<typeof startProgram> & { name: string; indexed: Indexed })[] = [];
  try {
    const corpus = join(folder, 'corpus.jsonl');
    const asked = await writeEncyclopedia(corpus, size, WARM_UP + TURNS * QUESTIONS);
    const addSide = async (name: string, program: ReturnType<typeof startProgram>) => {
      const request = { do: 'index', corpus, folder: join(folder, `index-${name}`) };
      const indexed = await program.ask<Indexed>(request);
      console.error(JSON.stringify({ name, ...indexed }));
      sides.push({ ...program, name, indexed });
    };
    // An index on disk is made by one process and opened by another.
    await addSide('disk', startOurs('disk'));
    const [{ indexed, stop }] = sides.splice(0);
    stop();
    await addSide('disk', startOurs('disk'));
    const openSeconds = sides[0].indexed.seconds;
    sides[0].indexed = indexed;
    if (statSync(corpus).size < LARGE) await addSide('memory', startOurs('memory'));
    const numOurs = sides.length;
    for (const peer of peers) await addSide(peer, startPeer(python, 'bm25_peer.py', peer));

    const searched: Searched[][] = [];
    for (const turn of range(-1, TURNS)) {
      const first = turn < 0 ? 0 : WARM_UP + turn * QUESTIONS;
      const questions = asked.slice(first, first + (turn < 0 ? WARM_UP : QUESTIONS));
      const replies: Searched[] = [];
      for (const side of sides)
        replies.push(await side.ask({ do: 'search', questions, topK: TOP_K }));
      if (turn >= 0) searched.push(replies);
    }
    const querySeconds = (i: number): number[] =>
      searched.map((replies) => median(replies[i].milliseconds)! / 1e3);
    const p95Ms = (i: number): number =>
      Number(
        median(searched, (replies) => quantile(replies[i].milliseconds, 0.95))!.toPrecision(3),
      );
    const rows = sides.slice(0, numOurs).flatMap((own, i): Comparison[] => {
      const shared = { batch: size, backend: own.name };
      const alone: Comparison[] = [
        { work: 'BM25 index', ...shared, perSecond: spread([size / own.indexed.seconds]) },
        { work: 'BM25 query', ...shared, perSecond: spread(querySeconds(i).map((s) => 1 / s)) },
      ];
      const compared = sides.slice(numOurs).flatMap((peer, j): Comparison[] => [
        {
          ...alone[0],
          peer: peer.name,
          ...speeds([[own.indexed.seconds, peer.indexed.seconds]], size),
          peakGigabytes: gigabytes(own.indexed),
          peerPeakGigabytes: gigabytes(peer.indexed),
        },
        {
          ...alone[1],
          peer: peer.name,
          ...speeds(
            querySeconds(i).map((s, turn) => [s, querySeconds(numOurs + j)[turn]] as const),
            1,
          ),
          p95Ms: p95Ms(i),
          peerP95Ms: p95Ms(numOurs + j),
          peakGigabytes: gigabytes(searched.at(-1)![i]),
          peerPeakGigabytes: gigabytes(searched.at(-1)![numOurs + j]),
        },
      ]);
      return compared.length > 0 ? compared : alone;
    });
    const [own] = searched[0];
    const agreement = sides.slice(1).map(({ name }, i) => {
      const other = searched[0][i + 1];
      return {
        name,
        largestDifference: max(own.scores, (scores, q) =>
          max(scores, (score, k) => Math.abs(score - other.scores[q][k])),
        )!,
        samePassages: mean(
          own.ids.flatMap((ids, q) => ids.map((id) => Number(other.ids[q].includes(id)))),
        )!,
      };
    });
    const wrong = agreement.find(
      ({ name, largestDifference }) => name !== 'tantivy' && !(largestDifference < 1e-3),
    );
    if (wrong)
      throw new Error(`Expected ${wrong.name} to find equal scores, but: ${JSON.stringify(wrong)}`);
    return {
      corpusMegabytes: Math.round(statSync(corpus).size / 1e6),
      openSeconds,
      agreement,
      rows,
    };
  } finally {
    for (const { stop } of sides) stop();
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
