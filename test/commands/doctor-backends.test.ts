import { existsSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { expect, it } from 'vitest';
import { checkBackend, measureGflops } from '../../lib/commands/doctor-backends.js';
import { packagePath } from '../../lib/io/paths.js';
import { useBackend } from '../../lib/tensor/backend.js';

it('reports the speed of a backend, or why it does not load', async () => {
  const figure = { detail: 'wasm 4.22.0', gflops: 41.234, size: 512 };
  expect(await checkBackend('wasm', async () => figure)).toBe(
    'wasm 4.22.0: 41.2 GFLOP/s (product of two 512 x 512 matrices)',
  );
  const detail = 'finds no CUDA device';
  expect(await checkBackend('gpu', async () => ({ reason: detail }))).toEqual({
    status: 'missing',
    detail,
  });
});

it('reports a backend whose process crashes', async () => {
  // The program does not exist in the sources, so its process fails.
  expect(existsSync(packagePath('lib', 'commands', 'doctor-backends.js'))).toBe(false);
  expect(await checkBackend('cpu')).toMatchObject({
    detail: expect.stringMatching(/^its process ended with code 1/) as string,
  });
});

it('measures the current backend and leaks no tensors', async () => {
  await useBackend('wasm');
  const before = tf.memory().numTensors;
  const { gflops, size } = await measureGflops(100);
  expect(gflops).toBeGreaterThan(0.05);
  expect(Math.log2(size) % 1).toBe(0);
  expect(tf.memory().numTensors).toBe(before);
});
