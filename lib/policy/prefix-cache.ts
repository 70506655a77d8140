/**
 * What contexts of generation have in common: with each other, and with those of the call
 * before, which they extend.
 */
import type { CacheBlock, Piece } from './key-value-cache.js';

/** Token ids whose keys and values are cached, a list a context, and where those lie. */
export interface PrefixCache {
  contexts: number[][];
  blocks: CacheBlock[];
  /** Of each context, the pieces of blocks that hold it. */
  pieces: Piece[][];
}

/**
 * What is cached of contexts that each extend a cached one, in their order; null when
 * any extends none. The blocks stay those of the cache.
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

/** Of each item the index of the first that is equal. */
export function firstEqual(items: readonly (readonly number[])[]): number[] {
  const seen = new Map<string, number>();
  return items.map((item, i) => {
    const key = item.join();
    if (!seen.has(key)) seen.set(key, i);
    return seen.get(key)!;
  });
}

/** How many tokens all items begin with alike, short of the last of any. */
export function sharedLength(items: readonly (readonly number[])[]): number {
  const [first, ...others] = items;
  const most = Math.min(...items.map(({ length }) => length - 1));
  let length = 0;
  while (length < most && others.every((other) => other[length] === first[length])) length++;
  return length;
}
