import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  checkChromium,
  checkHnsw,
  checkJupyter,
  checkMemory,
  checkNode,
  checkTslab,
  isAtLeast,
} from '../../lib/doctor/checks.js';
import { kernelspec, type Kernelspecs, type LabSearch } from '../../lib/notebook/jupyter.js';

afterEach(() => vi.unstubAllEnvs());

describe('isAtLeast', () => {
  it('compares part by part, as numbers', () => {
    expect(isAtLeast('20.19.0', '20.19')).toBe(true);
    expect(isAtLeast('20.9.5', '20.19')).toBe(false);
    expect(isAtLeast('22.0.0', '20.19')).toBe(true);
    expect(isAtLeast('18.20.1', '20.19')).toBe(false);
    expect(isAtLeast('20', '20.19')).toBe(false);
  });
});

describe('checks of what is required', () => {
  it('find this Node and this tslab', async () => {
    expect(checkNode()).toMatchObject({ status: 'ok', required: true });
    const tslab = await checkTslab();
    expect(tslab).toMatchObject({ status: 'ok', required: true });
    expect(tslab.detail).toMatch(/^\d+\.\d+\.\d+, ZeroMQ \d/);
  });

  it('refuse an old Node, with a remedy', () => {
    const check = checkNode('18.20.1');
    expect(check).toMatchObject({ status: 'missing', required: true });
    expect(check.detail).toContain('18.20.1');
    expect(check.remedy).toContain('Install');
  });
});

describe('checkJupyter', () => {
  const having: LabSearch = {
    found: { executable: '/venv/python', python: '3.12.1', jupyterlab: '4.5.0', jupyterClient: '8.6' },
    tried: ['/venv/python'],
  };
  const statuses = async (specs: Kernelspecs): Promise<string[]> =>
    (
      await checkJupyter(
        async () => having,
        async () => specs,
      )
    ).map(({ status }) => status);

  it('says where it looked for JupyterLab and how to get it', async () => {
    const checks = await checkJupyter(
      async () => ({ found: null, tried: ['/usr/bin/python3'] }),
      async () => ({}),
    );
    expect(checks.map(({ status, required }) => [status, required])).toEqual([
      ['missing', false],
      ['missing', false],
    ]);
    expect(checks[0].detail).toContain('/usr/bin/python3');
    expect(checks[0].remedy).toContain('pip install jupyterlab');
  });

  it('tells our kernel from another of its name and from none', async () => {
    const spec = kernelspec();
    const other = { ...spec, argv: ['tslab', 'kernel'] };
    expect(await statuses({ tslab: { resource_dir: '/k', spec } })).toEqual(['ok', 'ok']);
    expect(await statuses({ tslab: { resource_dir: '/k', spec: other } })).toEqual(['ok', 'warning']);
    expect(await statuses({ python3: { resource_dir: '/k', spec: other } })).toEqual(['ok', 'missing']);
  });
});

describe('checks of what is optional', () => {
  it('warn of little memory', () => {
    const good = checkMemory(8 * 2 ** 30, 16 * 2 ** 30);
    expect([good.status, good.remedy]).toEqual(['ok', undefined]);
    const check = checkMemory(2 ** 30, 16 * 2 ** 30);
    expect(check.status).toBe('warning');
    expect(check.detail).toContain('1.0 GiB available of 16.0 GiB');
    expect(check.remedy).toBeDefined();
  });

  it('report hnswlib-node as it is, with a remedy exactly where it is missing', async () => {
    const check = await checkHnsw();
    expect(check.required).toBe(false);
    expect(check.remedy === undefined).toBe(check.status === 'ok');
  });

  it('take a browser that answers, and no other program', async () => {
    vi.stubEnv('PATH', '/nowhere');
    vi.stubEnv('CHROMIUM', undefined);
    expect(await checkChromium()).toMatchObject({ status: 'missing', required: false });
    expect((await checkChromium('/nowhere/chrome')).detail).toBe('/nowhere/chrome does not exist');
    const found = await checkChromium(process.execPath);
    expect(found).toMatchObject({ status: 'ok', detail: `${process.version} (${process.execPath})` });
  });
});
