/**
 * An entry of a table by a key that others choose; never one of `Object`, such as
 * `constructor`.
 */
export const ownValue = <T>(
  table: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (table && Object.hasOwn(table, key) ? table[key] : undefined);
