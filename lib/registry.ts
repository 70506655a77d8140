import { z } from 'zod';

/** An extensible list of named items. */
export interface Registry<T> {
  names: () => string[];
  all: () => T[];
  has: (name: string) => boolean;
  /** @throws RangeError listing the known names */
  get: (name: string) => T;
  /** Adds an item. @throws RangeError if the name is taken */
  add: (item: T) => void;
  /** The error for an unknown name: lists the known ones. */
  unknownNameMessage: (name: string) => string;
}

interface RegistryOptions<T> {
  /** Suffix after the known names in the error. */
  orElse?: string;
  /** Called with every item, including the initial ones. */
  onAdd?: (item: T) => void;
}

/** @param kind what an item is called in errors, such as `method` */
export function createRegistry<T extends { readonly name: string }>(
  kind: string,
  items: readonly T[],
  { orElse = '', onAdd }: RegistryOptions<T> = {},
): Registry<T> {
  const byName = new Map<string, T>();
  const add = (item: T): void => {
    if (byName.has(item.name))
      throw new RangeError(
        `Expected a new name for a ${kind}, but there is a ${item.name} already.`,
      );
    byName.set(item.name, item);
    onAdd?.(item);
  };
  items.forEach(add);
  const unknownNameMessage = (name: string): string =>
    `Expected a ${kind} of ${[...byName.keys()].join(', ')}${orElse}, but got ${name}.`;
  return {
    names: () => [...byName.keys()],
    all: () => [...byName.values()],
    has: (name) => byName.has(name),
    get: (name) => {
      const item = byName.get(name);
      if (!item) throw new RangeError(unknownNameMessage(name));
      return item;
    },
    add,
    unknownNameMessage,
  };
}

/** The schema of a registered name. @param isOther accepts other values, too */
export const nameSchema = <T>(
  registry: Registry<T>,
  isOther: (name: string) => boolean = () => false,
) =>
  z
    .string()
    .refine((name) => registry.has(name) || isOther(name), {
      error: ({ input }) => registry.unknownNameMessage(String(input)),
    });
