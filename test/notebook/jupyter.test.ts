import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  findJupyterLab,
  isOurs,
  kernelspec,
  pythonCandidates,
  readKernelspecs,
  registerKernel,
} from '../../lib/notebook/jupyter.js';
import { temporaryFolder } from '../folder.js';
import { writeFakePython } from './fake-python.js';

const folder = temporaryFolder();

const isWindows = process.platform === 'win32';

describe('kernelspec', () => {
  it('starts the tslab of this package with the current Node', () => {
    const [node, program, tslab, ...rest] = kernelspec().argv;
    expect(node).toBe(process.execPath);
    expect(existsSync(program)).toBe(true);
    expect(existsSync(path.join(tslab, 'tslab'))).toBe(true);
    expect(rest).toEqual(['{connection_file}']);
  });
});

describe.skipIf(isWindows)('findJupyterLab', () => {
  it('returns the first Python with JupyterLab and the ones it tried', async () => {
    const without = writeFakePython(path.join(folder, 'without'), { jupyterlab: null });
    const having = writeFakePython(path.join(folder, 'with'), { jupyterlab: '4.5.0' });
    const none = path.join(folder, 'none');
    const { found, tried } = await findJupyterLab([none, without, having, 'python9']);
    expect(found).toMatchObject({ executable: having, jupyterlab: '4.5.0', python: '3.12.1' });
    expect(tried).toEqual([none, without, having]);
    expect(await findJupyterLab([without])).toEqual({ found: null, tried: [without] });
  });

  it('ignores programs that are not Python', async () => {
    expect((await findJupyterLab([process.execPath])).found).toBeNull();
  });
});

describe.skipIf(isWindows)('pythonCandidates', () => {
  it('starts with the active environment and ends with the Python of `jupyter` on the PATH', () => {
    const environment = path.join(folder, 'environment');
    const python = writeFakePython(path.join(environment, 'bin'), { jupyterlab: null });
    const scripts = mkdtempSync(path.join(folder, 'scripts-'));
    writeFileSync(path.join(scripts, 'jupyter'), '#!/somewhere/bin/python3.12\n', { mode: 0o755 });
    vi.stubEnv('VIRTUAL_ENV', environment);
    vi.stubEnv('PATH', scripts);
    const candidates = pythonCandidates();
    expect(candidates[0]).toBe(python);
    expect(candidates.at(-1)).toBe('/somewhere/bin/python3.12');
  });
});

describe.skipIf(isWindows)('registerKernel', () => {
  it('registers once and keeps a valid registration', async () => {
    const python = writeFakePython(path.join(folder, 'fresh'), { jupyterlab: '4.5.0' });
    expect(isOurs(await readKernelspecs(python))).toBe(false);
    const target = path.join(folder, 'fresh', 'kernels', 'tslab');
    expect(await registerKernel(python)).toEqual({ folder: target, isNew: true });
    expect(isOurs(await readKernelspecs(python))).toBe(true);
    expect(await registerKernel(python)).toEqual({ folder: target, isNew: false });
  });

  it('replaces a kernel with the same name, or names the one that takes precedence', async () => {
    const spec = { argv: ['tslab', 'kernel'], display_name: 'TypeScript' };
    const kernels = { tslab: { resource_dir: '/elsewhere/tslab', spec } };
    const fake = { jupyterlab: '4.5.0', kernels };
    const python = writeFakePython(path.join(folder, 'other'), fake);
    expect((await registerKernel(python)).isNew).toBe(true);
    const shadowed = writeFakePython(path.join(folder, 'shadowed'), { ...fake, isShadowed: true });
    await expect(registerKernel(shadowed)).rejects.toThrow(
      /uses \/elsewhere\/tslab\. Remove that one with `.*kernelspec remove tslab`/,
    );
  });
});
