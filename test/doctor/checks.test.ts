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
  it.each([
    ['20.19.0', true],
    ['20.9.5', false],
    ['22.0.0', true],
    ['18.20.1', false],
    ['20', false],
  ])('compares part by part, as numbers: %s, 20.19', (version, expected) => {
    expect(isAtLeast(version, '20.19')).toBe(expected);
  });
});

describe('checks of what is required', () => {
  it('find this Node and this tslab, and refuse an old Node, with a remedy', async () => {
    expect(checkNode()).toMatchObject({ status: 'ok', required: true });
    const version = expect.stringMatching(/^\d+\.\d+\.\d+, ZeroMQ \d/) as string;
    expect(await checkTslab()).toMatchObject({ status: 'ok', required: true, detail: version });
    const old = checkNode('18.20.1');
    expect(old).toMatchObject({ status: 'missing', required: true });
    expect(`${old.detail} ${old.remedy}`).toMatch(/18\.20\.1.*Install/);
  });
});

describe('checkJupyter', () => {
  const having: LabSearch = {
    found: { executable: '/venv/python', python: '3.12.1', jupyterlab: '4.5.0' },
    tried: ['/venv/python'],
  };
  const check = (search: LabSearch, specs: Kernelspecs = {}) =>
    checkJupyter(
      async () => search,
      async () => specs,
    );

  it('says where it looked for JupyterLab and how to get it', async () => {
    const checks = await check({ found: null, tried: ['/usr/bin/python3'] });
    for (const one of checks) expect(one).toMatchObject({ status: 'missing', required: false });
    expect(checks).toHaveLength(2);
    expect(checks[0].detail).toContain('/usr/bin/python3');
    expect(checks[0].remedy).toContain('pip install jupyterlab');
  });

  it('tells our kernel from another of its name and from none', async () => {
    const spec = kernelspec();
    const other = { ...spec, argv: ['tslab', 'kernel'] };
    for (const [name, found, status] of [
      ['tslab', spec, 'ok'],
      ['tslab', other, 'warning'],
      ['python3', other, 'missing'],
    ] as const) {
      const checks = await check(having, { [name]: { resource_dir: '/k', spec: found } });
      expect(checks.map((one) => one.status)).toEqual(['ok', status]);
    }
  });
});

describe('checks of what is optional', () => {
  it('warn of little memory', () => {
    expect(checkMemory(8 * 2 ** 30, 16 * 2 ** 30)).toMatchObject({ status: 'ok' });
    const { status, detail, remedy } = checkMemory(2 ** 30, 16 * 2 ** 30);
    expect(status).toBe('warning');
    expect(detail).toContain('1.0 GiB available of 16.0 GiB');
    expect(remedy).toBeDefined();
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
