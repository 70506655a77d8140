import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { labArguments, runLab, type LabSettings, type Start } from '../../lib/commands/lab.js';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { writeFakePython } from '../notebook/fake-python.js';

const folder = temporaryFolder();

/** Runs the command with a recorder in place of JupyterLab. */
async function lab(args: string[], settings: Partial<LabSettings>) {
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => (said += String(text)) !== '');
  const started: (readonly string[])[] = [];
  const start: Start = async (program, given) => (started.push([program, ...given]), 7);
  const exitCode = await runLab(args, { browser: true, ...settings }, start);
  return { exitCode, said, started };
}

describe.skipIf(process.platform === 'win32')('lab', () => {
  const python = writeFakePython(path.join(folder, 'with'), { jupyterlab: '4.5.0' });

  it('only registers the kernel with --check', async () => {
    const { exitCode, said, started } = await lab([], { check: true, python });
    expect(exitCode).toBe(0);
    expect(said).toContain(`JupyterLab 4.5.0 in ${python}\n`);
    expect(said).toContain('kernel tslab: registered in ');
    expect(started).toEqual([]);
    expect((await lab([], { check: true, python })).said).toContain(
      'kernel tslab: already registered in ',
    );
  });

  it("opens the notebooks and returns JupyterLab's exit code", async () => {
    const { exitCode, started } = await lab(['--IdentityProvider.token=x'], {
      python,
      port: 9999,
      browser: false,
    });
    expect(exitCode).toBe(7);
    const options = ['--ServerApp.port=9999', '--no-browser', '--IdentityProvider.token=x'];
    const listen = '--ServerApp.ip=127.0.0.1';
    expect(started).toEqual([
      [python, '-m', 'jupyterlab', packagePath('notebooks'), listen, ...options],
    ]);
  });

  it('returns 1 with a remedy without JupyterLab', async () => {
    const without = writeFakePython(path.join(folder, 'without'), { jupyterlab: null });
    const { exitCode, said, started } = await lab([], { python: without });
    expect(exitCode).toBe(1);
    expect(said).toContain(`JupyterLab was not found in ${without}.`);
    expect(said).toContain('pip install jupyterlab');
    expect(said).toContain('notebook run');
    expect(started).toEqual([]);
  });

  it('rejects a missing folder, and two folders', async () => {
    await expect(lab(['/nowhere'], { python })).rejects.toThrow('but got /nowhere.');
    await expect(lab([folder, folder], { python })).rejects.toThrow(
      'Expected one notebook or folder',
    );
  });
});

it('labArguments leaves port and browser to JupyterLab by default', () => {
  const args = ['-m', 'jupyterlab', 'a', '--ServerApp.ip=127.0.0.1'];
  expect(labArguments('a', { browser: true }, [])).toEqual(args);
});
