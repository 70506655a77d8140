/** `parallelsearch lab`: opens notebooks in JupyterLab with the TypeScript kernel. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { packagePath } from '../io/paths.js';
import {
  findJupyterLab,
  INSTALL_JUPYTERLAB,
  KERNEL_NAME,
  registerKernel,
} from '../notebook/jupyter.js';
import { exitWith, log, parsePort } from './common/cli-utils.js';

export interface LabSettings {
  check?: boolean;
  browser: boolean;
  port?: number;
  python?: string;
}

/** Runs a program in this terminal and resolves to its exit code. */
export type Start = (program: string, args: readonly string[]) => Promise<number>;

/** JupyterLab handles Ctrl-C itself; SIGTERM is passed on. */
const startHere: Start = (program, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit' });
    const ignore = (): void => undefined;
    const stop = (): void => void child.kill('SIGTERM');
    process.on('SIGINT', ignore).on('SIGTERM', stop);
    child.on('error', reject);
    child.on('close', (code) => {
      process.off('SIGINT', ignore).off('SIGTERM', stop);
      resolve(code ?? 1);
    });
  });

/** JupyterLab's arguments; it always listens on this machine only. */
export function labArguments(
  target: string,
  settings: LabSettings,
  extra: readonly string[],
): string[] {
  const port = settings.port === undefined ? [] : [`--ServerApp.port=${settings.port}`];
  const browser = settings.browser ? [] : ['--no-browser'];
  return ['-m', 'jupyterlab', target, '--ServerApp.ip=127.0.0.1', ...port, ...browser, ...extra];
}

/**
 * Registers the kernel and opens JupyterLab.
 * @param args a notebook or folder (default: this package's notebooks), and options of
 * JupyterLab
 * @returns JupyterLab's exit code, or 1 if it is not installed
 */
export async function runLab(
  args: readonly string[],
  settings: LabSettings,
  start: Start = startHere,
): Promise<number> {
  const [target = packagePath('notebooks'), ...others] = args.filter((arg) => !arg.startsWith('-'));
  if (others.length > 0 || !existsSync(target)) {
    const what = others.length > 0 ? [target, ...others].join(' ') : target;
    throw new Error(`Expected one notebook or folder that exists, but got ${what}.`);
  }
  const { found, tried } = await findJupyterLab(settings.python ? [settings.python] : undefined);
  if (!found) {
    log(`JupyterLab was not found in ${tried.join(', ') || 'any Python'}.\n${INSTALL_JUPYTERLAB}`);
    return 1;
  }
  log(`JupyterLab ${found.jupyterlab} in ${found.executable}`);
  const { folder, isNew } = await registerKernel(found.executable);
  log(`kernel ${KERNEL_NAME}: ${isNew ? 'registered' : 'already registered'} in ${folder}`);
  if (settings.check) return 0;
  const extra = args.filter((arg) => arg.startsWith('-'));
  return start(found.executable, labArguments(target, settings, extra));
}

export function labCommand(): Command {
  return new Command('lab')
    .description('open notebooks in JupyterLab with the TypeScript kernel')
    .argument(
      '[args...]',
      'notebook or folder (default: notebooks of this package); after --, options of JupyterLab',
    )
    .option('--check', 'only find JupyterLab and register the kernel')
    .option('--no-browser', 'serve without opening a browser')
    .option('--port <n>', 'port of JupyterLab', parsePort)
    .option('--python <file>', 'Python with JupyterLab')
    .action(exitWith(runLab));
}
