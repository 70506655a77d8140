/** A function that computes its value once per object, and forgets it with the object. */
export function memoised<Key extends object, T>(compute: (key: Key) => T): (key: Key) => T {
  const values = new WeakMap<Key, { value: T }>();
  return (key) => {
    let entry = values.get(key);
    if (!entry) values.set(key, (entry = { value: compute(key) }));
    return entry.value;
  };
}

/** A function that computes its value once per combination of names. */
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
