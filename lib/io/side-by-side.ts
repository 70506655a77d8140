import pLimit from 'p-limit';

/**
 * Does `work` for every item in order, `width` of them at a time. After a failure no
 * more are begun; those under way are waited for, and the first failure is thrown.
 */
export async function sideBySide<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await pLimit(width).map(items, async (item) => {
    if (failures.length === 0) await work(item).catch((error: unknown) => failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}
