/** `parallelsearch doctor`: checks what this machine has and says how to get the rest. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { Command } from 'commander';
import { installCommand, loadOptional, optionalFolder, optionalVersion } from '../io/optional.js';
import { isClone, packagePath } from '../io/paths.js';
import {
  findJupyterLab,
  INSTALL_JUPYTERLAB,
  isOurs,
  KERNEL_NAME,
  readKernelspecs,
  type LabSearch,
} from '../notebook/jupyter.js';
import { findChromium } from '../report/charts/render.js';
import { BACKEND_NAMES } from '../tensor/backend.js';
import { exitWith } from './common/cli-utils.js';
import { BACKEND_REMEDIES, checkBackend, type Finding } from './doctor-backends.js';

interface Check {
  /** Stable id, such as `backend-wasm`. */
  id: string;
  title: string;
  required: boolean;
  /** `warning`: present, but not as good as it should be. */
  status: 'ok' | 'warning' | 'missing';
  /** Versions found, or why it is missing. */
  detail: string;
  /** How to fix it; absent if all is well. */
  remedy?: string;
}

/** Something to check; if `check` throws, it is missing. */
export interface Part extends Pick<Check, 'id' | 'title' | 'required' | 'remedy'> {
  check: () => Finding | Promise<Finding>;
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0];

/** Checks one part after the other, so that measurements are undisturbed. */
export async function diagnose(parts: readonly Part[]): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { check, remedy, ...part } of parts) {
    const finding = await Promise.resolve()
      .then(check)
      .catch((error: unknown) => ({
        status: 'missing' as const,
        detail: firstLine((error as Error)?.cause ?? error),
      }));
    checks.push(
      typeof finding === 'string'
        ? { ...part, status: 'ok', detail: finding }
        : { ...part, remedy, ...finding },
    );
  }
  return checks;
}

const isLacking = ({ status, required }: Check): boolean => status === 'missing' && required;

const isComplete = (checks: readonly Check[]): boolean => !checks.some(isLacking);

function formatDiagnosis(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ title }) => title.length));
  const lines = checks.flatMap((check) => {
    const mark =
      check.status === 'missing' ? (check.required ? 'MISSING' : 'absent') : check.status;
    return [
      `${mark.padEnd(8)} ${check.title.padEnd(width)}  ${check.detail}`,
      ...(check.remedy ? [`${' '.repeat(width + 9)}  -> ${check.remedy}`] : []),
    ];
  });
  const lacking = checks.filter(isLacking).map(({ title }) => title);
  const verdict =
    lacking.length === 0 ? 'Everything required is installed.' : `Missing: ${lacking.join(', ')}.`;
  return `${lines.join('\n')}\n\n${verdict}\n`;
}

/** Memory that small-world training takes with two processes. */
const GOOD_BYTES = 4 * 2 ** 30;
const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

/** All parts in the order of the report; checking them takes some seconds. */
export function allParts(): Part[] {
  let search: Promise<LabSearch> | undefined;
  const searchOnce = (): Promise<LabSearch> => (search ??= findJupyterLab());
  return [
    {
      id: 'node',
      title: 'Node',
      required: true,
      check: () => checkNode(process.versions.node),
      remedy: 'Install a current release from https://nodejs.org.',
    },
    {
      id: 'tslab',
      title: 'tslab',
      required: isClone(),
      check: checkTslab,
      remedy: `Install it: \`${installCommand('tslab')}\`. Needed only to run notebooks.`,
    },
    {
      id: 'danfojs-node',
      title: 'danfojs-node',
      required: isClone(),
      check: () => optionalVersion('danfojs-node'),
      remedy: `Install it: \`${installCommand('danfojs-node')}\`. Needed only for data frames in notebooks.`,
    },
    {
      id: 'jupyterlab',
      title: 'JupyterLab',
      required: false,
      remedy: INSTALL_JUPYTERLAB,
      check: async () => checkLab(await searchOnce()),
    },
    {
      id: 'kernel',
      title: 'Jupyter kernel',
      required: false,
      check: async () => checkKernel(await searchOnce()),
      remedy: 'Register it: `npx parallelsearch lab --check`.',
    },
    ...BACKEND_NAMES.map((name) => ({
      id: `backend-${name}`,
      title: `tfjs ${name}`,
      required: name === 'wasm' || name === 'cpu',
      check: () => checkBackend(name),
      remedy: BACKEND_REMEDIES[name],
    })),
    {
      id: 'memory',
      title: 'Memory',
      required: false,
      check: () => checkMemory(process.availableMemory(), totalmem()),
      remedy: `Training takes up to ${gib(GOOD_BYTES)}. Close other programs, or lower grpo.maxTokensPerPass.`,
    },
    {
      id: 'hnswlib-node',
      title: 'hnswlib-node',
      required: false,
      check: checkHnsw,
      remedy: `Install a C++ compiler, make and Python, then run \`${installCommand('hnswlib-node')}\`. Needed only for HNSW indexes.`,
    },
    {
      id: 'chromium',
      title: 'Chromium',
      required: false,
      check: () => checkChromium(process.env.CHROMIUM || findChromium()),
      remedy:
        'Install it from the system (Debian: `apt-get install chromium`), or set CHROMIUM to its path. Needed only for browser tests and for PDF and PNG export.',
    },
  ];
}

const missing = (detail: string): Finding => ({ status: 'missing', detail });

export function checkNode(version: string): Finding {
  const { engines } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const minimum = engines.node.replace(/^>=\s*/, '');
  const detail = `${version} (needs ${minimum} or later)`;
  return version.localeCompare(minimum, 'en', { numeric: true }) >= 0 ? detail : missing(detail);
}

function checkTslab(): Finding {
  const version = optionalVersion('tslab');
  const zeromq = createRequire(path.join(optionalFolder('tslab'), 'package.json'))('zeromq') as {
    version: string;
  };
  return `${version}, ZeroMQ ${zeromq.version}`;
}

export function checkLab({ found, tried }: LabSearch): Finding {
  return found
    ? `${found.jupyterlab} in ${found.executable} (Python ${found.python})`
    : missing(`not found in ${tried.join(', ') || 'PATH: there is no Python'}`);
}

export async function checkKernel(
  { found }: LabSearch,
  listKernelspecs = readKernelspecs,
): Promise<Finding> {
  if (!found)
    return { status: 'missing', detail: 'needs JupyterLab', remedy: 'Install JupyterLab first.' };
  const specs = await listKernelspecs(found.executable);
  const names = `(kernels: ${Object.keys(specs).sort().join(', ') || 'none'})`;
  if (isOurs(specs)) return `${KERNEL_NAME} starts this package's tslab ${names}`;
  const other = specs[KERNEL_NAME]?.resource_dir;
  return other === undefined
    ? missing(`${KERNEL_NAME} is not registered ${names}`)
    : { status: 'warning', detail: `${KERNEL_NAME} in ${other} starts another tslab or Node` };
}

/** @param available bytes, within the limits of the container */
export function checkMemory(available: number, total: number): Finding {
  const heap = gib(getHeapStatistics().heap_size_limit);
  const detail = `${gib(available)} available of ${gib(total)}; Node's heap may grow to ${heap}`;
  return available >= GOOD_BYTES ? detail : { status: 'warning', detail };
}

function checkHnsw(): Finding {
  loadOptional('hnswlib-node');
  return `${optionalVersion('hnswlib-node')} (HNSW index)`;
}

/** Checks the browser for tests and for PDF and PNG export. */
export async function checkChromium(file: string | undefined): Promise<Finding> {
  if (!file) return missing('neither Chromium nor Chrome is on the PATH');
  if (!existsSync(file)) return missing(`${file} does not exist`);
  return promisify(execFile)(file, ['--version'], { timeout: 30_000 }).then(
    ({ stdout }) => `${stdout.trim().split('\n')[0]} (${file})`,
    () => missing(`${file} does not answer to --version`),
  );
}

/** Prints the diagnosis; the exit code is 1 if something required is missing. */
export async function runDoctor(settings: { json?: boolean }, parts = allParts()): Promise<number> {
  const checks = await diagnose(parts);
  const ok = isComplete(checks);
  process.stdout.write(
    settings.json ? `${JSON.stringify({ ok, checks }, null, 1)}\n` : formatDiagnosis(checks),
  );
  return ok ? 0 : 1;
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .description('check Node, notebooks, backends, memory and optional parts')
    .option('--json', 'print JSON')
    .action(exitWith(runDoctor));
}
