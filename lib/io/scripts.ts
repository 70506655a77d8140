/** Modules that run once in a process of their own, such as a training. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DETACHED, endWithParent, loaderFor, parentEnvironment } from './processes.js';

interface ScriptContext {
  signal?: AbortSignal;
  log?: (line: string) => void;
}

export interface ScriptOptions extends ScriptContext {
  environment?: Record<string, string>;
}

/** TensorFlow's messages on startup. */
const NOISE = /is already registered|^$|cuda|oneDNN|cpu_feature_guard|TF-TRT/;

/**
 * Runs a module that calls {@link asScript} in a new process, such as a training, and
 * passes on what it prints to stderr.
 * @param moduleUrl a `.js` file, or a `.ts` file in `tools/`
 * @param task plain data
 * @throws the signal's reason after the process has ended; Error with its last line if it
 * fails
 */
export async function runScript(
  moduleUrl: string,
  task: object,
  { signal, log, environment }: ScriptOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  const file = fileURLToPath(moduleUrl);
  const child = spawn(process.execPath, [...loaderFor(file), file, JSON.stringify(task)], {
    ...DETACHED,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment, ...parentEnvironment() },
  });
  let last = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (NOISE.test(line)) return;
    last = line;
    log?.(line);
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal?.addEventListener('abort', stop, { once: true });
  const [code] = (await once(child, 'close')) as [number | null];
  signal?.removeEventListener('abort', stop);
  if (code === 0) return;
  signal?.throwIfAborted();
  throw new Error(`${basename(file)} ended with code ${code}: ${last}`);
}

/** The child's side: works until SIGTERM; does nothing unless it is the main module. */
export function asScript<Task>(
  moduleUrl: string,
  work: (task: Task, context: Required<ScriptContext>) => Promise<void>,
): void {
  if (process.argv[1] !== fileURLToPath(moduleUrl)) return;
  endWithParent();
  const controller = new AbortController();
  process.on('SIGTERM', () =>
    controller.abort(new Error('Stopped; run the same command to resume.')),
  );
  const log = (line: string): void => console.error(line);
  const { signal } = controller;
  work(JSON.parse(process.argv[2]) as Task, { signal, log }).catch((error: unknown) => {
    if (!signal.aborted) log((error as Error).stack ?? '');
    log(String(error)); // the parent repeats the last line
    process.exitCode = 1;
  });
}
