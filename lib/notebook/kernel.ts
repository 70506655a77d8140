/**
 * Runs tslab's kernel as Jupyter does, without Python: a process of its own, spoken to over ZeroMQ.
 * What tslab leaves out is made up for here: a kernel that dies, never starts or never ends rejects with a
 * {@link KernelError}, and it never outlives this process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dealer, Subscriber } from 'zeromq';
import { createMessage, decodeMessage, encodeMessage, type Message } from './protocol.js';

/** Why a kernel gave no reply. `interrupted`: too late, but it has stopped the cell and takes the next one. */
export class KernelError extends Error {
  constructor(
    readonly reason: 'start' | 'timeout' | 'interrupted' | 'died',
    message: string,
  ) {
    super(message);
    this.name = 'KernelError';
  }
}

export interface Kernel {
  /** Sends a cell and waits for its reply and for all that it printed (`stream`, `display_data`, ...). */
  execute(
    code: string,
    options: { timeoutMs: number; onOutput: (message: Message) => void },
  ): Promise<{ ok: boolean; count: number | null }>;
  /** Ends the kernel: politely first, for certain after two seconds. */
  shutdown(): Promise<void>;
}

/** TypeScript reads every declaration file on first use. */
const START_TIMEOUT_MS = 120_000;
/** Ends the kernel when its parent goes away, even by SIGKILL. */
const END_WITH_PARENT = 'data:text/javascript,process.on("disconnect",()=>process.exit(1))';
const PORT_TAKEN = /EADDRINUSE|Address already in use/i;

/** The script of the tslab that belongs to this package, wherever npm has put it. */
export function tslabScript(): string {
  const manifest = createRequire(import.meta.url).resolve('tslab/package.json');
  return path.join(path.dirname(manifest), 'bin', 'tslab');
}

/**
 * Starts a kernel in a working folder, to which imports and paths of cells are relative, and waits until it answers. Ports
 * are chosen free and chosen again when another process was faster.
 */
export async function startKernel(cwd: string): Promise<Kernel> {
  for (let attempt = 1; ; attempt++) {
    const info = await chooseConnection();
    const folder = mkdtempSync(path.join(tmpdir(), 'parallelsearch-kernel-'));
    const configFile = path.join(folder, 'connection.json');
    writeFileSync(configFile, JSON.stringify(info), { mode: 0o600 });
    const child = spawnKernel(configFile, cwd);
    const connection = await connect(info, deathOf(child));
    try {
      await answering(connection);
      return kernelOf(child, connection);
    } catch (error) {
      child.kill('SIGKILL');
      connection.close();
      if (attempt === 3 || !(error instanceof Error) || !PORT_TAKEN.test(error.message)) throw error;
    } finally {
      // The kernel has read the file, and its key is nobody else's business.
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** Where a kernel shall listen, with a new key that signs its messages; the kernel reads it from a file. */
interface ConnectionInfo {
  transport: 'tcp';
  ip: string;
  key: string;
  signature_scheme: 'hmac-sha256';
  shell_port: number;
  iopub_port: number;
  control_port: number;
  stdin_port: number;
  hb_port: number;
}

/** Ports of this machine that nobody listens on, all different because they are held open together, and a new key. */
export async function chooseConnection(): Promise<ConnectionInfo> {
  const servers = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  const [shell_port, iopub_port, control_port, stdin_port, hb_port] = ports;
  return {
    ...{ transport: 'tcp', ip: '127.0.0.1', key: randomUUID(), signature_scheme: 'hmac-sha256' },
    ...{ shell_port, iopub_port, control_port, stdin_port, hb_port },
  };
}

/** Starts tslab's kernel; Ctrl-C and SIGTERM end it too, then this process as they would have. */
function spawnKernel(configFile: string, cwd: string): ChildProcess {
  const args = ['--import', END_WITH_PARENT, tslabScript(), 'kernel', '--config-path', configFile];
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const onSignal = (signal: NodeJS.Signals): void => {
    child.kill('SIGKILL');
    for (const name of signals) process.off(name, onSignal);
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  for (const name of signals) process.on(name, onSignal);
  child.once('exit', () => signals.forEach((name) => process.off(name, onSignal)));
  return child;
}

/** Rejects when the kernel's process ends, with the last of what it wrote outside of cells. */
function deathOf(child: ChildProcess): Promise<never> {
  let tail = '';
  const keep = (chunk: Buffer): void => void (tail = (tail + chunk.toString()).slice(-4000));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const died = new Promise<never>((_, reject) => {
    child.stderr?.on('data', () => {
      if (PORT_TAKEN.test(tail)) reject(new KernelError('start', `The kernel cannot listen: ${tail.trim()}`));
    });
    child.once('error', (error) =>
      reject(new KernelError('start', `The kernel cannot start: ${error.message}`)),
    );
    child.once('close', (code, signal) => {
      const how = signal ? `by ${signal}` : `with exit code ${code}`;
      reject(new KernelError('died', `The kernel ended ${how}.${tail ? `\n${tail.trim()}` : ''}`));
    });
  });
  died.catch(() => undefined);
  return died;
}

interface Connection {
  /** Sends a request and waits for its reply; `onPublished` gets what the kernel publishes about it. */
  ask: (
    channel: 'shell' | 'control',
    type: string,
    content?: Message['content'],
    onPublished?: (message: Message) => void,
  ) => Promise<Message>;
  died: Promise<never>;
  close: () => void;
}

async function connect(info: ConnectionInfo, died: Promise<never>): Promise<Connection> {
  const { Dealer, Subscriber } = await import('zeromq');
  const sockets = {
    shell: new Dealer({ linger: 0 }),
    control: new Dealer({ linger: 0 }),
    // No limit on what waits to be read: ZeroMQ would drop a burst of prints otherwise.
    iopub: new Subscriber({ linger: 0, receiveHighWaterMark: 0 }),
  };
  const session = randomUUID();
  const onReply = new Map<string | undefined, (message: Message) => void>();
  const onOutput = new Map<string | undefined, (message: Message) => void>();
  const listen = async (socket: Dealer | Subscriber, handlers: typeof onReply): Promise<void> => {
    for await (const frames of socket) {
      const message = decodeMessage(frames, info.key);
      handlers.get(message.parent.msg_id)?.(message);
    }
  };
  for (const name of ['shell', 'control', 'iopub'] as const) {
    sockets[name].connect(`${info.transport}://${info.ip}:${info[`${name}_port`]}`);
    void listen(sockets[name], name === 'iopub' ? onOutput : onReply);
  }
  sockets.iopub.subscribe();
  return {
    async ask(channel, type, content = {}, onPublished = () => undefined) {
      const message = createMessage(type, session, content);
      const { msg_id } = message.header;
      const reply = new Promise<Message>((resolve) => onReply.set(msg_id, resolve));
      onOutput.set(msg_id, onPublished);
      await sockets[channel].send(encodeMessage(message, info.key));
      return Promise.race([reply, died]);
    },
    died,
    close: () => Object.values(sockets).forEach((socket) => socket.close()),
  };
}

/** Asks until the kernel publishes: a subscription takes effect some time after connecting. */
async function answering({ ask, died }: Connection): Promise<void> {
  let hasPublished = false;
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    void ask('shell', 'kernel_info_request', {}, () => (hasPublished = true)).catch(() => undefined);
    await Promise.race([died, sleep(100)]);
    if (hasPublished) return;
  }
  const limit = `${START_TIMEOUT_MS / 1000} s`;
  throw new KernelError('start', `Expected tslab's kernel to answer within ${limit}, but it did not.`);
}

const EXECUTE = { silent: false, store_history: true, allow_stdin: false, stop_on_error: false };

function kernelOf(child: ChildProcess, { ask, died, close }: Connection): Kernel {
  return {
    async execute(code, { timeoutMs, onOutput }) {
      const attempt = async (): Promise<Message> => {
        let onIdle = (): void => undefined;
        const idle = new Promise<void>((resolve) => (onIdle = resolve));
        const onPublished = (message: Message): void => {
          if (message.header.msg_type !== 'status') onOutput(message);
          else if (message.content.execution_state === 'idle') onIdle();
        };
        const request = { code, user_expressions: {}, ...EXECUTE };
        const asked = ask('shell', 'execute_request', request, onPublished);
        const reply = await withTimeout(asked, timeoutMs, child);
        await Promise.race([idle, sleep(2000), died]);
        return reply;
      };
      let reply = await attempt();
      // For 200 ms after a cell that failed, tslab turns every request down without running it.
      for (; reply.content.status === 'abort'; reply = await attempt()) await sleep(50);
      // One more round trip: a rejection that nobody handled is printed before the kernel answers it.
      await ask('shell', 'kernel_info_request');
      const count = reply.content.execution_count;
      return { ok: reply.content.status === 'ok', count: typeof count === 'number' ? count : null };
    },
    async shutdown() {
      if (child.exitCode !== null || child.signalCode !== null) return close();
      const gone = new Promise((resolve) => child.once('exit', resolve));
      const asked = ask('control', 'shutdown_request', { restart: false });
      await Promise.race([asked.catch(() => undefined), sleep(1000)]);
      if (child.connected) child.disconnect();
      if ((await Promise.race([gone, sleep(1000, 'alive')])) === 'alive') child.kill('SIGKILL');
      await gone;
      close();
    },
  };
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
