/** Runs tslab's kernel without Jupyter, in a process that receives cells as messages. */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packagePath } from '../io/paths.js';
import { parentEnvironment } from '../io/processes.js';
import { tslabScript, type KernelMessage, type KernelRequest } from './tslab.js';

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

type Reply = Extract<KernelMessage, { type: 'reply' }>;
/** What a cell prints or shows: the content of Jupyter's message of this type. */
export type KernelOutput = Exclude<KernelMessage, Reply>;

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

/** The kernel's program, compiled as the library that cells import, and its argument. */
export const kernelProgram = (): string[] => [
  packagePath('dist', 'notebook', 'kernel-main.js'),
  path.dirname(tslabScript()),
];

/** Starts a kernel; imports and paths are relative to `cwd`. @throws KernelError */
export async function startKernel(cwd: string): Promise<Kernel> {
  const child = spawnKernel(cwd);
  const death = rejectOnExit(child);
  let onOutput = (_: KernelOutput): void => undefined;
  let onReply = (_: Reply): void => undefined;
  child.on('message', (message: KernelMessage) =>
    message.type === 'reply' ? onReply(message) : onOutput(message),
  );
  // A kernel that has ended rejects each reply.
  const send = (request: KernelRequest): unknown => child.connected && child.send(request);
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
  const child = spawn(process.execPath, kernelProgram(), {
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
