/** The command line as a user calls it: a process of its own. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { vi } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';

const CLI = packagePath('dist', 'cli.js');

/** Without it tests that call the command line say that they are skipped. */
export const isBuilt = existsSync(CLI);

// A process loads in a second on a free machine, and in many on a busy one.
if (isBuilt) vi.setConfig({ testTimeout: 120_000 });

/** Starts `parallelsearch ARGS`. @param env is added to the environment */
export const startCommand = (
  args: readonly string[],
  cwd?: string,
  env?: object,
): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [CLI, ...args], { cwd, env: { ...process.env, DEBUG: '', ...env } });

/** Runs `parallelsearch ARGS` to its end. */
export async function runCommand(
  args: readonly string[],
  cwd?: string,
  env?: object,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startCommand(args, cwd, env);
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}
