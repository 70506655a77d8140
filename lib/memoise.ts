/** Caches a function's value per object, for as long as the object exists. */
export function memoised<Key extends object, T>(compute: (key: Key) => T): (key: Key) => T {
  const values = new WeakMap<Key, { value: T }>();
  return (key) => {
    let entry = values.get(key);
    if (!entry) values.set(key, (entry = { value: compute(key) }));
    return entry.value;
  };
}

/** Caches a function's value per combination of names. */
export function memoisedByNames<Names extends string[], T>(
  compute: (...names: Names) => T,
): (...names: Names) => T {
  const values = new Map<string, T>();
  return (...names) => {
    const key = JSON.stringify(names);
    if (!values.has(key)) values.set(key, compute(...names));
    return values.get(key)!;
  };
}
