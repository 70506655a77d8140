/** Finds JupyterLab on this machine and registers the TypeScript kernel with it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { findProgram, packagePath } from '../io/paths.js';
import { kernelProgram } from './kernel.js';

const PROBE_TIMEOUT_MS = 60_000;
/** The kernel's name in notebooks. */
export const KERNEL_NAME = 'tslab';

const pythonSchema = z.object({
  executable: z.string(),
  python: z.string(),
  jupyterlab: z.string(),
});

/** Fails without JupyterLab. `sys.executable` resolves links. */
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

/** Runs a Python script and returns the last line of its output. */
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

/** The Python in a script's first line, for example of `jupyter` on the PATH. */
function readShebang(script: string | undefined): string | undefined {
  if (!script || process.platform === 'win32') return undefined;
  const [first] = readFileSync(script, 'latin1').split('\n', 1);
  return /^#!\s*(\S*python\S*)/.exec(first)?.[1];
}

/**
 * Pythons that may have JupyterLab, most likely first: active environments, `.venv` here
 * and in this package, tools of pipx and uv, the one of `jupyter` on the PATH, and
 * `python3`.
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
  const scripts = ['jupyter-lab', 'jupyter'].map((name) => readShebang(findProgram(name)));
  const files = [
    ...pythons.filter((file) => existsSync(file)),
    ...scripts,
    ...['python3', 'python'].map(findProgram),
  ];
  return [...new Set(files.filter((file) => file !== undefined))];
}

export interface LabSearch {
  found: z.infer<typeof pythonSchema> | null;
  /** The Pythons that were tried, in order. */
  tried: string[];
}

/** Returns the first of `candidates` that has JupyterLab. */
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

/** Shown if JupyterLab is not found. */
export const INSTALL_JUPYTERLAB =
  'Install it with `python3 -m venv .venv && .venv/bin/pip install jupyterlab`, or pass a Python that has it with --python. `npx parallelsearch notebook run` executes notebooks without it.';

const kernelspecsSchema = z.record(
  z.string(),
  z.object({
    resource_dir: z.string(),
    spec: z.looseObject({ argv: z.array(z.string()), display_name: z.string() }),
  }),
);
type Kernelspecs = z.infer<typeof kernelspecsSchema>;

/** The kernels of a Python's Jupyter, by name. */
export async function readKernelspecs(python: string): Promise<Kernelspecs> {
  return kernelspecsSchema.parse(JSON.parse(await runPython(python, SPECS)));
}

/** The kernelspec of this package's kernel, run by the current Node. */
export function kernelspec(): { argv: string[]; display_name: string; language: string } {
  const argv = [process.execPath, ...kernelProgram(), '{connection_file}'];
  return { argv, display_name: 'TypeScript', language: 'typescript' };
}

/** Whether {@link KERNEL_NAME} is this package's kernel. */
export function isOurs(specs: Kernelspecs): boolean {
  return JSON.stringify(specs[KERNEL_NAME]?.spec.argv) === JSON.stringify(kernelspec().argv);
}

/**
 * Registers the kernel with a Python's Jupyter: in its environment, or for the user if
 * that is read-only.
 * @returns the folder of the kernelspec, and whether it is new
 * @throws Error if another kernel of the same name takes precedence
 */
export async function registerKernel(python: string): Promise<{ folder: string; isNew: boolean }> {
  const specs = await readKernelspecs(python);
  if (isOurs(specs)) return { folder: specs[KERNEL_NAME].resource_dir, isNew: false };
  const folder = await installKernelspec(python);
  const after = await readKernelspecs(python);
  if (isOurs(after)) return { folder, isNew: true };
  const other = after[KERNEL_NAME]?.resource_dir ?? 'none';
  throw new Error(
    `Expected Jupyter to use the kernel in ${folder}, but it uses ${other}. Remove that one with \`${python} -m jupyter kernelspec remove ${KERNEL_NAME}\`.`,
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
