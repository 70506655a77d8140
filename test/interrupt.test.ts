import { describe, expect, it } from 'vitest';
import { createBreather } from '../lib/interrupt.js';

describe('createBreather', () => {
  it('lets timers run during synchronous work', async () => {
    const breathe = createBreather();
    let hasFired = false;
    setTimeout(() => (hasFired = true), 0);
    const end = performance.now() + 5000;
    while (!hasFired && performance.now() < end) await breathe();
    expect(hasFired).toBe(true);
  });

  it('lets timers run between tasks that are each too short to yield', async () => {
    let hasFired = false;
    setTimeout(() => (hasFired = true), 0);
    const end = performance.now() + 5000;
    while (!hasFired && performance.now() < end) await createBreather()();
    expect(hasFired).toBe(true);
  });

  it('throws the reason of a signal aborted in the meantime', async () => {
    const controller = new AbortController();
    const breathe = createBreather(controller.signal);
    setTimeout(() => controller.abort(new Error('enough')), 0);
    const work = async (): Promise<void> => {
      for (const end = performance.now() + 5000; performance.now() < end; ) await breathe();
    };
    await expect(work()).rejects.toThrow('enough');
  });
});
