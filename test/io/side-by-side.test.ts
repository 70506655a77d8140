import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sideBySide } from '../../lib/io/side-by-side.js';

describe('sideBySide', () => {
  it('begins in order and keeps to the width', async () => {
    const begun: number[] = [];
    let [underWay, most] = [0, 0];
    await sideBySide([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      most = Math.max(most, ++underWay);
      await sleep(2);
      underWay -= 1;
    });
    expect([begun, most, underWay]).toEqual([[1, 2, 3, 4, 5], 2, 0]);
  });

  it('begins nothing after a failure, and throws it once the others have ended', async () => {
    const ended: number[] = [];
    const run = sideBySide([1, 2, 3], 2, async (item) => {
      if (item === 1) throw new Error('no memory');
      await sleep(5);
      ended.push(item);
    });
    await expect(run).rejects.toThrow('no memory');
    expect(ended).toEqual([2]);
  });
});
