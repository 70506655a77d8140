import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { asParent, endWithParent } from './parent.js';

/**
 * Whether the processor has units that multiply matrices in bfloat16 (AMX): without them
 * that is slower than in float32.
 */
const hasAmx = (): boolean =>
  existsSync('/proc/cpuinfo') && readFileSync('/proc/cpuinfo', 'utf8').includes('amx_bf16');

/** What a training's process is started with. */
export const trainingEnvironment = (threads: number): Record<string, string> => ({
  TF_NUM_INTRAOP_THREADS: String(threads),
  ...(hasAmx() && { ONEDNN_DEFAULT_FPMATH_MODE: 'BF16' }),
});
/** How a training is stopped, and what it says, a line at a time. */
interface Training {
  signal?: AbortSignal;
  log?: (line: string) => void;
}

export interface TrainInProcessOptions extends Training {
  environment?: Record<string, string>;
}

/** What TensorFlow says of itself as it starts. */
const NOISE = /is already registered|^$|cuda|oneDNN|cpu_feature_guard|TF-TRT/;

/**
 * Trains in a process of its own: runs a module that calls {@link trainHere}, and
 * passes on what it says on stderr.
 * @param task what is to be trained; plain data
 * @param moduleUrl of a `.js` file, or of a `.ts` file in `tools/`
 * @param options.environment by default that of a training with one thread
 * @throws the signal's reason once the process has ended by itself; Error with its last
 * words when it fails
 */
export async function trainInProcess(
  moduleUrl: string,
  task: object,
  { signal, log, environment = trainingEnvironment(1) }: TrainInProcessOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  const file = fileURLToPath(moduleUrl);
  const loader = file.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : [];
  const child = spawn(process.execPath, [...loader, file, JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment, ...asParent() },
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
  throw new Error(`Training ended with code ${code}: ${last}`);
}

/**
 * The process's side: trains when this module was started by {@link trainInProcess}; does
 * nothing elsewhere. Ends with a checkpoint when it is asked to.
 */
export function trainHere<Task>(
  moduleUrl: string,
  train: (task: Task, training: Required<Training>) => Promise<void>,
): void {
  if (process.argv[1] !== fileURLToPath(moduleUrl)) return;
  endWithParent();
  const controller = new AbortController();
  process.on('SIGTERM', () => controller.abort(new Error('Stopped; the same command goes on.')));
  const log = (line: string): void => console.error(line);
  const { signal } = controller;
  train(JSON.parse(process.argv[2]) as Task, { signal, log }).catch((error: unknown) => {
    // What it says last is what the other side repeats.
    if (!signal.aborted) log((error as Error).stack ?? '');
    log(String(error));
    process.exitCode = 1;
  });
}
