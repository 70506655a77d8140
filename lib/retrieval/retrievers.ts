/** The retrievers by name. A new one is its file and its line here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Passage } from '../data/question.js';
import { ENCODER } from '../io/paths.js';
import { createRegistry, nameSchema } from '../registry.js';
import { ANALYZERS, DEFAULT_ANALYZER } from './words.js';
import type { FileEncoder } from './bert.js';
import { createBm25Retriever } from './bm25.js';
import {
  type VectorSource,
  corpusHash,
  createDenseRetriever,
  embedCorpus,
  encodePassages,
} from './dense.js';
import { type Encoder, loadEncoder } from './encoder.js';
import { buildExactIndex, type VectorIndex } from './exact.js';
import { buildHnswIndex, loadHnswIndex } from './hnsw.js';
import { createMilvusRetriever, isMilvusAddress } from './milvus.js';
import { createRemoteRetriever } from './remote.js';
import type { Retriever } from './retriever.js';
import { configHash } from '../io/provenance.js';

export const DEFAULT_RETRIEVER = 'bm25';
/** Weight of a title's words in BM25 unless a configuration says otherwise. */
export const TITLE_WEIGHT = 5;

export interface RetrieverOptions {
  /** Weight of a title's words in BM25. */
  titleWeight?: number;
  /** How BM25 makes words of texts: a name of {@link ANALYZERS}. */
  analyzer?: string;
  /**
   * Folder of the encoder of dense retrievers, of this project or in Hugging Face format;
   * default: the small world's.
   */
  encoder?: string;
  /**
   * Folder in which vectors of a Hugging Face encoder, and an HNSW graph of them, are
   * kept; by default one in `runs/indexes`.
   */
  index?: string;
}

export interface RetrieverKind {
  /** On the command line and in configurations. */
  readonly name: string;
  readonly create: (
    passages: readonly Passage[],
    options: RetrieverOptions,
  ) => Retriever | Promise<Retriever>;
}

/**
 * An encoder of this project, or one in Hugging Face format. @throws Error naming what is
 * missing or not supported
 */
export async function openEncoder(folder: string): Promise<Encoder | FileEncoder> {
  if (!existsSync(join(folder, 'config.json'))) return loadEncoder(folder);
  const { loadBertEncoder } = await import('./bert.js'); // and TensorFlow.js
  return loadBertEncoder(folder);
}

/** Vectors to search, and where an index of them is kept, if it is kept. */
interface Vectors {
  read: () => Promise<Float32Array[]>;
  kept?: { folder: string; source: VectorSource };
}

/**
 * The vectors of an encoder of this project are made anew every time, which is quick;
 * those of others are kept on disk.
 */
function vectorsOf(
  encoder: Encoder | FileEncoder,
  passages: readonly Passage[],
  index: string | undefined,
): Vectors {
  if (!('hash' in encoder)) return { read: () => encodePassages(encoder, passages) };
  const source = { corpus: corpusHash(passages), encoder: encoder.hash };
  const folder = index ?? join('runs', 'indexes', `${encoder.name}-${configHash(source)}`);
  const kept = { folder, source };
  return { read: () => embedCorpus(encoder, passages, kept), kept };
}

const dense = (
  name: string,
  openIndex: (vectors: Vectors) => Promise<VectorIndex>,
): RetrieverKind => ({
  name,
  create: async (passages, { encoder: folder = ENCODER, index }) => {
    const encoder = await openEncoder(folder);
    const opened = await openIndex(vectorsOf(encoder, passages, index));
    return createDenseRetriever({ encoder, index: opened, passages });
  },
});

/** The graph that is kept, or a new one, kept where vectors are. */
async function openHnsw({ read, kept }: Vectors): Promise<VectorIndex> {
  if (!kept) return buildHnswIndex(await read());
  const path = join(kept.folder, 'graph.hnsw');
  if (existsSync(`${path}.json`)) return loadHnswIndex(path, { expected: kept.source });
  const graph = await buildHnswIndex(await read());
  await graph.save(path, kept.source);
  return graph;
}

export const RETRIEVERS = createRegistry<RetrieverKind>(
  'retriever',
  [
    {
      name: 'bm25',
      create: (passages, { titleWeight = TITLE_WEIGHT, analyzer = DEFAULT_ANALYZER }) =>
        createBm25Retriever(passages, { titleWeight, analyze: ANALYZERS.get(analyzer).analyze }),
    },
    dense('exact', async ({ read }) => buildExactIndex(await read())),
    dense('hnsw', openHnsw),
  ],
  { orElse: ', or the address of a server' },
);

/** Whether a retriever's name is the address of a server. */
export const isAddress = (name: string): boolean =>
  /^https?:\/\//.test(name) || isMilvusAddress(name);

/**
 * A retriever's name in a configuration: one of the registry, or the address of a server.
 */
export const retrieverNameSchema = nameSchema(RETRIEVERS, isAddress);

/**
 * A retriever over passages.
 * @param name one of the registry, or the address of a server that has passages of its
 * own and gets the environment's RETRIEVAL_TOKEN
 *   where there is one: `http://...` of one that speaks Search-R1's protocol, `milvus://...` of a collection
 * @throws Error for an unknown name
 */
export async function createRetriever(
  name: string,
  passages: readonly Passage[],
  options: RetrieverOptions = {},
): Promise<Retriever> {
  const token = process.env.RETRIEVAL_TOKEN;
  if (isMilvusAddress(name))
    return createMilvusRetriever(name, await openEncoder(options.encoder ?? ENCODER), { token });
  if (isAddress(name)) return createRemoteRetriever({ url: name, token });
  return RETRIEVERS.get(name).create(passages, options);
}
