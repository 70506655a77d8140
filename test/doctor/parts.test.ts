import { describe, expect, it } from 'vitest';
import { diagnose } from '../../lib/doctor/check.js';
import {
  allParts,
  lookAtChromium,
  lookAtKernel,
  lookAtLab,
  lookAtMemory,
  lookAtNode,
} from '../../lib/doctor/parts.js';
import { kernelspec, type LabSearch } from '../../lib/notebook/jupyter.js';

it('finds this Node, this tslab, and hnswlib-node as it is, with a remedy exactly where it is missing', async () => {
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
])('compares Node’s version part by part, as numbers: %s', (version, isEnough) => {
  const detail = `${version} (needs 20.19 or later)`;
  expect(lookAtNode(version)).toEqual(isEnough ? detail : { status: 'missing', detail });
});

describe('JupyterLab', () => {
  const search: LabSearch = {
    found: { executable: '/venv/python', python: '3.12.1', jupyterlab: '4.5.0' },
    tried: ['/venv/python'],
  };
  const none: LabSearch = { found: null, tried: ['/usr/bin/python3'] };

  it('is named with its Python, or with where it was looked for', () => {
    expect(lookAtLab(search)).toBe('4.5.0 in /venv/python (Python 3.12.1)');
    expect(lookAtLab(none)).toEqual({ status: 'missing', detail: 'not found in /usr/bin/python3' });
  });

  it('has our kernel, another of its name, or none', async () => {
    const spec = kernelspec();
    const other = { ...spec, argv: ['tslab', 'kernel'] };
    const kernel = (name: string, found: typeof spec) =>
      lookAtKernel(search, async () => ({ [name]: { resource_dir: '/k', spec: found } }));
    expect(await kernel('tslab', spec)).toMatch(/^tslab starts this package's tslab/);
    expect(await kernel('tslab', other)).toMatchObject({ status: 'warning' });
    expect(await kernel('python3', other)).toMatchObject({ status: 'missing' });
    expect(await lookAtKernel(none)).toMatchObject({ remedy: 'Install JupyterLab first.' });
  });
});

it('warns of little memory', () => {
  expect(lookAtMemory(8 * 2 ** 30, 16 * 2 ** 30)).toContain('8.0 GiB available');
  const detail = expect.stringContaining('1.0 GiB available of 16.0 GiB') as string;
  expect(lookAtMemory(2 ** 30, 16 * 2 ** 30)).toEqual({ status: 'warning', detail });
});

it('takes a browser that answers, and no other program', async () => {
  expect(await lookAtChromium(undefined)).toMatchObject({ status: 'missing' });
  expect(await lookAtChromium('/nowhere/chrome')).toMatchObject({
    detail: '/nowhere/chrome does not exist',
  });
  expect(await lookAtChromium(process.execPath)).toBe(`${process.version} (${process.execPath})`);
});
