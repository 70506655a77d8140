/** Child processes that answer: peers and workers. Scripts are in `scripts.ts`. */
import { fork, type ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import pLimit from 'p-limit';

/** Environment variables that make a child end when this process ends. */
export const parentEnvironment = (): Record<string, string> => ({
  PARALLELSEARCH_PARENT: String(process.pid),
});

/** Runs in a thread, because a training step or an endless cell blocks the event loop. */
export const WATCH_PARENT = `
const parent = Number(process.env.PARALLELSEARCH_PARENT ?? process.ppid);
setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGKILL'), 500);
`;

/** Ends this process soon after its parent, even if that was killed; not on Windows. */
export function endWithParent(): void {
  new Thread(WATCH_PARENT, { eval: true }).unref();
}

/**
 * With its own process group, a child does not receive a terminal's signals: this process
 * stops it, and libtensorflow is not interrupted (see lib/tensor/native.ts). On Windows,
 * a detached process would open a window.
 */
export const DETACHED = { detached: process.platform !== 'win32' };

/** Node's options for a module that may not be compiled. */
export const loaderFor = (file: string): string[] =>
  file.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : [];

/** Forks a process that runs the module at `url` and prints through this one. */
function forkModule(url: string, env: Record<string, string>): ChildProcess {
  const file = fileURLToPath(url);
  const child = fork(file, {
    ...DETACHED,
    execArgv: [...process.execArgv, ...loaderFor(file)],
    serialization: 'advanced',
    env: { ...process.env, ...env, ...parentEnvironment() },
    silent: true,
  });
  // Through this process, which may redirect what is printed.
  child.stdout!.on('data', (chunk: Buffer) => process.stdout.write(chunk));
  child.stderr!.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  return child;
}

/** Whether this process was started to run the module at `url`. */
const startedFor = (url: string): boolean =>
  process.send !== undefined && process.argv[1] === fileURLToPath(url);

/** Messages to and from another process, in order. */
export interface Channel {
  send(message: unknown): void;
  /** @throws Error if the other process has failed or ended */
  receive(): Promise<unknown>;
  close(): void;
}

/** Milliseconds between asking a process to end and killing it. */
const GRACE_MS = 1000;

type Packet = { value: unknown } | { error: string };

/** Starts a process for the module at `url`, which calls {@link connectToParent}. */
export function startPeer(url: string, name: string, env: Record<string, string> = {}): Channel {
  const child = forkModule(url, env);
  const packets = on(child, 'message', { close: ['close'] });
  return {
    // If the process has ended, `receive` reports it.
    send: (value) => void child.send({ value }, () => undefined),
    receive: async () => {
      const next = await packets.next();
      if (next.done) {
        const end = child.signalCode ?? `code ${child.exitCode}`;
        throw new Error(`${name} ended with ${end}; see its error above.`);
      }
      const [packet] = next.value as [Packet];
      if ('error' in packet) throw new Error(`${name} failed: ${packet.error}`);
      return packet.value;
    },
    close() {
      child.kill();
      // A busy process only receives messages when it has finished.
      setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
    },
  };
}

/** The child's side of {@link startPeer}; does nothing if this is not such a process. */
export function connectToParent(url: string, run: (parent: Channel) => Promise<void>): void {
  if (!startedFor(url)) return;
  const packets = on(process, 'message');
  endWithParent();
  process.on('disconnect', () => process.exit(0));
  const post = (packet: Packet, sent?: () => void): void =>
    void process.send!(packet, undefined, undefined, sent);
  run({
    send: (value) => post({ value }),
    receive: async () => ((await packets.next()).value as [{ value: unknown }])[0].value,
    close: () => process.disconnect(),
  }).catch((error: unknown) =>
    post({ error: (error as Error).stack ?? String(error) }, () => process.exit(1)),
  );
}

export interface Worker<Request, Reply, Note = never> {
  /** Sends a request and returns the reply. One request at a time. */
  send(request: Request, onNote?: (note: Note) => void): Promise<Reply>;
  stop(): void;
}

type Message<Reply, Note> = { note: Note } | { reply: Reply } | { failure: string };

/**
 * Starts a process for the module at `url`, which calls {@link serve}. (tinypool recycles
 * workers by heap size, but tensors are outside the heap.)
 */
export function startWorker<Request, Reply, Note = never>(
  url: string,
  env: Record<string, string> = {},
): Worker<Request, Reply, Note> {
  const channel = startPeer(url, 'A worker process', env);
  return {
    send: async (request, onNote) => {
      channel.send(request);
      for (;;) {
        const message = (await channel.receive()) as Message<Reply, Note>;
        if ('reply' in message) return message.reply;
        if ('failure' in message) throw new Error(message.failure);
        onNote?.(message.note);
      }
    },
    stop: () => channel.close(),
  };
}

/** The worker's side: answers requests in order; does nothing if this is not a worker. */
export function serve<Request, Reply, Note = never>(
  url: string,
  answer: (request: Request, note: (note: Note) => void) => Promise<Reply>,
): void {
  connectToParent(url, async (parent) => {
    const post = (message: Message<Reply, Note>): void => parent.send(message);
    for (;;) {
      const request = (await parent.receive()) as Request;
      try {
        post({ reply: await answer(request, (note) => post({ note })) });
      } catch (error) {
        post({ failure: (error as Error).stack ?? String(error) });
      }
    }
  });
}

/**
 * Starts workers as `work` sends requests, preferring idle ones; stops them at its end or
 * on the signal.
 * @param options.isReusable whether a worker takes further requests. Default: always
 * @throws the signal's reason, or what `work` throws
 */
export async function withWorkers<Request, Reply, Note = never>(
  {
    signal,
    start,
    isReusable = () => true,
  }: {
    signal: AbortSignal;
    start: () => Worker<Request, Reply, Note>;
    isReusable?: (reply: Reply) => boolean;
  },
  work: (
    send: (request: Request, onNote?: (note: Note) => void) => Promise<Reply>,
  ) => Promise<void>,
): Promise<void> {
  const started: Worker<Request, Reply, Note>[] = [];
  const idle: Worker<Request, Reply, Note>[] = [];
  let isStopped = false;
  const stop = (): void => {
    isStopped = true;
    started.forEach((worker) => worker.stop());
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await work(async (request, onNote) => {
      // Such as a request that waited for a worker.
      if (isStopped) throw new Error('The workers have been stopped.');
      const worker = idle.pop() ?? start();
      if (!started.includes(worker)) started.push(worker);
      const reply = await worker.send(request, onNote);
      if (isReusable(reply)) idle.push(worker);
      else worker.stop();
      return reply;
    });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

/**
 * Runs `work` for every item in order, at most `width` at a time. After a failure no more
 * items are started, running ones are awaited, and the first failure is thrown.
 */
export async function runConcurrently<T>(
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
