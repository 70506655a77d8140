import { requireInteger } from './top-k.js';

/** A map that forgets the least recently used entry beyond its capacity. */
export interface LruCache<V> {
  readonly size: number;
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  clear(): void;
}

/** Makes an LRU cache of at most `capacity` entries. */
export function createLruCache<V>(capacity: number): LruCache<V> {
  requireInteger('capacity', capacity);
  const entries = new Map<string, V>(); // least recently used first
  return {
    get size() {
      return entries.size;
    },
    get: (key) => {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set: (key, value) => {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > capacity) entries.delete(entries.keys().next().value!);
    },
    clear: () => entries.clear(),
  };
}
