/**
 * Runs tslab's kernel without Jupyter: a process of its own, spoken to over Node's
 * channel to it where Jupyter has sockets. What tslab leaves out is made up for here: a
 * kernel that dies, never starts or never ends rejects with a {@link KernelError}, and it
 * never outlives this process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { optionalFolder } from '../io/optional.js';
import { parentEnvironment, WATCH_PARENT } from '../io/processes.js';

/**
 * Why a kernel gave no reply. `interrupted`: too late, but it has stopped the cell and
 * takes the next one.
 */
export class KernelError extends Error {
  constructor(
    readonly reason: 'start' | 'timeout' | 'interrupted' | 'died',
    message: string,
  ) {
    super(message);
    this.name = 'KernelError';
  }
}

/**
 * What a cell prints or shows, with the content that Jupyter's message of this type has.
 */
export interface KernelOutput {
  type: 'stream' | 'display_data' | 'update_display_data';
  content: Record<string, unknown>;
}

interface Reply {
  type: 'reply';
  status?: string;
  execution_count?: number;
}

export interface Kernel {
  /** Sends a cell and waits for its reply and for all that it printed. */
  execute(
    code: string,
    options: { timeoutMs: number; onOutput: (output: KernelOutput) => void },
  ): Promise<{ ok: boolean; count: number | null }>;
  /** Ends the kernel: politely first, for certain after two seconds. */
  shutdown(): Promise<void>;
}

/** TypeScript reads every declaration file on first use. */
const START_TIMEOUT_MS = 120_000;

/**
 * What the process runs: the kernel of the tslab that is installed where cells import
 * from, else of this package's, but with a server that takes cells from the parent
 * process in place of ZeroMQ's. It ends with its parent, even by SIGKILL.
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
    process.on('message', ({ code }) => this.execute(code));
    send({ type: 'reply' });
  }
  async execute(code) {
    const stream = (name, text) => send({ type: 'stream', content: { name, text } });
    const display = (content, isUpdate) =>
      send({ type: isUpdate ? 'update_display_data' : 'display_data', content });
    const attempt = () => this.handler.handleExecute({ code }, stream, display);
    let reply = await attempt();
    // For 200 ms after a cell that failed, tslab turns every request down without running
    // it.
    while (reply.status === 'abort') {
      await new Promise((resolve) => setTimeout(resolve, 50));
      reply = await attempt();
    }
    // A rejection that nobody handles is printed before the reply.
    setImmediate(() => send({ type: 'reply', ...reply }));
  }
};
load('main').startKernel({ enableFindLocal: false });
`;

/** The script of the tslab that belongs to this package, wherever npm has put it. */
export function tslabScript(): string {
  return path.join(optionalFolder('tslab'), 'bin', 'tslab');
}

/**
 * Starts a kernel in a working folder, to which imports and paths of cells are relative,
 * and waits until it answers.
 */
export async function startKernel(cwd: string): Promise<Kernel> {
  const child = spawnKernel(cwd);
  const died = deathOf(child);
  let onOutput = (_: KernelOutput): void => undefined;
  let onReply = (_: Reply): void => undefined;
  child.on('message', (message: KernelOutput | Reply) =>
    message.type === 'reply' ? onReply(message) : onOutput(message),
  );
  const nextReply = (): Promise<Reply> =>
    Promise.race([died, new Promise<Reply>((resolve) => (onReply = resolve))]);
  if (!(await within(START_TIMEOUT_MS, nextReply()))) {
    child.kill('SIGKILL');
    const limit = `${START_TIMEOUT_MS / 1000} s`;
    throw new KernelError(
      'start',
      `Expected tslab's kernel to answer within ${limit}, but it did not.`,
    );
  }
  return {
    async execute(code, options) {
      onOutput = options.onOutput;
      const reply = nextReply();
      child.send({ code });
      const { status, execution_count } = await withTimeout(reply, options.timeoutMs, child);
      return { ok: status === 'ok', count: execution_count ?? null };
    },
    async shutdown() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', () => resolve(true)));
      if (child.connected) child.disconnect();
      if (!(await within(2000, gone))) child.kill('SIGKILL');
      await gone;
    },
  };
}

/**
 * Starts the process; Ctrl-C and SIGTERM end it too, then this process as they would
 * have.
 */
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

/**
 * Rejects when the kernel's process ends, with the last of what it wrote outside of
 * cells.
 */
function deathOf(child: ChildProcess): Promise<never> {
  let tail = '';
  const keep = (chunk: Buffer): void => void (tail = (tail + chunk.toString()).slice(-4000));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const died = new Promise<never>((_, reject) => {
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

/** What is promised, or null where it takes longer. */
const within = <T>(timeoutMs: number, promise: Promise<T>): Promise<T | null> =>
  Promise.race([promise, sleep(timeoutMs, null, { ref: false })]);

/**
 * Interrupts what takes too long, gives it two seconds to stop, and rejects in any case.
 */
async function withTimeout(
  reply: Promise<Reply>,
  timeoutMs: number,
  child: ChildProcess,
): Promise<Reply> {
  const inTime = await within(timeoutMs, reply);
  if (inTime) return inTime;
  child.kill('SIGINT');
  const stopped = await within(2000, reply).catch(() => null);
  const limit = `The cell did not end within ${timeoutMs / 1000} s`;
  if (stopped)
    throw new KernelError('interrupted', `${limit}. Allow it more time, if it needs that.`);
  throw new KernelError('timeout', `${limit} and could not be interrupted.`);
}
