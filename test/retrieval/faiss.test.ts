/**
 * Search-R1's protocol against Python: our client with a FAISS server, and vice versa.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import { createHashedEncoder } from '../../lib/retrieval/encoder.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { searchAll } from '../../lib/retrieval/search.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { randomWeights } from '../../tools/encoder/hashed-weights.js';
import { engineFile } from '../engines.js';
import { temporaryFolder } from '../folder.js';
import { freePort } from '../servers.js';
import { makePassage } from './passages.js';

const python = engineFile('python');
const script = fileURLToPath(new URL('faiss_peer.py', import.meta.url));
const modules = 'import faiss, fastapi, uvicorn, requests';
const isThere = python !== undefined && spawnSync(python, ['-c', modules]).status === 0;

const passages = Array.from({ length: 500 }, (_, i) =>
  makePassage(`p${i}`, `Number ${i}\nIt is ${i * 7} of ${i % 13}.`),
);
const queries = Array.from({ length: 64 }, (_, i) => `What is ${i * 3} of ${i % 13}?`);
const encoder = createHashedEncoder(
  randomWeights(
    passages.map(({ contents }) => contents),
    createRandom(0),
    { dimensions: 64 },
  ),
);

describe.skipIf(!isThere)(
  'Python (needs faiss, fastapi, uvicorn and requests: ENGINES names the bin folder of their environment)',
  () => {
    let server: ChildProcess;
    let url: string;
    let exact: Retriever;

    beforeAll(async () => {
      const vectors = await encodePassages(encoder, passages);
      exact = createDenseRetriever({ encoder, index: buildExactIndex(vectors), passages });
      const asked = await encoder.encode(queries, { kind: 'query' });
      const port = await freePort();
      url = `http://127.0.0.1:${port}/retrieve`;
      const file = join(temporaryFolder(), 'index.json');
      const data = {
        port,
        passages: passages.map(({ id, contents }) => ({ id, contents })),
        vectors: vectors.map((vector) => Array.from(vector)),
        queries: Object.fromEntries(queries.map((query, i) => [query, Array.from(asked[i])])),
      };
      writeFileSync(file, JSON.stringify(data));
      server = spawn(python!, [script, 'serve', file], { stdio: 'ignore' });
      while (server.exitCode === null && !(await fetch(url).catch(() => null))) await delay(200);
    }, 120_000);
    afterAll(() => void server?.kill());

    it('FAISS served over the protocol gives the results of an exact index', async () => {
      const expected = await exact.retrieve(queries, { topK: 5 });
      const remote = createRemoteRetriever({ url });
      for (const batchSize of [1, 16, 64]) {
        const options = { topK: 5, batchSize, maxConcurrency: 8 };
        const outcomes = await searchAll(remote, queries, options);
        for (const [i, outcome] of outcomes.entries()) {
          const found = outcome.status === 'ok' ? outcome.passages : [];
          expect(found.map(({ passage }) => passage)).toEqual(
            expected[i].map(({ passage }) => passage),
          );
          found.forEach(({ score }, rank) => expect(score).toBeCloseTo(expected[i][rank].score, 5));
        }
      }
    });

    it("Search-R1's generation loop accepts our server's answers", async () => {
      const ours = await startRetrievalServer(exact);
      const asked = queries.slice(0, 4);
      const { stdout } = await promisify(execFile)(python!, [script, 'ask', ours.url, ...asked]);
      await ours.close();
      const expected = await exact.retrieve(asked, { topK: 3 });
      expect(JSON.parse(stdout)).toEqual(
        expected.map((list) => list.map(({ passage: { title, text } }) => [title, text])),
      );
    });
  },
);
