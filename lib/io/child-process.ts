import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Two run side by side: one thread each. The native backend multiplies in bfloat16 where the processor can. */
const ENVIRONMENT = { TF_NUM_INTRAOP_THREADS: '1', ONEDNN_DEFAULT_FPMATH_MODE: 'BF16' };
/** What TensorFlow says of itself as it starts. */
const NOISE = /is already registered|^$|cuda|oneDNN|cpu_feature_guard|TF-TRT/;

/**
 * Trains in a process of its own: runs a module of this package, and passes on what it says on stderr.
 * @throws the signal's reason once the process has ended by itself; Error with its last words when it fails
 */
export async function trainInProcess(
  moduleUrl: string,
  args: readonly string[],
  { signal, log }: { signal?: AbortSignal; log?: (line: string) => void } = {},
): Promise<void> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, [fileURLToPath(moduleUrl), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...ENVIRONMENT },
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
