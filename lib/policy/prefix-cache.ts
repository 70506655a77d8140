/** What is kept between two calls of generation: the contexts of the first, which those of the second extend. */
import type { CacheBlock, Piece } from './key-value-cache.js';

/** Token ids whose keys and values are cached, a list a context, and where those lie. */
export interface PrefixCache {
  contexts: number[][];
  blocks: CacheBlock[];
  /** Of each context, the pieces of blocks that hold it. */
  pieces: Piece[][];
}

/**
 * What is cached of contexts that each extend a cached one, in their order; null when any extends none. The blocks stay those of the cache.
 */
export function extendedPrefix(
  cache: PrefixCache,
  contexts: readonly (readonly number[])[],
): PrefixCache | null {
  const count = cache.contexts.length;
  let next = 0;
  const matches = contexts.map((context) => {
    const isExtended = (cached: readonly number[]): boolean =>
      cached.length < context.length && cached.every((id, i) => context[i] === id);
    for (let tried = 0; tried < count; tried++) {
      const candidate = (next + tried) % count;
      if (isExtended(cache.contexts[candidate])) {
        next = candidate + 1;
        return candidate;
      }
    }
    return -1;
  });
  if (matches.includes(-1)) return null;
  return {
    contexts: matches.map((match) => cache.contexts[match]),
    blocks: cache.blocks,
    pieces: matches.map((match) => cache.pieces[match]),
  };
}
