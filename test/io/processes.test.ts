import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  runConcurrently,
  serve,
  startPeer,
  startWorker,
  WATCH_PARENT,
  withWorkers,
  type Channel,
  type Worker,
} from '../../lib/io/processes.js';
import { isFull } from '../full.js';

/** Child processes run compiled code. */
const isBuilt = existsSync(new URL('../../dist/io/processes.js', import.meta.url));

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

it('starts no worker for requests that come after the end', async () => {
  const { signal } = new AbortController();
  const stop = vi.fn();
  const start = vi.fn(() => ({ send: (request: number) => Promise.resolve(-request), stop }));
  let sendLater!: (request: number) => Promise<number>;
  const work = async (send: typeof sendLater): Promise<void> => {
    sendLater = send;
    expect(await Promise.all([send(1), send(2)])).toEqual([-1, -2]);
    throw new Error('bad line');
  };
  await expect(withWorkers({ signal, start }, work)).rejects.toThrow('bad line');
  await expect(sendLater(3)).rejects.toThrow('stopped');
  expect([start, stop].map((f) => f.mock.calls.length)).toEqual([2, 2]);
});

describe.skipIf(!isBuilt)('startWorker (needs dist/)', () => {
  let worker: Worker<Request, Reply, number>;
  const start = (env?: Record<string, string>): void => {
    worker = startWorker<Request, Reply, number>(ECHO, env);
  };
  const ask: Worker<Request, Reply, number>['send'] = (...request) => worker.send(...request);
  afterEach(() => worker.stop());

  it('answers from another process, with typed arrays', async () => {
    start();
    const value = { x: Float32Array.of(1.5, -2), deep: [1, 'a', null] };
    const first = await ask({ kind: 'echo', value });
    expect(first.value).toEqual(value);
    expect(first.pid).not.toBe(process.pid);
    const second = await ask({ kind: 'echo', value: 2 });
    expect(second).toEqual({ pid: first.pid, value: 2 });
  });

  it.skipIf(process.platform === 'win32')(
    'leaves the terminal’s signals to the parent',
    async () => {
      start();
      const { pid } = await ask({ kind: 'echo', value: 0 });
      const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' });
      expect(Number(group)).toBe(pid);
    },
  );

  it('passes the notes of a request to that request only', async () => {
    start();
    const [first, second]: number[][] = [[], []];
    await ask({ kind: 'echo', notes: [1, 2, 3] }, (note) => first.push(note));
    await ask({ kind: 'echo', notes: [4] }, (note) => second.push(note));
    expect([first, second]).toEqual([[1, 2, 3], [4]]);
  });

  it("rejects with the worker's error and keeps serving", async () => {
    start();
    await expect(ask({ kind: 'throw', message: 'no such row' })).rejects.toThrow('no such row');
    expect((await ask({ kind: 'echo', value: 1 })).value).toBe(1);
  });

  it('rejects when the process exits', async () => {
    start();
    await expect(ask({ kind: 'exit', code: 3 })).rejects.toThrow(/code 3/);
    await expect(ask({ kind: 'echo' })).rejects.toThrow();
  });

  it('adds environment variables', async () => {
    start({ ECHO_TEST: 'seen' });
    expect(await ask({ kind: 'env', name: 'ECHO_TEST' })).toBe('seen');
    expect(await ask({ kind: 'env', name: 'PATH' })).toBe(process.env.PATH);
  });
});

describe.skipIf(!isBuilt)('startPeer (needs dist/)', () => {
  const PEER = new URL('../fixtures/peer.mjs', import.meta.url).href;
  let peer: Channel;
  beforeEach(() => {
    peer = startPeer(PEER, 'Peer 7');
  });
  afterEach(() => peer.close());

  it('keeps the order of messages, even if receivers wait first', async () => {
    const early = [peer.receive(), peer.receive()];
    const sent = [Float32Array.of(1.5, -2), new Map([['a', 1]]), 'late'];
    for (const message of sent) peer.send(message);
    const replies = [...(await Promise.all(early)), await peer.receive()];
    expect(replies).toMatchObject(sent.map((message) => ({ message })));
    expect(replies[0]).not.toMatchObject({ pid: process.pid });
  });

  it("names the process in its error, with the error's stack", async () => {
    peer.send('throw');
    await expect(peer.receive()).rejects.toThrow(/Peer 7.*RangeError: no such rank\n +at /s);
    await expect(peer.receive()).rejects.toThrow('Peer 7');
  });

  it('rejects when the process ends, after everything it sent', async () => {
    peer.send('first');
    peer.send('exit');
    expect(await peer.receive()).toMatchObject({ message: 'first' });
    await expect(peer.receive()).rejects.toThrow(/Peer 7.*code 3/);
    peer.send('too late');
    await expect(peer.receive()).rejects.toThrow(/code 3/);
  });
});

it('serve does nothing outside a worker', () => {
  const listeners = process.listenerCount('message');
  serve(import.meta.url, async () => null);
  expect(process.listenerCount('message')).toBe(listeners);
});

const isPosix = process.platform !== 'win32';

/** The ids of all processes and of their parents. */
const processes = (): number[][] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));

it.skipIf(!isBuilt || !isPosix || !isFull)(
  'busy workers, trainings and kernels exit when their parent is killed (needs test:full)',
  async () => {
    const script = fileURLToPath(new URL('../fixtures/parent.mjs', import.meta.url));
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(parent.stdout, 'data');
    const children = processes().flatMap(([pid, ppid]) => (ppid === parent.pid ? [pid] : []));
    expect(children).toHaveLength(3);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const alive = (): number[] =>
      processes().flatMap(([pid]) => (children.includes(pid) ? [pid] : []));
    await vi.waitFor(() => expect(alive()).toEqual([]), { timeout: 30_000, interval: 200 });
  },
  120_000,
);

it.skipIf(!isPosix)('a process exits if its parent is already gone', async () => {
  const program = `new (require('node:worker_threads').Worker)(${JSON.stringify(WATCH_PARENT)}, { eval: true }); setTimeout(() => {}, 60_000)`;
  // Process 1 never started it.
  const env = { ...process.env, PARALLELSEARCH_PARENT: '1' };
  const child = spawn(process.execPath, ['-e', program], { env, stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});

describe('runConcurrently', () => {
  it('starts in order, at most `width` at a time', async () => {
    const begun: number[] = [];
    let [underWay, most] = [0, 0];
    await runConcurrently([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      most = Math.max(most, ++underWay);
      await sleep(2);
      underWay -= 1;
    });
    expect([begun, most, underWay]).toEqual([[1, 2, 3, 4, 5], 2, 0]);
  });

  it('starts nothing after a failure, and throws it once running work has ended', async () => {
    const ended: number[] = [];
    const run = runConcurrently([1, 2, 3], 2, async (item) => {
      if (item === 1) throw new Error('no memory');
      await sleep(5);
      ended.push(item);
    });
    await expect(run).rejects.toThrow('no memory');
    expect(ended).toEqual([2]);
  });
});
