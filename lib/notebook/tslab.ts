/**
 * Runs tslab's kernel without Jupyter, in a process that receives cells over Node's
 * channel instead of ZeroMQ, and reads its errors.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
/** @ts-ignore An optional package: without it, the type is `any`. */
import type ts from 'typescript';
import { optionalFolder } from '../io/optional.js';
import { parentEnvironment, WATCH_PARENT } from '../io/processes.js';

/** Why a kernel gave no reply; after `interrupted`, it can run the next cell. */
export class KernelError extends Error {
  constructor(
    readonly reason: 'start' | 'timeout' | 'interrupted' | 'died',
    message: string,
  ) {
    super(message);
    this.name = 'KernelError';
  }
}

/** What a cell prints or shows: the content of Jupyter's message of this type. */
export interface KernelOutput {
  type: 'stream' | 'display_data' | 'update_display_data';
  content: Record<string, unknown>;
}

interface Reply {
  type: 'reply';
  status?: string;
  execution_count?: number;
}

interface ExecuteOptions {
  timeoutMs: number;
  /** Milliseconds within which an interrupted cell must end. */
  graceMs?: number;
  onOutput: (output: KernelOutput) => void;
}

export interface Kernel {
  /** Runs a cell; resolves once all of its output has arrived. @throws KernelError */
  execute(code: string, options: ExecuteOptions): Promise<{ ok: boolean; count: number | null }>;
  /**
   * Drops all variables and restarts the cell count. Loaded modules and their state stay,
   * and so do the declarations that TypeScript has read, which take most of a short
   * notebook's time.
   */
  reset(): Promise<void>;
  /** Asks the kernel to end, and kills it after two seconds. */
  shutdown(): Promise<void>;
}

/** TypeScript reads every declaration file on first use. */
const START_TIMEOUT_MS = 120_000;

/**
 * The program of the process: the tslab next to the notebook, or else this package's,
 * with its ZeroMQ server replaced. It ends with its parent, even after SIGKILL.
 */
const PROGRAM = `
new (require('node:worker_threads').Worker)(${JSON.stringify(WATCH_PARENT)}, { eval: true }).unref();
const paths = [process.cwd(), process.argv[1]];
const load = (name) => require(require.resolve('tslab/dist/' + name, { paths }));
const send = (message) => process.connected && process.send(message);
load('jupyter').ZmqServer = class {
  constructor(handler) {
    this.handler = handler;
  }
  init() {
    process.on('disconnect', () => process.exit(1));
    process.on('message', ({ code }) => (code === undefined ? this.reset() : this.execute(code)));
    send({ type: 'reply' });
  }
  reset() {
    this.handler.executor.reset();
    this.handler.execCount = 0;
    send({ type: 'reply' });
  }
  async execute(code) {
    const stream = (name, text) => send({ type: 'stream', content: { name, text } });
    const display = (content, isUpdate) =>
      send({ type: isUpdate ? 'update_display_data' : 'display_data', content });
    const attempt = () => this.handler.handleExecute({ code }, stream, display);
    let reply = await attempt();
    // tslab rejects every request in the 200 ms after a failed cell.
    while (reply.status === 'abort') {
      await new Promise((resolve) => setTimeout(resolve, 50));
      reply = await attempt();
    }
    await this.publishStatus('idle');
    // Unhandled rejections are printed before the reply.
    setImmediate(() => send({ type: 'reply', ...reply }));
  }
  publishStatus() {}
};
load('main').startKernel({ enableFindLocal: false });
`;

/** The script of this package's tslab. @throws Error if it is not installed */
export const tslabScript = (): string => path.join(optionalFolder('tslab'), 'bin', 'tslab');

/** The TypeScript that compiles cells; it takes half a second to load. */
export const loadTypeScript = (): typeof ts =>
  createRequire(tslabScript())('@tslab/typescript-for-tslab') as typeof ts;

/** Starts a kernel; imports and paths are relative to `cwd`. @throws KernelError */
export async function startKernel(cwd: string): Promise<Kernel> {
  const child = spawnKernel(cwd);
  const death = rejectOnExit(child);
  let onOutput = (_: KernelOutput): void => undefined;
  let onReply = (_: Reply): void => undefined;
  child.on('message', (message: KernelOutput | Reply) =>
    message.type === 'reply' ? onReply(message) : onOutput(message),
  );
  // A kernel that has ended rejects each reply.
  const send = (request: { code?: string }): unknown => child.connected && child.send(request);
  const nextReply = (): Promise<Reply> =>
    Promise.race([death, new Promise<Reply>((resolve) => (onReply = resolve))]);
  if (!(await within(START_TIMEOUT_MS, nextReply()))) {
    child.kill('SIGKILL');
    throw new KernelError('start', `tslab did not start within ${START_TIMEOUT_MS / 1000} s.`);
  }
  return {
    async execute(code, options) {
      onOutput = options.onOutput;
      const reply = nextReply();
      send({ code });
      const { status, execution_count } = await withTimeout(reply, options, child);
      return { ok: status === 'ok', count: execution_count ?? null };
    },
    async reset() {
      const reply = nextReply();
      send({});
      await reply;
    },
    async shutdown() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = new Promise((resolve) => child.once('exit', () => resolve(true)));
      if (child.connected) child.disconnect();
      if (!(await within(2000, exit))) child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Spawns the kernel; Ctrl-C and SIGTERM end it, then this process as usual. */
function spawnKernel(cwd: string): ChildProcess {
  const child = spawn(process.execPath, ['-e', PROGRAM, path.dirname(tslabScript())], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...parentEnvironment() },
  });
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

const OUTPUT_TIMEOUT_MS = 500;

/** Rejects when the process ends, with the last of what it wrote outside cells. */
function rejectOnExit(child: ChildProcess): Promise<never> {
  let tail = '';
  const keep = (chunk: Buffer): void => void (tail = (tail + chunk.toString()).slice(-4000));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const death = new Promise<never>((_, reject) => {
    child.on('error', (error) =>
      reject(new KernelError('start', `The kernel cannot start: ${error.message}`)),
    );
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.once('exit', async (code, signal) => {
      // Output may still arrive, but the streams stay open after a disconnect, or while a
      // process that a cell started holds them.
      await within(OUTPUT_TIMEOUT_MS, closed);
      const how = signal ? `by ${signal}` : `with exit code ${code}`;
      reject(new KernelError('died', `The kernel ended ${how}.${tail ? `\n${tail.trim()}` : ''}`));
    });
  });
  death.catch(() => undefined);
  return death;
}

/** The result of a promise, or null if it takes longer. */
const within = <T>(timeoutMs: number, promise: Promise<T>): Promise<T | null> =>
  Promise.race([promise, sleep(timeoutMs, null, { ref: false })]);

/** On timeout, interrupts the cell, waits for it to stop, and rejects. */
async function withTimeout(
  reply: Promise<Reply>,
  { timeoutMs, graceMs = 5000 }: ExecuteOptions,
  child: ChildProcess,
): Promise<Reply> {
  const inTime = await within(timeoutMs, reply);
  if (inTime) return inTime;
  child.kill('SIGINT');
  const stopped = await within(graceMs, reply).catch(() => null);
  const limit = `The cell did not end within ${timeoutMs / 1000} s`;
  if (stopped) throw new KernelError('interrupted', `${limit}. Raise the limit if it needs more.`);
  throw new KernelError('timeout', `${limit} and could not be interrupted.`);
}

/** Stack frames in tslab, and in Node below it. */
const KERNEL_FRAME = /^ +at .*(?:[\\/]tslab[\\/]dist[\\/]|\(node:vm:).*(?:\n|$)/gm;

/** An error as tslab prints it, without the kernel's part of the stack trace. */
export const cellError = (stderr: string): string => stderr.replace(KERNEL_FRAME, '').trimEnd();

/**
 * Whether tslab has logged an unhandled rejection or exception. Its own, when folders
 * near the notebook come and go, is harmless.
 */
export const hasUnhandled = (stderr: string): boolean =>
  /^(UnhandledPromiseRejection|UncaughtException):(?! Error: Unexpected pending rebuildTimer)/m.test(
    stderr,
  );
