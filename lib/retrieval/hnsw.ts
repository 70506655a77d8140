import { rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { createBreather, interruptSignal } from '../interrupt.js';
import { partialPath, writeFileSafely } from '../io/files.js';
import { loadOptional } from '../io/optional.js';
import { shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { contentHash } from '../io/provenance.js';
import { readManifest, requireSame, sourceSchema, type VectorSource } from './dense.js';
import { commonDimensions, normalise, requireDimensions, type VectorIndex } from './exact.js';
import { requireInteger } from './retriever.js';

export interface HnswOptions {
  /** Links per node and layer. Default: 16. */
  m?: number;
  /** Candidates kept while building. Default: 200. */
  efConstruction?: number;
  /** Candidates kept while searching, at least topK. Default: 64. */
  efSearch?: number;
  /** Seed of the nodes' random heights. Default: 100. */
  seed?: number;
}

/** An HNSW graph (Malkov and Yashunin 2016). Searches block the calling thread. */
export interface HnswIndex extends VectorIndex {
  /** Writes the graph to `path` and its manifest to `path` + '.json', each atomically. */
  save(path: string, source?: VectorSource): Promise<void>;
}

interface HierarchicalNSW {
  initIndex(options: {
    maxElements: number;
    m?: number;
    efConstruction?: number;
    randomSeed?: number;
  }): void;
  addPoint(point: number[], label: number): void;
  searchKnn(point: number[], topK: number): { neighbors: number[]; distances: number[] };
  setEf(ef: number): void;
  getCurrentCount(): number;
  readIndex(path: string): Promise<boolean>;
  writeIndex(path: string): Promise<boolean>;
}

const newGraph = (dimensions: number): HierarchicalNSW => {
  type Hnswlib = { HierarchicalNSW: new (space: 'ip', dimensions: number) => HierarchicalNSW };
  return new (loadOptional<Hnswlib>('hnswlib-node').HierarchicalNSW)('ip', dimensions);
};

const manifestSchema = z.strictObject({
  space: z.literal('ip'),
  size: z.int().min(1),
  dimensions: z.int().min(1),
  efSearch: z.int().min(1),
  hash: z.string(),
  m: z.int().min(2),
  efConstruction: z.int().min(1),
  seed: z.int(),
  source: sourceSchema.optional(),
});
type Manifest = Omit<z.infer<typeof manifestSchema>, 'space' | 'source' | 'hash'>;

/** Larger graphs are built with a progress bar. */
const SILENT_SIZE = 5000;

/** Builds an HNSW index of normalised vectors. Needs hnswlib-node. */
export async function buildHnswIndex(
  vectors: readonly Float32Array[],
  options: HnswOptions & { signal?: AbortSignal } = {},
): Promise<HnswIndex> {
  const { m = 16, efConstruction = 200, efSearch = 64, seed = 100 } = options;
  requireInteger('m', m, 2);
  requireInteger('efConstruction', efConstruction);
  requireInteger('efSearch', efSearch);
  const dimensions = commonDimensions(vectors);
  const size = vectors.length;
  const graph = newGraph(dimensions);
  graph.initIndex({ maxElements: size, m, efConstruction, randomSeed: seed });
  const progress = size > SILENT_SIZE ? startProgress('Building the HNSW graph', size) : undefined;
  const breathe = createBreather(interruptSignal(options.signal));
  try {
    for (const [i, vector] of vectors.entries()) {
      // The binding only accepts plain arrays.
      graph.addPoint(Array.from(normalise(vector)), i);
      await breathe();
      progress?.update(i + 1);
    }
  } finally {
    progress?.stop();
  }
  return wrapGraph(graph, { size, dimensions, efSearch, m, efConstruction, seed });
}

/**
 * Loads a saved index.
 * @param options.efSearch overrides the stored setting
 * @param options.expected the source and settings that the graph must have
 * @throws Error naming what differs, or a graph that is missing or damaged
 */
export async function loadHnswIndex(
  path: string,
  options: Pick<HnswOptions, 'efSearch'> & { expected?: VectorSource & Partial<HnswOptions> } = {},
): Promise<HnswIndex> {
  const { space: _, source, hash, ...stored } = await readManifest(`${path}.json`, manifestSchema);
  if ((await contentHash([path])) !== hash)
    throw new Error(
      `Expected ${shortPath(path)} to be the graph that ${shortPath(path)}.json describes, but its hash differs. Build the index again.`,
    );
  requireSame(path, { ...stored, ...source }, options.expected ?? {});
  const graph = newGraph(stored.dimensions);
  await graph.readIndex(path);
  if (graph.getCurrentCount() !== stored.size) {
    throw new Error(
      `Expected ${stored.size} vectors in ${path}, but got ${graph.getCurrentCount()}.`,
    );
  }
  const efSearch = options.efSearch ?? stored.efSearch;
  requireInteger('efSearch', efSearch);
  return wrapGraph(graph, { ...stored, efSearch });
}

function wrapGraph(graph: HierarchicalNSW, manifest: Manifest): HnswIndex {
  const { size, dimensions, efSearch } = manifest;
  return {
    name: 'hnsw',
    size,
    dimensions,
    search: (vector, topK) => {
      requireInteger('topK', topK);
      requireDimensions(vector, dimensions);
      const count = Math.min(topK, size);
      // Set before every search, because loading resets ef to 10.
      graph.setEf(Math.max(efSearch, count));
      const { neighbors, distances } = graph.searchKnn(Array.from(normalise(vector)), count);
      return neighbors
        .map((index, i) => ({ index, score: 1 - distances[i] }))
        .sort((a, b) => b.score - a.score || a.index - b.index);
    },
    save: async (path, source) => {
      const partial = partialPath(path);
      try {
        await graph.writeIndex(partial);
        const hash = await contentHash([partial]);
        await rename(partial, path);
        await writeFileSafely(
          `${path}.json`,
          `${JSON.stringify({ space: 'ip', ...manifest, source, hash })}\n`,
        );
      } finally {
        await rm(partial, { force: true });
      }
    },
  };
}
