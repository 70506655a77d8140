/** A function that computes its value once for each object, as long as that lives. */
export function memoised<Key extends object, T>(compute: (key: Key) => T): (key: Key) => T {
  const values = new WeakMap<Key, { value: T }>();
  return (key) => {
    let known = values.get(key);
    if (!known) values.set(key, (known = { value: compute(key) }));
    return known.value;
  };
}
