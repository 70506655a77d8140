/** The command line as a user calls it, in this process or in a separate one. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { createProgram } from '../../lib/commands/program.js';
import { packagePath } from '../../lib/io/paths.js';
import { errorText } from '../../lib/io/system-errors.js';

const CLI = packagePath('dist', 'cli.js');

/** Without a build, tests that call the command line are reported as skipped. */
export const isBuilt = existsSync(CLI);

// A process starts in a second on an idle machine, much slower on a busy one.
if (isBuilt) vi.setConfig({ testTimeout: 120_000 });

/** Starts `parallelsearch ARGS`. @param env is added to the environment */
export const startCommand = (
  args: readonly string[],
  cwd?: string,
  env?: object,
): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [CLI, ...args], { cwd, env: { ...process.env, DEBUG: '', ...env } });

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The words of a command line; interpolated values stay one word. */
export const words = (texts: TemplateStringsArray, ...values: readonly string[]): string[] =>
  texts.flatMap((text, i) => [...text.split(/\s+/), ...values.slice(i, i + 1)]).filter(Boolean);

/** Thrown in place of `process.exit` in a command that runs in this process. */
class Exit extends Error {}

/**
 * Runs `parallelsearch ARGS` to its end in this process, which spares the second in which
 * another one loads. One at a time.
 */
export async function runCommand(args: readonly string[], cwd = '.'): Promise<Ended> {
  const [home, exitCode] = [process.cwd(), process.exitCode];
  const ended = { code: 0, stdout: '', stderr: '' };
  const spies = [
    ...(['stdout', 'stderr'] as const).map((name) =>
      vi.spyOn(process[name], 'write').mockImplementation((text) => {
        ended[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
        return true;
      }),
    ),
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      ended.code = Number(code ?? 0);
      throw new Exit();
    }),
  ];
  process.exitCode = undefined;
  process.chdir(cwd);
  try {
    const program = await createProgram(args[0]);
    await program.parseAsync(args, { from: 'user' });
    ended.code = Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof Exit)) {
      ended.code = 1;
      ended.stderr += `${errorText(error)}\n`;
    }
  } finally {
    process.chdir(home);
    process.exitCode = exitCode;
    for (const spy of spies) spy.mockRestore();
  }
  return ended;
}

/** Runs `parallelsearch ARGS`, which must end with code 1, and returns what it says. */
export async function refusal(args: readonly string[], cwd?: string): Promise<string> {
  const { code, stderr } = await runCommand(args, cwd);
  expect(code, stderr).toBe(1);
  return stderr;
}

/** Runs `parallelsearch ARGS` to its end in a separate process. */
export async function runProcess(
  args: readonly string[],
  cwd?: string,
  env?: object,
): Promise<Ended> {
  const child = startCommand(args, cwd, env);
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}
