/**
 * JupyterLab on this machine: which Python has it, which kernels it knows, and the
 * registration of ours.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { findProgram, packagePath } from '../io/paths.js';
import { tslabScript } from './kernel.js';

const PROBE_TIMEOUT_MS = 60_000;
/** The name that the notebooks ask for. */
export const KERNEL_NAME = 'tslab';

/**
 * The interpreter itself, whatever link it was called by, and the versions of Python and
 * of JupyterLab.
 */
const pythonSchema = z.object({
  executable: z.string(),
  python: z.string(),
  jupyterlab: z.string(),
});

/** Fails where there is no JupyterLab. */
const PROBE = `
import json, sys
from importlib.metadata import version
lab = version("jupyterlab")
print(json.dumps({"executable": sys.executable, "python": sys.version.split()[0], "jupyterlab": lab}))
`;

const SPECS = `
import json
from jupyter_client.kernelspec import KernelSpecManager
print(json.dumps(KernelSpecManager().get_all_specs()))
`;

const INSTALL = `
import sys
from jupyter_client.kernelspec import KernelSpecManager
folder, name = sys.argv[1:]
try:
    print(KernelSpecManager().install_kernel_spec(folder, name, prefix=sys.prefix))
except OSError:
    print(KernelSpecManager().install_kernel_spec(folder, name, user=True))
`;

/**
 * Runs a script in a Python and returns its last line; rejects when the Python or the
 * script fails.
 */
async function runPython(
  python: string,
  script: string,
  args: readonly string[] = [],
): Promise<string> {
  const { stdout } = await promisify(execFile)(python, ['-c', script, ...args], {
    timeout: PROBE_TIMEOUT_MS,
    maxBuffer: 16 * 2 ** 20,
  });
  return stdout.trim().split('\n').at(-1) ?? '';
}

/**
 * The interpreter that a script's first line names: how `jupyter` on the PATH leads to
 * its Python.
 */
function interpreterOf(script: string | undefined): string | undefined {
  if (!script || process.platform === 'win32') return undefined;
  const [first] = readFileSync(script, 'latin1').split('\n', 1);
  return /^#!\s*(\S*python\S*)/.exec(first)?.[1];
}

/**
 * Pythons that may have JupyterLab, the likeliest first: the active environment, a
 * `.venv` here or beside this package, the one behind `jupyter` on the PATH, the plain
 * ones, and where pipx and uv keep tools.
 */
export function pythonCandidates(): string[] {
  const tools = ['.local/share/pipx/venvs', '.local/pipx/venvs', '.local/share/uv/tools'];
  const environments = [
    process.env.VIRTUAL_ENV,
    process.env.CONDA_PREFIX,
    path.resolve('.venv'),
    packagePath('.venv'),
    ...tools.flatMap((folder) =>
      ['jupyterlab', 'jupyter'].map((name) => path.join(homedir(), folder, name)),
    ),
  ];
  const inside = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  const pythons = environments.flatMap((folder) => (folder ? path.join(folder, ...inside) : []));
  const scripts = ['jupyter-lab', 'jupyter'].map((name) => interpreterOf(findProgram(name)));
  const files = [
    ...pythons.filter((file) => existsSync(file)),
    ...scripts,
    ...['python3', 'python'].map(findProgram),
  ];
  return [...new Set(files.filter((file) => file !== undefined))];
}

export interface LabSearch {
  found: z.infer<typeof pythonSchema> | null;
  /** Where it was looked for, in order. */
  tried: string[];
}

/**
 * The first of `candidates` that has JupyterLab; a program that does not answer like
 * Python 3.8 or later has not.
 */
export async function findJupyterLab(
  candidates: readonly string[] = pythonCandidates(),
): Promise<LabSearch> {
  for (const [i, candidate] of candidates.entries()) {
    const answer = runPython(candidate, PROBE).then((text): unknown => JSON.parse(text));
    const parsed = pythonSchema.safeParse(await answer.catch(() => null));
    if (parsed.success) return { found: parsed.data, tried: candidates.slice(0, i + 1) };
  }
  return { found: null, tried: [...candidates] };
}

/** What to do where JupyterLab is not found. */
export const INSTALL_JUPYTERLAB =
  'Install it with `python3 -m venv .venv && .venv/bin/pip install jupyterlab`, or name the Python that has it with --python. Without it, `npx parallelsearch notebook run` executes notebooks all the same.';

const kernelspecsSchema = z.record(
  z.string(),
  z.object({
    resource_dir: z.string(),
    spec: z.looseObject({ argv: z.array(z.string()), display_name: z.string() }),
  }),
);
export type Kernelspecs = z.infer<typeof kernelspecsSchema>;

/** The kernels that a Python's Jupyter knows, by name. */
export async function readKernelspecs(python: string): Promise<Kernelspecs> {
  return kernelspecsSchema.parse(JSON.parse(await runPython(python, SPECS)));
}

/** The kernelspec that starts this package's own tslab with the Node that runs now. */
export function kernelspec(): { argv: string[]; display_name: string; language: string } {
  const argv = [process.execPath, tslabScript(), 'kernel', '--config-path', '{connection_file}'];
  return { argv, display_name: 'TypeScript', language: 'typescript' };
}

/**
 * Whether the kernel that notebooks get under {@link KERNEL_NAME} is this package's own.
 */
export function isOurs(specs: Kernelspecs): boolean {
  return JSON.stringify(specs[KERNEL_NAME]?.spec.argv) === JSON.stringify(kernelspec().argv);
}

/**
 * Registers the kernel with a Python that has Jupyter: in its environment, or for the
 * user where that is read-only.
 * @returns where the kernelspec is, and whether it was not there already
 * @throws Error when another kernel of the same name takes precedence, naming its folder
 * and the remedy
 */
export async function registerKernel(python: string): Promise<{ folder: string; isNew: boolean }> {
  const before = await readKernelspecs(python);
  if (isOurs(before)) return { folder: before[KERNEL_NAME].resource_dir, isNew: false };
  const folder = await installKernelspec(python);
  const after = await readKernelspecs(python);
  if (isOurs(after)) return { folder, isNew: true };
  const other = after[KERNEL_NAME]?.resource_dir ?? 'none';
  throw new Error(
    `Expected Jupyter to take the kernel in ${folder}, but it takes ${other}. Remove that one with \`${python} -m jupyter kernelspec remove ${KERNEL_NAME}\`.`,
  );
}

async function installKernelspec(python: string): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'parallelsearch-kernelspec-'));
  try {
    writeFileSync(path.join(folder, 'kernel.json'), JSON.stringify(kernelspec(), null, 1));
    return await runPython(python, INSTALL, [folder, KERNEL_NAME]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
