/** Checks of everything but the backends. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { packagePath } from '../io/paths.js';
import { findChromium } from '../report/browser.js';
import {
  findJupyterLab,
  INSTALL_JUPYTERLAB,
  isOurs,
  KERNEL_NAME,
  readKernelspecs,
  type Kernelspecs,
  type LabSearch,
} from '../notebook/jupyter.js';
import type { Check } from './check.js';

const REINSTALL = 'The installation is incomplete: run `npm ci`.';
/** Resident memory of training at the embedded scale, with its helper process. */
const GOOD_BYTES = 4 * 2 ** 30;

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0];
const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** Whether a version such as `20.19.1` is at least `minimum`, of which parts may be left out. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [has, wants] = [version, minimum].map((text) => text.split('.').map(Number));
  const differing = wants.findIndex((part, i) => part !== (has[i] ?? 0));
  return differing < 0 || (has[differing] ?? 0) > wants[differing];
}

export function checkNode(version = process.versions.node): Check {
  const { engines } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const minimum = engines.node.replace(/^>=\s*/, '');
  const check = {
    id: 'node',
    title: 'Node',
    required: true,
    detail: `${version} (needs ${minimum} or later)`,
  };
  if (isAtLeast(version, minimum)) return { ...check, status: 'ok' };
  return { ...check, status: 'missing', remedy: 'Install a current release from https://nodejs.org.' };
}

/** tslab and the sockets through which it is spoken to. */
export async function checkTslab(): Promise<Check> {
  const check = { id: 'tslab', title: 'tslab', required: true };
  try {
    const { version } = createRequire(import.meta.url)('tslab/package.json') as { version: string };
    const zeromq = await import('zeromq');
    return { ...check, status: 'ok', detail: `${version}, ZeroMQ ${zeromq.version}` };
  } catch (error) {
    return { ...check, status: 'missing', detail: firstLine(error), remedy: REINSTALL };
  }
}

/** JupyterLab and the kernels that it knows. */
export async function checkJupyter(
  search: () => Promise<LabSearch> = findJupyterLab,
  specsOf: (python: string) => Promise<Kernelspecs> = readKernelspecs,
): Promise<Check[]> {
  const { found, tried } = await search();
  const lab = { id: 'jupyterlab', title: 'JupyterLab', required: false };
  const kernel = { id: 'kernel', title: 'Jupyter kernel', required: false };
  if (!found) {
    const detail = `not found in ${tried.join(', ') || 'any Python: there is none on the PATH'}`;
    const needsLab = { detail: 'needs JupyterLab', remedy: 'Install JupyterLab first.' };
    return [
      { ...lab, status: 'missing', detail, remedy: INSTALL_JUPYTERLAB },
      { ...kernel, status: 'missing', ...needsLab },
    ];
  }
  const detail = `${found.jupyterlab} in ${found.executable} (Python ${found.python})`;
  return [
    { ...lab, status: 'ok', detail },
    { ...kernel, ...kernelFinding(await specsOf(found.executable)) },
  ];
}

function kernelFinding(specs: Kernelspecs): Pick<Check, 'status' | 'detail' | 'remedy'> {
  const names = Object.keys(specs).sort().join(', ') || 'none';
  if (isOurs(specs)) {
    const detail = `${KERNEL_NAME} starts this package's tslab (kernels: ${names})`;
    return { status: 'ok', detail };
  }
  const other = specs[KERNEL_NAME]?.resource_dir;
  const remedy = 'Register it: `npx parallelsearch lab --check`.';
  if (other === undefined)
    return { status: 'missing', detail: `${KERNEL_NAME} is not registered (kernels: ${names})`, remedy };
  return { status: 'warning', detail: `${KERNEL_NAME} in ${other} starts another tslab or Node`, remedy };
}

/** @param available bytes that processes can still have, limits of a container included */
export function checkMemory(available = process.availableMemory(), total = totalmem()): Check {
  const heap = gib(getHeapStatistics().heap_size_limit);
  const detail = `${gib(available)} available of ${gib(total)}; Node's heap may grow to ${heap}`;
  const check = { id: 'memory', title: 'Memory', required: false, detail };
  if (available >= GOOD_BYTES) return { ...check, status: 'ok' };
  const remedy = `Training takes up to ${gib(GOOD_BYTES)}: close other programs, or lower grpo.maxTokensPerPass.`;
  return { ...check, status: 'warning', remedy };
}

export async function checkHnsw(): Promise<Check> {
  const check = { id: 'hnswlib-node', title: 'hnswlib-node', required: false };
  try {
    const { version } = createRequire(import.meta.url)('hnswlib-node/package.json') as { version: string };
    await import('hnswlib-node');
    return { ...check, status: 'ok', detail: `${version} (HNSW index)` };
  } catch (error) {
    const remedy =
      'Install a C++ compiler, make and Python, then run `npm ci`. Without it there is no HNSW index; BM25 and exact search work.';
    return { ...check, status: 'missing', detail: firstLine(error), remedy };
  }
}

/** The browser in which reports are tested and pictures of them made. */
export async function checkChromium(file = process.env.CHROMIUM ?? findChromium()): Promise<Check> {
  const check = { id: 'chromium', title: 'Chromium', required: false };
  const remedy =
    'Install it from the system (Debian: `apt-get install chromium`), or name it in CHROMIUM. Only browser tests and pictures (PDF, PNG) need it.';
  if (!file || !existsSync(file)) {
    const detail = file ? `${file} does not exist` : 'neither Chromium nor Chrome is on the PATH';
    return { ...check, status: 'missing', detail, remedy };
  }
  const version = await versionOf(file);
  if (version) return { ...check, status: 'ok', detail: `${version} (${file})` };
  return { ...check, status: 'missing', detail: `${file} does not answer to --version`, remedy };
}

/** The first line that a program prints for `--version`, or null when it fails. */
function versionOf(file: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(file, ['--version'], { timeout: 30_000 }, (error, stdout) =>
      resolve(error ? null : stdout.trim().split('\n')[0]),
    );
  });
}
