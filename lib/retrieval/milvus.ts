/** Dense retrieval from Milvus, which stores passages, vectors and their HNSW graph. */
import { z } from 'zod';
import { type Passage, splitContents } from '../data/passage.js';
import { splitCredentials } from '../io/credentials.js';
import { tryParseJson } from '../io/json.js';
import { loadOptional } from '../io/optional.js';
import { corpusHash } from './dense.js';
import type { Encoder } from './encoder.js';
import { normalise } from './exact.js';
import type { HnswOptions } from './hnsw.js';
import { type Retriever, requireInteger } from './retriever.js';

/** Part of every answer; the client does not throw if the server refuses. */
interface Status {
  error_code: string | number;
  reason: string;
}
interface Collection {
  collection_name: string;
}
interface Row {
  id: string;
  contents: string;
  vector: number[];
}

interface Hit {
  id: string;
  score: number;
  contents: string;
}

export interface MilvusClient {
  connectPromise: Promise<unknown>;
  hasCollection(request: Collection): Promise<{ status: Status; value: boolean }>;
  describeCollection(
    request: Collection,
  ): Promise<{ status: Status; schema: { description: string } }>;
  createCollection(
    request: Collection & { description: string; fields: object[] },
  ): Promise<Status>;
  count(
    request: Collection & { consistency_level: number },
  ): Promise<{ status: Status; data: number }>;
  insert(request: Collection & { data: Row[] }): Promise<{ status: Status }>;
  upsert(request: Collection & { data: Row[] }): Promise<{ status: Status }>;
  flushSync(request: { collection_names: string[] }): Promise<{ status: Status }>;
  createIndex(
    request: Collection & {
      field_name: string;
      index_type: string;
      metric_type: string;
      params: object;
    },
  ): Promise<Status>;
  loadCollectionSync(request: Collection): Promise<Status>;
  search(
    request: Collection & {
      data: number[][];
      limit: number;
      output_fields: string[];
      params: object;
      consistency_level: number;
    },
  ): Promise<{ status: Status; results: Hit[] | Hit[][] }>;
  closeConnection(): unknown;
}

/** Milvus's consistency levels: whether a search waits to see all writes. */
const CONSISTENCY = { strong: 0, eventually: 3 };
/** Milvus's maximum text length in bytes. */
const MAX_BYTES = 65_535;
const BATCH_SIZE = 1000;
/** Number of candidates that HNSW keeps while it searches. */
const EF_SEARCH = 64;

const EXAMPLE = 'milvus://127.0.0.1:19530/passages';

export const isMilvusAddress = (name: string): boolean => name.startsWith('milvus:');

function parseAddress(text: string): { address: string; collection: string } {
  const [, address, collection] = /^milvus:\/\/([^/@\s]+)\/(\w+)$/.exec(text) ?? [];
  if (collection) return { address, collection };
  const { url } = splitCredentials(text);
  const fault = url === text ? url : `${url} with a password. Set RETRIEVAL_TOKEN to USER:PASSWORD`;
  throw new TypeError(
    `Expected the address of a collection, such as ${EXAMPLE}, but got ${fault}.`,
  );
}

/** @param token `user:password` or an API key */
function connect(address: string, token: string | undefined): MilvusClient {
  type Sdk = { MilvusClient: new (options: object) => MilvusClient };
  const { MilvusClient } = loadOptional<Sdk>('@zilliz/milvus2-sdk-node');
  return new MilvusClient({ address, token, logLevel: 'error' });
}

/** Returns the answer. @throws Error with the server's reason if it refused */
function checked<T extends Status | { status: Status }>(answer: T): T {
  const { error_code: code, reason } = 'status' in answer ? answer.status : answer;
  if (code === 'Success' || code === 0) return answer;
  throw new Error(`Expected Milvus to accept the request, but got: ${reason || code}.`);
}

/** The description of a collection. Old ones have no hashes. */
const manifestSchema = z.object({
  encoder: z.string(),
  dimensions: z.int(),
  numPassages: z.int(),
  passages: z.string().optional(),
  hash: z.string().optional(),
});

interface MilvusOptions {
  token?: string;
  /** Replaces the client of the optional package. */
  connect?: typeof connect;
}

const describeEncoder = (name: string, dimensions: number, hash?: string): string =>
  `${name} (${dimensions} dimensions${hash ? `, hash ${hash}` : ''})`;

async function readCollection(client: MilvusClient, collection: string, encoder: Encoder) {
  const { schema } = checked(await client.describeCollection({ collection_name: collection }));
  const { data: manifest } = manifestSchema.safeParse(tryParseJson(schema.description));
  if (!manifest)
    throw new Error(
      `Expected collection ${collection} to be built by \`index build\`, but it has other contents. Choose another name.`,
    );
  const { name, dimensions, hash } = encoder;
  // Hashes are compared if both have one.
  const expected = describeEncoder(name, dimensions, manifest.hash && hash);
  const actual = describeEncoder(manifest.encoder, manifest.dimensions, hash && manifest.hash);
  if (actual === expected) return manifest;
  throw new Error(
    `Expected collection ${collection} to be built with the encoder ${expected}, but it was built with ${actual}. Pass that encoder with --encoder, or build another collection.`,
  );
}

/**
 * Writes passages and their vectors to a collection and builds its HNSW graph; resumes if
 * interrupted.
 * @param onRows receives the number of passages written
 * @throws Error if the server is unreachable or refuses, or the collection has other
 * contents
 */
export async function buildMilvusCollection(
  target: string,
  passages: readonly Passage[],
  encoder: Encoder,
  options: MilvusOptions &
    Pick<HnswOptions, 'm' | 'efConstruction'> & {
      onRows?: (numRows: number) => void;
      signal?: AbortSignal;
    } = {},
): Promise<void> {
  const { m = 16, efConstruction = 200, onRows, signal } = options;
  requireInteger('m', m, 2);
  requireInteger('efConstruction', efConstruction);
  const long = passages.find(({ contents }) => Buffer.byteLength(contents) > MAX_BYTES);
  if (long)
    throw new RangeError(
      `Expected passages of at most ${MAX_BYTES} bytes, Milvus's limit, but ${long.id} has more. Shorten it.`,
    );
  const { address, collection } = parseAddress(target);
  const name = { collection_name: collection };
  const client = (options.connect ?? connect)(address, options.token);
  try {
    await client.connectPromise;
    const manifest = {
      encoder: encoder.name,
      dimensions: encoder.dimensions,
      hash: encoder.hash,
      numPassages: passages.length,
      passages: corpusHash(passages),
    };
    if (checked(await client.hasCollection(name)).value) {
      const stored = await readCollection(client, collection, encoder);
      if (stored.passages !== manifest.passages)
        throw new Error(
          `Expected collection ${collection} to hold these ${passages.length} passages, but it is for ${stored.numPassages} others. Choose another name.`,
        );
    } else {
      const fields = [
        { name: 'id', data_type: 'VarChar', is_primary_key: true, max_length: MAX_BYTES },
        { name: 'contents', data_type: 'VarChar', max_length: MAX_BYTES },
        { name: 'vector', data_type: 'FloatVector', dim: encoder.dimensions },
      ];
      checked(
        await client.createCollection({ ...name, description: JSON.stringify(manifest), fields }),
      );
    }
    // Both are idempotent; a killed build may lack them, a restarted server the second.
    checked(
      await client.createIndex({
        ...name,
        field_name: 'vector',
        index_type: 'HNSW',
        metric_type: 'IP',
        params: { M: m, efConstruction },
      }),
    );
    checked(await client.loadCollectionSync(name));
    const { data: numRows } = checked(
      await client.count({ ...name, consistency_level: CONSISTENCY.strong }),
    );
    const first = numRows - (numRows % BATCH_SIZE);
    for (let start = first; start < passages.length; start += BATCH_SIZE) {
      signal?.throwIfAborted();
      const batch = passages.slice(start, start + BATCH_SIZE);
      const vectors = await encoder.encode(
        batch.map(({ contents }) => contents),
        { kind: 'passage' },
      );
      const data = batch.map(({ id, contents }, i) => ({
        id,
        contents,
        vector: Array.from(normalise(vectors[i])),
      }));
      // A killed build may have written part of the batch.
      const rows = { ...name, data };
      checked(await (start === first && numRows > 0 ? client.upsert(rows) : client.insert(rows)));
      onRows?.(start + batch.length);
    }
    checked(await client.flushSync({ collection_names: [collection] }));
  } finally {
    await client.closeConnection();
  }
}

/**
 * A retriever over a collection made by {@link buildMilvusCollection}; score = cosine.
 * Sends all queries in one request.
 * @throws Error if the server is unreachable, or the collection is missing or built with
 * another encoder
 */
export async function createMilvusRetriever(
  source: string,
  encoder: Encoder,
  { token, connect: open = connect }: MilvusOptions = {},
): Promise<Retriever> {
  const { address, collection } = parseAddress(source);
  const name = { collection_name: collection };
  const client = open(address, token);
  await client.connectPromise;
  if (!checked(await client.hasCollection(name)).value)
    throw new Error(
      `Expected a collection ${collection} at ${address}, but there is none. Build it: npx parallelsearch index build --to ${source}`,
    );
  await readCollection(client, collection, encoder);
  checked(await client.loadCollectionSync(name));
  return {
    name: `${encoder.name}-milvus`,
    retrieve: async (queries, { topK, signal }) => {
      requireInteger('topK', topK);
      signal?.throwIfAborted();
      if (queries.length === 0) return [];
      const vectors = await encoder.encode(queries, { kind: 'query' });
      const { results } = checked(
        await client.search({
          ...name,
          data: vectors.map((vector) => Array.from(normalise(vector))),
          limit: topK,
          // Otherwise vectors are returned, too.
          output_fields: ['id', 'contents'],
          params: { ef: Math.max(EF_SEARCH, topK) },
          consistency_level: CONSISTENCY.eventually,
        }),
      );
      // For a single vector, the client returns a flat list.
      const lists = (queries.length === 1 ? [results] : results) as Hit[][];
      return lists.map((list) =>
        list.map(({ id, score, contents }) => ({
          passage: { id, contents, ...splitContents(contents) },
          score,
        })),
      );
    },
  };
}
