/**
 * Runs tslab's kernel as Jupyter does, without Python: a process of its own, spoken to over ZeroMQ.
 * What tslab leaves out is made up for here: a kernel that dies, never starts or never ends rejects with a
 * {@link KernelError}, and it never outlives this process.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dealer, Subscriber } from 'zeromq';
import { chooseConnection, deathOf, KernelError, PORT_TAKEN, spawnKernel } from './process.js';
import {
  createMessage,
  decodeMessage,
  encodeMessage,
  type ConnectionInfo,
  type Message,
} from './protocol.js';

export interface Kernel {
  /** Sends a cell and waits for its reply and for all that it printed; `id` names it in `onOutput`. */
  execute(
    code: string,
    options: { timeoutMs: number; id: string },
  ): Promise<{ ok: boolean; count: number | null }>;
  /** Ends the kernel: politely first, for certain after two seconds. */
  shutdown(): Promise<void>;
}

export interface KernelOptions {
  /** The kernel's working folder: imports and paths of cells are relative to it. */
  cwd: string;
  /** What cells print and show, as it comes: `stream`, `display_data`, `update_display_data`, ... */
  onOutput?: (id: string, message: Message) => void;
  /** Default 120,000: TypeScript reads every declaration file on first use. */
  startTimeoutMs?: number;
}

/** Starts a kernel and waits until it answers. Ports are chosen free and chosen again when another process was faster. */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (attempt >= 3 || !(error instanceof Error) || !PORT_TAKEN.test(error.message)) throw error;
    }
  }
}

async function startOnce({ cwd, onOutput, startTimeoutMs = 120_000 }: KernelOptions): Promise<Kernel> {
  const info = await chooseConnection();
  const folder = mkdtempSync(path.join(tmpdir(), 'parallelsearch-kernel-'));
  const configFile = path.join(folder, 'connection.json');
  writeFileSync(configFile, JSON.stringify(info), { mode: 0o600 });
  const child = spawnKernel(configFile, cwd);
  const connection = await connect(info);
  const session = createSession(child, connection, onOutput);
  try {
    await session.ready(startTimeoutMs);
    return session;
  } catch (error) {
    child.kill('SIGKILL');
    connection.close();
    throw error;
  } finally {
    // The kernel has read the file, and its key is nobody else's business.
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Connection {
  info: ConnectionInfo;
  shell: Dealer;
  control: Dealer;
  iopub: Subscriber;
  close: () => void;
}

async function connect(info: ConnectionInfo): Promise<Connection> {
  const { Dealer, Subscriber } = await import('zeromq');
  const shell = new Dealer({ linger: 0 });
  const control = new Dealer({ linger: 0 });
  // No limit on what waits to be read: ZeroMQ would drop a burst of prints otherwise.
  const iopub = new Subscriber({ linger: 0, receiveHighWaterMark: 0 });
  const address = (port: number): string => `${info.transport}://${info.ip}:${port}`;
  shell.connect(address(info.shell_port));
  control.connect(address(info.control_port));
  iopub.connect(address(info.iopub_port));
  iopub.subscribe();
  const close = (): void => [shell, control, iopub].forEach((socket) => socket.close());
  return { info, shell, control, iopub, close };
}

interface Session extends Kernel {
  ready(timeoutMs: number): Promise<void>;
}

function createSession(
  child: ChildProcess,
  { shell, control, iopub, info, close }: Connection,
  onOutput: KernelOptions['onOutput'],
): Session {
  const session = randomUUID();
  const replies = new Map<string, (message: Message) => void>();
  const idle = new Map<string, () => void>();
  const cells = new Map<string, string>();
  const died = deathOf(child);
  let onFirst = (_: true): void => undefined;
  const published = new Promise<true>((resolve) => (onFirst = resolve));

  const request = async (socket: Dealer, message: Message): Promise<Message> => {
    const reply = new Promise<Message>((resolve) => replies.set(message.header.msg_id, resolve));
    await socket.send(encodeMessage(message, info.key));
    return Promise.race([reply, died]);
  };
  const onReply = (message: Message): void => replies.get(message.parent.msg_id ?? '')?.(message);
  const onPublished = (message: Message): void => {
    const parentId = message.parent.msg_id ?? '';
    onFirst(true);
    if (message.header.msg_type !== 'status') onOutput?.(cells.get(parentId) ?? '', message);
    else if (message.content.execution_state === 'idle') idle.get(parentId)?.();
  };
  void listen(shell, info.key, onReply);
  void listen(control, info.key, onReply);
  void listen(iopub, info.key, onPublished);
  const idleAfter = (message: Message): Promise<void> =>
    new Promise((resolve) => idle.set(message.header.msg_id, resolve));

  return {
    /** Asks until the kernel publishes: a subscription takes effect some time after connecting. */
    async ready(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      while (performance.now() < deadline) {
        void request(shell, createMessage('kernel_info_request', session, {})).catch(() => undefined);
        if (await Promise.race([published, died, sleep(250, false)])) return;
      }
      const limit = `${timeoutMs / 1000} s`;
      throw new KernelError('start', `Expected tslab's kernel to answer within ${limit}, but it did not.`);
    },
    async execute(code, { timeoutMs, id }) {
      const attempt = async (): Promise<Message> => {
        const flags = { silent: false, store_history: true, allow_stdin: false, stop_on_error: false };
        const message = createMessage('execute_request', session, { code, user_expressions: {}, ...flags });
        cells.set(message.header.msg_id, id);
        const idled = idleAfter(message);
        const reply = await withTimeout(request(shell, message), timeoutMs, child);
        await Promise.race([idled, sleep(2000), died]);
        return reply;
      };
      let reply = await attempt();
      // For 200 ms after a cell that failed, tslab turns every request down without running it.
      for (; reply.content.status === 'abort'; reply = await attempt()) await sleep(50);
      // One more round trip: a rejection that nobody handled is printed before the kernel answers it.
      await request(shell, createMessage('kernel_info_request', session, {}));
      const count = reply.content.execution_count;
      return { ok: reply.content.status === 'ok', count: typeof count === 'number' ? count : null };
    },
    async shutdown() {
      if (child.exitCode !== null || child.signalCode !== null) return close();
      const gone = new Promise((resolve) => child.once('exit', resolve));
      const message = createMessage('shutdown_request', session, { restart: false });
      await Promise.race([request(control, message).catch(() => undefined), sleep(1000)]);
      if (child.connected) child.disconnect();
      if ((await Promise.race([gone, sleep(1000, 'alive')])) === 'alive') child.kill('SIGKILL');
      await gone;
      close();
    },
  };
}

/** Reads a socket until it is closed. */
async function listen(
  socket: Dealer | Subscriber,
  key: string,
  onMessage: (message: Message) => void,
): Promise<void> {
  for await (const frames of socket) onMessage(decodeMessage(frames, key));
}

/** Interrupts what takes too long, gives it two seconds to stop, and rejects in any case. */
async function withTimeout<T>(reply: Promise<T>, timeoutMs: number, child: ChildProcess): Promise<T> {
  const cancel = new AbortController();
  const late = sleep(timeoutMs, 'late' as const, { signal: cancel.signal });
  late.catch(() => undefined);
  try {
    const first = await Promise.race([reply.then((value) => ({ value })), late]);
    if (first !== 'late') return first.value;
  } finally {
    cancel.abort();
  }
  child.kill('SIGINT');
  const stopped = await Promise.race([reply.then(() => true).catch(() => false), sleep(2000, false)]);
  const limit = `The cell did not end within ${timeoutMs / 1000} s`;
  if (stopped) throw new KernelError('interrupted', `${limit}. Allow it more time, if it needs that.`);
  throw new KernelError('timeout', `${limit} and could not be interrupted.`);
}
