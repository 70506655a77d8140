import { describe, expect, it } from 'vitest';
import { diagnose } from '../../lib/commands/doctor.js';
import {
  allParts,
  checkChromium,
  checkKernel,
  checkLab,
  checkMemory,
  checkNode,
} from '../../lib/commands/doctor.js';
import { kernelspec, type LabSearch } from '../../lib/notebook/jupyter.js';

it('finds Node, tslab and hnswlib-node, with a remedy only if missing', async () => {
  const wanted = ['node', 'tslab', 'hnswlib-node'];
  const [node, tslab, hnsw] = await diagnose(allParts().filter(({ id }) => wanted.includes(id)));
  expect(node).toMatchObject({ status: 'ok', required: true });
  const detail = expect.stringMatching(/^\d+\.\d+\.\d+, ZeroMQ \d/) as string;
  expect(tslab).toMatchObject({ status: 'ok', required: true, detail });
  expect(hnsw.required).toBe(false);
  expect(hnsw.remedy === undefined).toBe(hnsw.status === 'ok');
});

it.each([
  ['20.19.0', true],
  ['20.9.5', false],
  ['22.0.0', true],
  ['18.20.1', false],
  ['100.1.0', true],
])('compares Node versions numerically: %s', (version, isEnough) => {
  const detail = `${version} (needs 20.19 or later)`;
  expect(checkNode(version)).toEqual(isEnough ? detail : { status: 'missing', detail });
});

describe('JupyterLab', () => {
  const search: LabSearch = {
    found: { executable: '/venv/python', python: '3.12.1', jupyterlab: '4.5.0' },
    tried: ['/venv/python'],
  };
  const none: LabSearch = { found: null, tried: ['/usr/bin/python3'] };

  it('is reported with its Python, or with the places searched', () => {
    expect(checkLab(search)).toBe('4.5.0 in /venv/python (Python 3.12.1)');
    expect(checkLab(none)).toEqual({ status: 'missing', detail: 'not found in /usr/bin/python3' });
  });

  it('reports our kernel, another one with its name, or none', async () => {
    const spec = kernelspec();
    const other = { ...spec, argv: ['tslab', 'kernel'] };
    const kernel = (name: string, found: typeof spec) =>
      checkKernel(search, async () => ({ [name]: { resource_dir: '/k', spec: found } }));
    expect(await kernel('tslab', spec)).toMatch(/^tslab starts this package's tslab/);
    expect(await kernel('tslab', other)).toMatchObject({ status: 'warning' });
    expect(await kernel('python3', other)).toMatchObject({ status: 'missing' });
    expect(await checkKernel(none)).toMatchObject({ remedy: 'Install JupyterLab first.' });
  });
});

it('warns if memory is low', () => {
  expect(checkMemory(8 * 2 ** 30, 16 * 2 ** 30)).toContain('8.0 GiB available');
  const detail = expect.stringContaining('1.0 GiB available of 16.0 GiB') as string;
  expect(checkMemory(2 ** 30, 16 * 2 ** 30)).toEqual({ status: 'warning', detail });
});

it('reports a browser that responds to --version', async () => {
  expect(await checkChromium(undefined)).toMatchObject({ status: 'missing' });
  expect(await checkChromium('/nowhere/chrome')).toMatchObject({
    detail: '/nowhere/chrome does not exist',
  });
  expect(await checkChromium(process.execPath)).toBe(`${process.version} (${process.execPath})`);
});
