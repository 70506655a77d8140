import { rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { readJson, writeFileSafely } from '../io/files.js';
import { contentHash } from '../io/hash.js';
import { loadOptional } from '../io/optional.js';
import { shortPath } from '../io/paths.js';
import { commonDimensions, normalise, requireDimensions, type VectorIndex } from './exact.js';
import { requireInteger } from './top-k.js';

export interface HnswOptions {
  /** Links of a node in each layer; default 16. */
  m?: number;
  /** Candidates kept while building; default 200. */
  efConstruction?: number;
  /** Candidates kept while searching (raised to topK where that is larger); default 64. */
  efSearch?: number;
  /** Seed of the layers' random heights; default 100. */
  seed?: number;
}

/** An HNSW graph (Malkov and Yashunin 2016); searches run one after another on the calling thread. */
export interface HnswIndex extends VectorIndex {
  /** Writes the graph to `path`, then its dimensions, settings and hash to `path` + '.json', each whole or not at all. */
  save(path: string): Promise<void>;
}

/** The part of hnswlib-node that is used here. */
interface HierarchicalNSW {
  initIndex(options: { maxElements: number; m?: number; efConstruction?: number; randomSeed?: number }): void;
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

const description = z.strictObject({
  space: z.literal('ip'),
  size: z.int().min(1),
  dimensions: z.int().min(1),
  efSearch: z.int().min(1),
  hash: z.string(),
});

/** Builds an HNSW index over unit-length copies of the vectors. Needs the optional package hnswlib-node. */
export async function buildHnswIndex(
  vectors: readonly Float32Array[],
  options: HnswOptions = {},
): Promise<HnswIndex> {
  const { m = 16, efConstruction = 200, efSearch = 64, seed = 100 } = options;
  requireInteger('m', m, 2);
  requireInteger('efConstruction', efConstruction);
  requireInteger('efSearch', efSearch);
  const dimensions = commonDimensions(vectors);
  const graph = newGraph(dimensions);
  graph.initIndex({ maxElements: vectors.length, m, efConstruction, randomSeed: seed });
  // The binding takes plain arrays only.
  vectors.forEach((vector, i) => graph.addPoint(Array.from(normalise(vector)), i));
  return wrapGraph(graph, { size: vectors.length, dimensions, efSearch });
}

/**
 * Loads what `save` wrote. `efSearch` overrides the stored setting.
 * @throws Error for a graph that is missing, damaged, or of another description, as where `save` was cut short
 */
export async function loadHnswIndex(
  path: string,
  options: Pick<HnswOptions, 'efSearch'> = {},
): Promise<HnswIndex> {
  const stored = description.parse(await readJson(`${path}.json`));
  if ((await contentHash([path])) !== stored.hash)
    throw new Error(
      `Expected ${shortPath(path)} to be the graph that ${shortPath(path)}.json describes, but it is not. Build the index again.`,
    );
  const graph = newGraph(stored.dimensions);
  await graph.readIndex(path);
  if (graph.getCurrentCount() !== stored.size) {
    throw new Error(`Expected ${stored.size} vectors in ${path}, but got ${graph.getCurrentCount()}.`);
  }
  const efSearch = options.efSearch ?? stored.efSearch;
  requireInteger('efSearch', efSearch);
  return wrapGraph(graph, { ...stored, efSearch });
}

function wrapGraph(
  graph: HierarchicalNSW,
  { size, dimensions, efSearch }: { size: number; dimensions: number; efSearch: number },
): HnswIndex {
  return {
    name: 'hnsw',
    size,
    dimensions,
    search: (vector, topK) => {
      requireInteger('topK', topK);
      requireDimensions(vector, dimensions);
      const wanted = Math.min(topK, size);
      // Set for every search: a loaded graph falls back to 10.
      graph.setEf(Math.max(efSearch, wanted));
      const { neighbors, distances } = graph.searchKnn(Array.from(normalise(vector)), wanted);
      return neighbors
        .map((index, i) => ({ index, score: 1 - distances[i] }))
        .sort((a, b) => b.score - a.score || a.index - b.index);
    },
    save: async (path) => {
      const aside = `${path}.${process.pid}.partial`;
      try {
        await graph.writeIndex(aside);
        const hash = await contentHash([aside]);
        await rename(aside, path);
        const stored = { space: 'ip', size, dimensions, efSearch, hash };
        await writeFileSafely(`${path}.json`, `${JSON.stringify(stored)}\n`);
      } finally {
        await rm(aside, { force: true });
      }
    },
  };
}
