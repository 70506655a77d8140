/** The registry of retrievers. To add one, write its file and list it here. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readPassages, type Passage } from '../data/flashrag.js';
import { ENCODER, shortPath } from '../io/paths.js';
import { configHash } from '../io/provenance.js';
import { createRegistry, nameSchema } from '../registry.js';
import { ANALYZERS, DEFAULT_ANALYZER } from './analyzers.js';
import { defaultBm25Folder, hasBm25Index, openBm25Files, type Bm25Corpus } from './bm25-files.js';
import { createBm25Retriever } from './bm25.js';
import {
  corpusHash,
  createDenseRetriever,
  embedCorpus,
  encodePassages,
  type VectorSource,
} from './dense.js';
import { ENCODER_FILE, loadEncoder, type Encoder } from './encoder.js';
import { buildExactIndex, type VectorIndex } from './exact.js';
import { buildHnswIndex, loadHnswIndex } from './hnsw.js';
import { createMilvusRetriever, isMilvusAddress } from './milvus.js';
import { createRemoteRetriever } from './remote.js';
import type { Retriever } from './retriever.js';

export const DEFAULT_RETRIEVER = 'bm25';
export const TITLE_WEIGHT = 5;

export interface RetrieverOptions {
  /** How many times a word in the title counts in BM25. */
  titleWeight?: number;
  /** How BM25 splits texts into words: a name in {@link ANALYZERS}. */
  analyzer?: string;
  /** Folder of the dense encoder. Default: the small world's. */
  encoder?: string;
  /**
   * Folder for the vectors and graph of a Hugging Face encoder, or for BM25's index of a
   * passage file. Default: in `runs/indexes`.
   */
  index?: string;
  /** Stops the making of an index. */
  signal?: AbortSignal;
}

export interface RetrieverKind {
  readonly name: string;
  readonly create: (
    passages: readonly Passage[],
    options: RetrieverOptions,
  ) => Retriever | Promise<Retriever>;
  /**
   * Opens an index of a passage file whose passages stay on disk; undefined if the file
   * is small and has no index.
   */
  readonly open?: (file: string, options: RetrieverOptions) => Promise<Retriever | undefined>;
  /** Whether it compares the vectors of an encoder. */
  readonly isDense?: boolean;
}

/** In bytes. */
const LARGE = 100e6;

/** Whether a passage file (packed: a third of the text) needs an index on disk. */
export const isLargeFile = (file: string): boolean =>
  (statSync(file, { throwIfNoEntry: false })?.size ?? 0) * (file.endsWith('.gz') ? 3 : 1) >= LARGE;

export const bm25Corpus = (
  file: string,
  { titleWeight = TITLE_WEIGHT, analyzer = DEFAULT_ANALYZER }: RetrieverOptions,
): Bm25Corpus => ({ file, titleWeight, analyzer });

async function openBm25(file: string, options: RetrieverOptions): Promise<Retriever | undefined> {
  const corpus = bm25Corpus(file, options);
  const folder = options.index ?? defaultBm25Folder(corpus);
  const isIndexed = isLargeFile(file) || hasBm25Index(folder);
  return isIndexed ? openBm25Files(corpus, { folder, signal: options.signal }) : undefined;
}

/**
 * Opens a hashed encoder, or one in Hugging Face format.
 * @throws Error naming what is missing or unsupported
 */
export async function openEncoder(folder: string): Promise<Encoder> {
  if (existsSync(join(folder, ENCODER_FILE))) return loadEncoder(folder);
  if (!existsSync(join(folder, 'config.json')))
    throw new Error(
      `Expected an encoder in Hugging Face format, but there is no config.json in ${shortPath(folder)}. To get one: npx parallelsearch model multilingual-e5-small`,
    );
  const { loadBertEncoder } = await import('./bert.js'); // loads TensorFlow.js
  return loadBertEncoder(folder);
}

/** The files in an encoder's folder that can change its vectors. */
export const encoderFiles = (folder: string): string[] =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter((name) => /\.(json|safetensors)$/.test(name))
    .sort()
    .map((name) => join(folder, name));

interface Vectors {
  read: () => Promise<Float32Array[]>;
  /** Folder and source of the vectors, if cached on disk. */
  kept?: { folder: string; source: VectorSource };
}

/** The passages' vectors; those of the fast hashed encoder are not stored. */
function passageVectors(
  encoder: Encoder,
  passages: readonly Passage[],
  { index, signal }: { index?: string; signal?: AbortSignal },
): Vectors {
  const { hash } = encoder;
  if (hash === undefined) return { read: () => encodePassages(encoder, passages, { signal }) };
  const source = { corpus: corpusHash(passages), encoder: hash };
  const folder = index ?? join('runs', 'indexes', `${encoder.name}-${configHash(source)}`);
  const kept = { folder, source };
  return { read: () => embedCorpus(encoder, passages, { ...kept, signal }), kept };
}

const dense = (
  name: string,
  openIndex: (vectors: Vectors, signal?: AbortSignal) => Promise<VectorIndex>,
): RetrieverKind => ({
  name,
  isDense: true,
  create: async (passages, { encoder: folder = ENCODER, index, signal }) => {
    const encoder = await openEncoder(folder);
    const opened = await openIndex(passageVectors(encoder, passages, { index, signal }), signal);
    return createDenseRetriever({ encoder, index: opened, passages });
  },
});

/** Loads the graph from disk, or builds one and saves it with the vectors. */
async function openHnsw({ read, kept }: Vectors, signal?: AbortSignal): Promise<VectorIndex> {
  if (!kept) return buildHnswIndex(await read(), { signal });
  const path = join(kept.folder, 'graph.hnsw');
  if (existsSync(`${path}.json`)) return loadHnswIndex(path, { expected: kept.source });
  const graph = await buildHnswIndex(await read(), { signal });
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
      open: openBm25,
    },
    dense('exact', async ({ read }) => buildExactIndex(await read())),
    dense('hnsw', openHnsw),
  ],
  { orElse: ', or the address of a server' },
);

export const isAddress = (name: string): boolean =>
  /^https?:\/\//i.test(name) || isMilvusAddress(name);

/** Whether a retriever, a name or an address, compares the vectors of an encoder. */
export const isDense = (name: string): boolean =>
  isAddress(name) ? isMilvusAddress(name) : RETRIEVERS.get(name).isDense === true;

/** A retriever in a configuration: a name in the registry, or the address of a server. */
export const retrieverNameSchema = nameSchema(RETRIEVERS, isAddress);

/**
 * Creates a retriever over passages or over a passage file, which BM25 reads at any size.
 * @param name a name in the registry, or the address of a server with its own passages,
 * which gets the environment's RETRIEVAL_TOKEN: `http://...` for Search-R1's protocol,
 * `milvus://...` for a collection
 * @throws Error for an unknown name
 */
export async function createRetriever(
  name: string,
  passages: readonly Passage[] | string,
  options: RetrieverOptions = {},
): Promise<Retriever> {
  const token = process.env.RETRIEVAL_TOKEN;
  if (isMilvusAddress(name))
    return createMilvusRetriever(name, await openEncoder(options.encoder ?? ENCODER), { token });
  if (isAddress(name)) return createRemoteRetriever({ url: name, token });
  if (typeof passages !== 'string') return RETRIEVERS.get(name).create(passages, options);
  return (
    (await openIndex(name, passages, options)) ??
    RETRIEVERS.get(name).create(await readPassages(passages), options)
  );
}

/**
 * Opens a retriever over a passage file whose passages stay on disk; undefined if
 * retriever `name` has none, or the file is small and has no index.
 */
export const openIndex = async (
  name: string,
  file: string,
  options: RetrieverOptions,
): Promise<Retriever | undefined> =>
  isAddress(name) ? undefined : RETRIEVERS.get(name).open?.(file, options);
