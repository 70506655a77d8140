import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { serve, startWorker, type Worker } from '../../lib/io/worker.js';

/** A worker runs compiled code: without a build there is none to test. */
const isBuilt = existsSync(new URL('../../dist/io/worker.js', import.meta.url));
const ECHO = new URL('../fixtures/echo-worker.mjs', import.meta.url).href;

interface Reply {
  pid: number;
  value: unknown;
}
type Request =
  | { kind: 'echo'; value?: unknown; notes?: number[] }
  | { kind: 'throw'; message: string }
  | { kind: 'exit'; code: number }
  | { kind: 'env'; name: string };

describe.skipIf(!isBuilt)('startWorker (skipped without dist/: npm run build)', () => {
  let worker: Worker<Request, Reply, number>;
  const start = (env?: Record<string, string>): void => {
    worker = startWorker<Request, Reply, number>(ECHO, env);
  };
  const ask = async (request: Request, onNote?: (note: number) => void): Promise<Reply> =>
    (await worker.send(request, onNote)).reply;
  afterEach(() => worker.stop());

  it('answers from another process, request after request, typed arrays included', async () => {
    start();
    const first = await ask({
      kind: 'echo',
      value: { x: Float32Array.of(1.5, -2), deep: [1, 'a', null] },
    });
    expect(first.value).toEqual({ x: Float32Array.of(1.5, -2), deep: [1, 'a', null] });
    expect(first.pid).not.toBe(process.pid);
    const second = await ask({ kind: 'echo', value: 2 });
    expect(second).toEqual({ pid: first.pid, value: 2 });
  });

  it('passes on notes before the reply, to their own request alone', async () => {
    start();
    const [first, second]: number[][] = [[], []];
    await ask({ kind: 'echo', notes: [1, 2, 3] }, (note) => first.push(note));
    await ask({ kind: 'echo', notes: [4] }, (note) => second.push(note));
    expect([first, second]).toEqual([[1, 2, 3], [4]]);
  });

  it('rejects with what the worker threw, and goes on', async () => {
    start();
    await expect(ask({ kind: 'throw', message: 'no such row' })).rejects.toThrow('no such row');
    expect((await ask({ kind: 'echo', value: 1 })).value).toBe(1);
  });

  it('rejects when the process ends in the middle', async () => {
    start();
    await expect(ask({ kind: 'exit', code: 3 })).rejects.toThrow(
      'A helper process stopped with code 3',
    );
    await expect(ask({ kind: 'echo' })).rejects.toThrow();
  });

  it('adds to the environment of the worker', async () => {
    start({ ECHO_TEST: 'seen' });
    expect(await ask({ kind: 'env', name: 'ECHO_TEST' })).toBe('seen');
    expect(await ask({ kind: 'env', name: 'PATH' })).toBe(process.env.PATH);
  });
});

it('serve does nothing in a process that was not started for the module', () => {
  const listeners = process.listenerCount('message');
  serve(import.meta.url, async () => null);
  expect(process.listenerCount('message')).toBe(listeners);
});
