/** The kernel's process: how it is started, where it listens, and that its end is noticed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import type { ConnectionInfo } from './protocol.js';

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

/** Ends the kernel when its parent goes away, even by SIGKILL. */
const END_WITH_PARENT = 'data:text/javascript,process.on("disconnect",()=>process.exit(1))';
export const PORT_TAKEN = /EADDRINUSE|Address already in use/i;

/** The script of the tslab that belongs to this package, wherever npm has put it. */
export function tslabScript(): string {
  return path.join(
    path.dirname(createRequire(import.meta.url).resolve('tslab/package.json')),
    'bin',
    'tslab',
  );
}

/** Starts tslab's kernel in `cwd`; it ends with this process, however that ends. */
export function spawnKernel(configFile: string, cwd: string): ChildProcess {
  const args = ['--import', END_WITH_PARENT, tslabScript(), 'kernel', '--config-path', configFile];
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  endWithSignals(child);
  return child;
}

/** Ctrl-C and SIGTERM end the kernel too, then this process as they would have. */
function endWithSignals(child: ChildProcess): void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const onSignal = (signal: NodeJS.Signals): void => {
    child.kill('SIGKILL');
    for (const name of signals) process.off(name, onSignal);
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  for (const name of signals) process.on(name, onSignal);
  child.once('exit', () => signals.forEach((name) => process.off(name, onSignal)));
}

/** Ports of this machine that nobody listens on, and a new key. */
export async function chooseConnection(): Promise<ConnectionInfo> {
  const [shell_port, iopub_port, control_port, stdin_port, hb_port] = await freePorts(5);
  const ports = { shell_port, iopub_port, control_port, stdin_port, hb_port };
  return { transport: 'tcp', ip: '127.0.0.1', key: randomUUID(), signature_scheme: 'hmac-sha256', ...ports };
}

/** Ports that are free now, all different because they are held open together. */
async function freePorts(numPorts: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: numPorts }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Rejects when the kernel's process ends, with the last of what it wrote outside of cells. */
export function deathOf(child: ChildProcess): Promise<never> {
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
