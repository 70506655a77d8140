/** The retrievers by name. A new one is its file and its line here. */
import type { Passage } from '../data/question.js';
import { ENCODER } from '../io/paths.js';
import { createRegistry, nameSchema } from '../registry.js';
import { createBm25Retriever } from './bm25.js';
import { createDenseRetriever, encodePassages } from './dense.js';
import { loadEncoder } from './encoder-file.js';
import { buildExactIndex, type VectorIndex } from './exact.js';
import { buildHnswIndex } from './hnsw.js';
import { createMilvusRetriever, isMilvusAddress } from './milvus.js';
import { createRemoteRetriever } from './remote.js';
import type { Retriever } from './retriever.js';

export const DEFAULT_RETRIEVER = 'bm25';
/** Weight of a title's words in BM25 unless a configuration says otherwise. */
export const TITLE_WEIGHT = 5;

export interface RetrieverOptions {
  /** Weight of a title's words in BM25. */
  titleWeight?: number;
  /** Folder of the encoder of dense retrievers; default: the small world's. */
  encoder?: string;
}

export interface RetrieverKind {
  /** On the command line and in configurations. */
  readonly name: string;
  readonly create: (
    passages: readonly Passage[],
    options: RetrieverOptions,
  ) => Retriever | Promise<Retriever>;
}

type BuildIndex = (vectors: readonly Float32Array[]) => VectorIndex | Promise<VectorIndex>;

const dense = (name: string, buildIndex: BuildIndex): RetrieverKind => ({
  name,
  create: async (passages, { encoder: folder = ENCODER }) => {
    const encoder = await loadEncoder(folder);
    const index = await buildIndex(await encodePassages(encoder, passages));
    return createDenseRetriever({ encoder, index, passages });
  },
});

export const RETRIEVERS = createRegistry<RetrieverKind>(
  'retriever',
  [
    {
      name: 'bm25',
      create: (passages, { titleWeight = TITLE_WEIGHT }) => createBm25Retriever(passages, { titleWeight }),
    },
    dense('exact', buildExactIndex),
    dense('hnsw', (vectors) => buildHnswIndex(vectors)),
  ],
  { orElse: ', or the address of a server' },
);

/** Whether a retriever's name is the address of a server. */
export const isAddress = (name: string): boolean => /^https?:\/\//.test(name) || isMilvusAddress(name);

/** A retriever's name in a configuration: one of the registry, or the address of a server. */
export const retrieverNameSchema = nameSchema(RETRIEVERS, isAddress);

/**
 * A retriever over passages.
 * @param name one of the registry, or the address of a server that has passages of its own and gets the environment's RETRIEVAL_TOKEN
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
    return createMilvusRetriever(name, await loadEncoder(options.encoder ?? ENCODER), { token });
  if (isAddress(name)) return createRemoteRetriever({ url: name, token });
  return RETRIEVERS.get(name).create(passages, options);
}
