/**
 * Milvus: a client that keeps collections in memory, and the real server if installed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { range } from 'd3-array';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { createDenseRetriever, encodePassages } from '../../lib/retrieval/dense.js';
import { createHashedEncoder } from '../../lib/retrieval/encoder.js';
import { buildExactIndex } from '../../lib/retrieval/exact.js';
import {
  buildMilvusCollection,
  createMilvusRetriever,
  isMilvusAddress,
  type MilvusClient,
} from '../../lib/retrieval/milvus.js';
import { TopK } from '../../lib/retrieval/retriever.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { randomWeights } from '../../tools/encoder/hashed-weights.js';
import { engineFile } from '../engines.js';
import { temporaryFolder } from '../folder.js';
import { freePort } from '../servers.js';
import { FILMS, makePassage, makePassages } from './passages.js';

type Row = Parameters<MilvusClient['insert']>[0]['data'][number];

const OK = { error_code: 'Success', reason: '' };
/** Collections of the in-memory client, and which are loaded (none after a restart). */
const stored = new Map<string, { description: string; rows: Map<string, Row> }>();
const loaded = new Set<string>();
const inMemory = (): MilvusClient => {
  const get = (request: { collection_name: string }) => stored.get(request.collection_name)!;
  const write: MilvusClient['insert'] = async (request) => {
    for (const row of request.data) get(request).rows.set(row.id, row);
    return { status: OK };
  };
  return {
    connectPromise: Promise.resolve(),
    hasCollection: async (request) => ({ status: OK, value: stored.has(request.collection_name) }),
    describeCollection: async (request) => ({ status: OK, schema: get(request) }),
    createCollection: async ({ collection_name: name, description }) => {
      stored.set(name, { description, rows: new Map() });
      return OK;
    },
    // For a collection that is not loaded, the client throws instead of a status.
    count: async (request) => {
      if (!loaded.has(request.collection_name)) throw new TypeError("reading 'count(*)'");
      return { status: OK, data: get(request).rows.size };
    },
    insert: write,
    upsert: write,
    flushSync: async () => ({ status: OK }),
    createIndex: async () => OK,
    loadCollectionSync: async (request) => {
      loaded.add(request.collection_name);
      return OK;
    },
    search: async ({ data, limit, ...request }) => {
      const rows = [...get(request).rows.values()];
      const lists = data.map((query) => {
        const top = new TopK(limit);
        const score = ({ vector }: Row) => vector.reduce((sum, x, d) => sum + x * query[d], 0);
        rows.forEach((row, i) => top.offer(i, score(row)));
        return top.best.map(({ index, score }) => ({ ...rows[index], score }));
      });
      return { status: OK, results: lists.length === 1 ? lists[0] : lists };
    },
    closeConnection: () => undefined,
  };
};

/** As after a restart of the server. */
async function release(address: string, collection: string): Promise<void> {
  const { MilvusClient } = await import('@zilliz/milvus2-sdk-node');
  const client = new MilvusClient({ address });
  await client.releaseCollection({ collection_name: collection });
  await client.closeConnection();
}

const texts = FILMS.map(({ contents }) => contents);
const encoder = createHashedEncoder(randomWeights(texts, createRandom(0), { dimensions: 32 }));
// ENGINES names its folder.
const server = engineFile('milvus-server');
const root = temporaryFolder();

describe.each([
  { name: 'in memory', isReal: false },
  { name: 'in Milvus (needs milvus-server)', isReal: true },
])('a collection $name', ({ isReal }) => {
  const options = isReal ? {} : { connect: inMemory };
  let process: ChildProcess | undefined;
  let address = '127.0.0.1:19530';
  beforeAll(async () => {
    if (!isReal || !server) return;
    const port = await freePort();
    address = `127.0.0.1:${port}`;
    const folder = ['--data', join(root, 'milvus'), '--proxy-port', String(port)];
    process = spawn(server, folder, { stdio: 'ignore' });
    const answers = (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = createConnection(port, '127.0.0.1', () =>
          resolve(socket.destroy().destroyed),
        );
        socket.on('error', () => resolve(false));
      });
    while (!(await answers())) await delay(500);
  }, 300_000);
  afterAll(() => void process?.kill('SIGINT'));
  const at = (collection: string): string => `milvus://${address}/${collection}`;

  it.skipIf(isReal && !server)(
    'gives the results of an exact index',
    async () => {
      const counts: number[] = [];
      const onRows = (numRows: number): void => void counts.push(numRows);
      await buildMilvusCollection(at('films'), FILMS, encoder, { ...options, onRows });
      expect(counts).toEqual([FILMS.length]);
      const retriever = await createMilvusRetriever(at('films'), encoder, options);
      expect(retriever.name).toBe('hashed-milvus');
      const index = buildExactIndex(await encodePassages(encoder, FILMS));
      const exact = createDenseRetriever({ encoder, index, passages: FILMS });
      for (const queries of [['Tarkovsky film', 'capital of Estonia'], ['Amélie'], []]) {
        const found = await retriever.retrieve(queries, { topK: 3 });
        const expected = await exact.retrieve(queries, { topK: 3 });
        const near = (score: number) => expect.closeTo(score, 5) as number;
        expect(found).toEqual(
          expected.map((list) => list.map((one) => ({ ...one, score: near(one.score) }))),
        );
      }
    },
    300_000,
  );

  it.skipIf(isReal && !server)(
    'resumes, and rejects another corpus or encoder',
    async () => {
      const passages = makePassages(range(2500).map((i) => `Number ${i}\nIs ${i}.`));
      const controller = new AbortController();
      const counts: number[] = [];
      const onRows = (numRows: number): void => {
        counts.push(numRows);
        if (numRows === 1000) controller.abort(new Error('enough'));
      };
      const build = (from: typeof FILMS, signal?: AbortSignal): Promise<void> =>
        buildMilvusCollection(at('numbers'), from, encoder, { ...options, onRows, signal });
      await expect(build(passages, controller.signal)).rejects.toThrow('enough');
      if (isReal) await release(address, 'numbers');
      else loaded.clear();
      await build(passages);
      expect(counts).toEqual([1000, 2000, 2500]);
      const open = (name: string, own = encoder) => createMilvusRetriever(at(name), own, options);
      const retriever = await open('numbers');
      const [[{ passage }]] = await retriever.retrieve(['Number 2499'], { topK: 1 });
      expect(passage.id).toBe('p2499');
      await expect(build(FILMS)).rejects.toThrow(/5 passages.*2500/);
      const edited = [makePassage('p0', 'Number 0\nIs nil.'), ...passages.slice(1)];
      await expect(build(edited)).rejects.toThrow('others');
      const other = open('numbers', { ...encoder, name: 'e5' });
      await expect(other).rejects.toThrow(/e5 \(32 .*hashed \(32 dimensions\)/);
      // As with two models of one size, each in a folder of this name.
      const [first, second] = ['a', 'b'].map((hash) => ({ ...encoder, hash }));
      await buildMilvusCollection(at('hashed'), FILMS, first, options);
      expect((await open('hashed', first)).name).toBe('hashed-milvus');
      await expect(open('hashed', second)).rejects.toThrow(/hash b\).*hash a\)/);
      // Built before hashes were stored.
      expect((await open('numbers', second)).name).toBe('hashed-milvus');
      await expect(open('none')).rejects.toThrow('parallelsearch index build --to');
    },
    300_000,
  );
});

describe('Milvus', () => {
  it('needs an address with host, port and collection', async () => {
    expect(isMilvusAddress('milvus://a:1/b')).toBe(true);
    expect(isMilvusAddress('http://a:1/b')).toBe(false);
    const expected = 'milvus://127.0.0.1:19530/passages';
    for (const rest of ['//a:1', '//a:1/', 'a', '//u:p@a:1/b', '//a/b-c'])
      await expect(createRetriever(`milvus:${rest}`, [])).rejects.toThrow(expected);
    await expect(createRetriever('milvus://u:p@a:1/b', [])).rejects.toThrow(
      'but got milvus://a:1/b with a password. Set RETRIEVAL_TOKEN to USER:PASSWORD.',
    );
  });

  it("rejects passages over Milvus's limit", async () => {
    const long = [makePassage('long', 'x'.repeat(70_000))];
    const built = buildMilvusCollection('milvus://a:1/b', long, encoder, { connect: inMemory });
    await expect(built).rejects.toThrow(/65535 bytes.*long/);
  });

  it("reports the server's reason", async () => {
    const refusal = { error_code: 'UnexpectedError', reason: 'disk is full' };
    const full = (): MilvusClient => ({ ...inMemory(), insert: async () => ({ status: refusal }) });
    const built = buildMilvusCollection('milvus://a:1/full', FILMS, encoder, { connect: full });
    await expect(built).rejects.toThrow('disk is full');
  });
});
