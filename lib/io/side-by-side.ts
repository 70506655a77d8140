/**
 * Does `work` for every item in order, `width` of them at a time. After a failure no more are begun; those under way are
 * waited for, and the first failure is thrown.
 */
export async function sideBySide<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const goThrough = async (): Promise<void> => {
    try {
      while (next < items.length) await work(items[next++]);
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: width }, goThrough));
  const failed = lanes.find((lane) => lane.status === 'rejected');
  if (failed) throw failed.reason;
}
