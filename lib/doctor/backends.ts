/** Whether a tfjs backend loads here, why it does not, and how fast it multiplies matrices. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BackendName } from '../tensor/backend.js';
import type { BackendProbe } from './backend-probe.js';
import type { Finding } from './check.js';

const PROBE_TIMEOUT_MS = 120_000;
const PROGRAM = fileURLToPath(new URL('./backend-probe.js', import.meta.url));

export const REINSTALL = 'The installation is incomplete: run `npm ci`.';
export const BACKEND_REMEDIES: Record<BackendName, string> = {
  gpu: 'It needs Linux, an NVIDIA GPU with CUDA and cuDNN, and the package @tensorflow/tfjs-node-gpu. Not needed: the others compute the same.',
  native:
    'Run `npm ci` where the install script of @tensorflow/tfjs-node-gpu can download libtensorflow (Linux or Windows, x64). Not needed, but training is several times faster with it.',
  wasm: REINSTALL,
  cpu: REINSTALL,
};

/**
 * Tries a backend in a process of its own: two native libraries need not meet, and one that crashes is only reported.
 * Takes the backend's start and a second.
 */
function probeBackend(name: BackendName): Promise<BackendProbe> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, name], { timeout: PROBE_TIMEOUT_MS }, (error, stdout, stderr) => {
      const line = stdout.trim().split('\n').at(-1) ?? '';
      if (!error && line !== '') return resolve(JSON.parse(line) as BackendProbe);
      const how = error?.signal ? `was ended by ${error.signal}` : `ended with code ${error?.code ?? 0}`;
      const said = stderr.trim().split('\n').at(-1);
      resolve({ reason: `its process ${how}${said ? `: ${said.slice(0, 200)}` : ''}` });
    });
  });
}

export async function lookAtBackend(name: BackendName, probe = probeBackend): Promise<Finding> {
  const found = await probe(name);
  if ('reason' in found) return { status: 'missing', detail: found.reason };
  const { detail, gflops, size } = found;
  return `${detail}: ${gflops.toPrecision(3)} GFLOP/s (product of two ${size} x ${size} matrices)`;
}
