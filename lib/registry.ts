/** A plain list of things that have names, to which one's own can be added. */
export interface Registry<T> {
  names: () => string[];
  all: () => T[];
  has: (name: string) => boolean;
  /** @throws RangeError that lists the known names */
  get: (name: string) => T;
  /** Adds one's own. @throws RangeError when the name is taken */
  add: (item: T) => void;
}

/** @param kind what one of them is called in errors, such as `method` */
export function createRegistry<T extends { readonly name: string }>(
  kind: string,
  items: readonly T[],
): Registry<T> {
  const byName = new Map(items.map((item) => [item.name, item]));
  return {
    names: () => [...byName.keys()],
    all: () => [...byName.values()],
    has: (name) => byName.has(name),
    get: (name) => {
      const item = byName.get(name);
      if (!item)
        throw new RangeError(`Expected a ${kind} of ${[...byName.keys()].join(', ')}, but got ${name}.`);
      return item;
    },
    add: (item) => {
      if (byName.has(item.name))
        throw new RangeError(
          `Expected a new name for a ${kind}, but got ${item.name}, which there is already.`,
        );
      byName.set(item.name, item);
    },
  };
}
