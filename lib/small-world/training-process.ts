import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * Runs a module of this package in a process with one thread, since two run side by side, and with products in bfloat16 where the native backend can.
 * @throws Error when it fails
 */
export function trainInProcess(moduleUrl: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, TF_NUM_INTRAOP_THREADS: '1', ONEDNN_DEFAULT_FPMATH_MODE: 'BF16' };
  const child = spawn(process.execPath, [fileURLToPath(moduleUrl), ...args], { stdio: 'inherit', env });
  return new Promise((resolve, reject) => {
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`Training with ${args.join(' ')} ended with code ${code}.`)),
    );
  });
}
