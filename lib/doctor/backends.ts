/** Which tfjs backends load here, why the others don't, and how fast each multiplies matrices. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { BACKEND_NAMES, type BackendName } from '../tensor/backend.js';
import type { Check } from './check.js';
import type { BackendProbe } from './backend-probe.js';

const PROBE_TIMEOUT_MS = 120_000;
const PROGRAM = fileURLToPath(new URL('./backend-probe.js', import.meta.url));

const REMEDIES: Record<BackendName, string> = {
  gpu: 'It needs Linux, an NVIDIA GPU with CUDA and cuDNN, and the package @tensorflow/tfjs-node-gpu. Not needed: the others compute the same.',
  native:
    'Run `npm ci` where the install script of @tensorflow/tfjs-node-gpu can download libtensorflow (Linux or Windows, x64). Not needed, but training is several times faster with it.',
  wasm: 'The installation is incomplete: run `npm ci`.',
  cpu: 'The installation is incomplete: run `npm ci`.',
};

/**
 * Tries a backend in a process of its own: two native libraries need not meet, and one that crashes is only reported.
 * Takes the backend's start and a second.
 */
export function probeBackend(name: BackendName): Promise<BackendProbe> {
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

/** A check a backend, one after the other so that their figures don't disturb each other. */
export async function checkBackends(
  probe: (name: BackendName) => Promise<BackendProbe> = probeBackend,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of BACKEND_NAMES) checks.push(backendCheck(name, await probe(name)));
  return checks;
}

function backendCheck(name: BackendName, result: BackendProbe): Check {
  const required = name === 'wasm' || name === 'cpu';
  const check = { id: `backend-${name}`, title: `tfjs ${name}`, required };
  if ('reason' in result)
    return { ...check, status: 'missing', detail: result.reason, remedy: REMEDIES[name] };
  const { detail, gflops, size } = result;
  const figure = `${gflops.toPrecision(3)} GFLOP/s (product of two ${size} x ${size} matrices)`;
  return { ...check, status: 'ok', detail: `${detail}: ${figure}` };
}
