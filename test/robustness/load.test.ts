/**
 * Long and heavy use (test:full): nothing is lost or mixed up, and memory does not grow.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as tf from '@tensorflow/tfjs-core';
import { quantile } from 'd3-array';
import { LRUCache } from 'lru-cache';
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import type { RetrievedPassage } from '../../lib/retrieval/retriever.js';
import { searchAll } from '../../lib/retrieval/search.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { createGrpoTrainer } from '../../lib/training/grpo.js';
import { isBuilt, startCommand, words } from '../commands/command-line.js';
import { writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { echoRetriever } from '../retrieval/passages.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from '../training/tiny.js';

const NUM_CLIENTS = 1000;
const SECONDS = 60;
const NUM_STEPS = 1000;
const NUM_RETRIEVALS = 10_000;
const CLIENTS = fileURLToPath(new URL('../fixtures/clients.mjs', import.meta.url));
/** Output of {@link CLIENTS}. */
interface Answered {
  numSent: number;
  seconds: number;
  /** Milliseconds per answer, by status. */
  waitsMs: Record<string, number[]>;
}
/** Maximum growth of a heap that counts as flat. */
const FLAT_BYTES = 5e6;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
/**
 * Heap in use after several collections, since signals and sockets need more than one.
 */
const heapBytes = async (): Promise<number> => {
  for (let round = 0; round < 5; round++) {
    collectGarbage();
    await setTimeout(50);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

describe.skipIf(!isFull || !isBuilt)('under load (needs test:full)', () => {
  const root = temporaryFolder();
  beforeAll(() => useBackend('wasm'));

  it(`answers ${NUM_CLIENTS} clients during a training, while the upstream fails (1 in 10) or hangs (1 in 20)`, async () => {
    const random = createRandom('flaky');
    const flaky = echoRetriever((_, signal) => {
      flaky.calls.length = 0;
      const fate = random.uniform();
      if (fate < 0.1) throw new Error('made to fail');
      if (fate < 0.15) return new Promise((_, reject) => signal!.addEventListener('abort', reject));
    });
    const server = await startRetrievalServer(flaky, { maxConcurrency: 2000, timeoutMs: 3000 });
    await writeTinyWorld(root);
    const config = tinyTraining({
      model: 'model',
      retriever: server.url,
      guards: { retrieval: { action: 'warn' } },
      grpo: { steps: 100_000, questionsPerStep: 1, groupSize: 2 },
    });
    writeFileSync(join(root, 'config.json'), JSON.stringify(config));
    const training = startCommand(
      words`train --config config.json --model model --data data --backend wasm --out run`,
      root,
    );
    let said = '';
    training.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(training, 'close') as Promise<[number | null]>;
    // In a separate process, so that measuring does not delay them.
    const clients = spawn(process.execPath, [
      CLIENTS,
      server.url,
      String(NUM_CLIENTS),
      String(SECONDS),
    ]);
    const answered = text(clients.stdout);
    const complaints = text(clients.stderr);
    await setTimeout((SECONDS * 1000) / 3);
    const early = await heapBytes();
    const [code] = (await once(clients, 'close')) as [number | null];
    expect(code, await complaints).toBe(0);
    const late = await heapBytes();
    training.kill('SIGINT');
    expect((await ended)[0], said).toBe(130);
    await server.close();

    const { numSent, seconds, waitsMs } = JSON.parse(await answered) as Answered;
    const all = Object.values(waitsMs).flat();
    const of = (waits: readonly number[]): string =>
      `${waits.length} (p50 ${quantile(waits, 0.5)} ms, p99 ${quantile(waits, 0.99)} ms)`;
    console.log(
      [
        `${numSent} requests of ${NUM_CLIENTS} clients in ${seconds} s: ${of(all)}`,
        ...Object.entries(waitsMs).map(([status, waits]) => `status ${status}: ${of(waits)}`),
        // Little's law: clients that repeat immediately wait this long.
        `clients / throughput: ${Math.round((NUM_CLIENTS / numSent) * seconds * 1000)} ms`,
        `heap ${megabytes(late - early)} more at the end`,
      ].join('\n'),
    );
    expect(all.length).toBe(numSent);
    expect(Object.keys(waitsMs)).toEqual(['200', '500', '503']);
    expect(late - early).toBeLessThan(FLAT_BYTES);
    const lines = readFileSync(join(root, 'run', 'trajectories.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    const turns = lines.flatMap((line) => (JSON.parse(line) as Trajectory).searchTurns);
    expect(turns.length).toBeGreaterThan(0);
    for (const { queries, results } of turns)
      for (const [i, result] of results.entries())
        if (result.status === 'ok')
          expect(result.passages.map(({ id }) => id)).toEqual([queries[i].trim()]);
        else expect(result.reason).toBe('the search engine gave no answer.');
  }, 600_000);

  it(`does not grow over ${NUM_STEPS} steps`, async () => {
    const model = chattyModel();
    const config = tinyTraining({
      settings: { steps: NUM_STEPS, questionsPerStep: 1, groupSize: 2 },
    });
    const retriever = createBm25Retriever(PASSAGES);
    const trainer = createGrpoTrainer({ config, model, questions: QUESTIONS, retriever });
    const measured: { heap: number; resident: number; tensors: number }[] = [];
    for (let step = 1; step <= NUM_STEPS; step++) {
      await trainer.next();
      if (step % (NUM_STEPS / 5) !== 0) continue;
      const heap = await heapBytes();
      measured.push({ heap, resident: process.memoryUsage.rss(), tensors: tf.memory().numTensors });
    }
    trainer.dispose();
    const [first, last] = [measured[0], measured.at(-1)!];
    console.log(
      `${last.tensors} tensors; in ${NUM_STEPS * 0.8} steps the heap grew by ${megabytes(last.heap - first.heap)}, resident memory by ${megabytes(last.resident - first.resident)}`,
    );
    expect(measured.map(({ tensors }) => tensors)).toEqual(measured.map(() => first.tensors));
    expect(last.heap - first.heap).toBeLessThan(FLAT_BYTES);
    // Tensors are outside the heap.
    expect(last.resident - first.resident).toBeLessThan(10 * FLAT_BYTES);
  }, 3_600_000);

  it.each(['in this process', 'from a server'])(
    `does not grow over ${NUM_RETRIEVALS} retrievals %s`,
    async (where) => {
      const cache = new LRUCache<string, RetrievedPassage[]>({ max: 100 });
      const bm25 = createBm25Retriever(PASSAGES);
      const server = await startRetrievalServer(bm25);
      const retriever =
        where === 'from a server' ? createRemoteRetriever({ url: server.url }) : bm25;
      const search = async (from: number): Promise<void> => {
        for (let i = from; i < from + NUM_RETRIEVALS / 2; i += 10) {
          const queries = Array.from({ length: 10 }, (_, k) => `Ada Stone ${i + k}`);
          const outcomes = await searchAll(retriever, queries, { topK: 3, cache, batchSize: 1 });
          expect(outcomes.every(({ status }) => status === 'ok')).toBe(true);
        }
      };
      await search(0);
      const early = await heapBytes();
      await search(NUM_RETRIEVALS / 2);
      const grown = (await heapBytes()) - early;
      await server.close();
      console.log(`${NUM_RETRIEVALS / 2} retrievals ${where}: ${megabytes(grown)} more`);
      expect(grown).toBeLessThan(FLAT_BYTES);
    },
  );
});
