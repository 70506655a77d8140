/** JupyterLab for tests, offline, with all its files in a new folder. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { labArguments } from '../../lib/commands/lab.js';
import { packagePath } from '../../lib/io/paths.js';
import { KERNEL_NAME, kernelspec } from '../../lib/notebook/jupyter.js';
import { freePort } from '../servers.js';

/** An idle machine needs a few seconds. */
const START_MS = 180_000;
const STOP_MS = 30_000;

/** Runs a module until stdin ends, so that nothing outlives a killed test. */
const UNTIL_INPUT_ENDS = `
import os, runpy, signal, sys, threading
def end():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end, daemon=True).start()
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
`;

const SETTINGS = {
  // Render all cells, not only visible ones.
  '@jupyterlab/notebook-extension/tracker': { windowingMode: 'none' },
  '@jupyterlab/apputils-extension/notification': { fetchNews: 'false', checkForUpdates: false },
};

export interface LabServer {
  /** Folder of notebooks; `../dist` is this package, as for its own notebooks. */
  notebooks: string;
  /** An address with its token. */
  url(target: string): URL;
  /** The JSON response to a GET request. */
  ask<T>(target: string): Promise<T>;
  /** Ends the server and its kernels, and deletes the folder. */
  close(): Promise<void>;
}

function writeJson(file: string, value: unknown): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(value));
}

/** Fills a new folder; returns the environment for JupyterLab. */
function prepare(folder: string): Record<string, string> {
  mkdirSync(path.join(folder, 'notebooks'));
  symlinkSync(packagePath('dist'), path.join(folder, 'dist'), 'junction');
  writeJson(path.join(folder, 'share', 'kernels', KERNEL_NAME, 'kernel.json'), kernelspec());
  for (const [name, value] of Object.entries(SETTINGS))
    writeJson(path.join(folder, 'settings', `${name}.jupyterlab-settings`), value);
  return {
    JUPYTER_NO_CONFIG: '1',
    JUPYTER_PATH: path.join(folder, 'share'), // takes precedence
    JUPYTER_DATA_DIR: path.join(folder, 'data'),
    JUPYTER_CONFIG_DIR: path.join(folder, 'config'),
    JUPYTER_RUNTIME_DIR: path.join(folder, 'runtime'),
    JUPYTERLAB_SETTINGS_DIR: path.join(folder, 'settings'),
    JUPYTERLAB_WORKSPACES_DIR: path.join(folder, 'workspaces'),
  };
}

const ARGUMENTS = [
  '--ServerApp.port_retries=0',
  '--LabApp.expose_app_in_browser=True',
  '--LabApp.extension_manager=readonly',
  '--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate',
  ...(process.getuid?.() === 0 ? ['--ServerApp.allow_root=True'] : []),
];

/** Polls until the server answers. @throws Error with its log if it ends or is late */
async function answering(child: ChildProcess, url: URL): Promise<void> {
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => (log += String(text)));
  for (const start = Date.now(); Date.now() - start < START_MS; await sleep(200)) {
    if (child.exitCode !== null) break;
    if ((await fetch(url).catch(() => null))?.ok) return;
  }
  throw new Error(`Expected JupyterLab to start, but it did not:\n${log}`);
}

/** Stops the server and its kernels, by force if needed. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.stdin?.end();
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await gone;
  clearTimeout(force);
}

/** Starts JupyterLab as `parallelsearch lab` does; the caller closes it. */
export async function startLab(python: string): Promise<LabServer> {
  const folder = mkdtempSync(path.join(tmpdir(), 'jupyterlab-'));
  const notebooks = path.join(folder, 'notebooks');
  const env = { ...process.env, ...prepare(folder) };
  const [port, token] = [await freePort(), randomUUID()];
  const args = labArguments(notebooks, { port, browser: false }, [
    `--IdentityProvider.token=${token}`,
    ...ARGUMENTS,
  ]);
  const child = spawn(python, ['-c', UNTIL_INPUT_ENDS, ...args], { env, stdio: 'pipe' });
  const url = (target: string): URL =>
    new URL(`${target}?token=${token}`, `http://127.0.0.1:${port}`);
  const close = async (): Promise<void> => {
    await stop(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await answering(child, url('/api/status'));
  } catch (error) {
    await close();
    throw error;
  }
  const ask = async <T>(target: string): Promise<T> =>
    (await fetch(url(target))).json() as Promise<T>;
  return { notebooks, url, ask, close };
}
