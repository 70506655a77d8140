import { existsSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { measureGflops } from '../../lib/doctor/backend-probe.js';
import { checkBackends, probeBackend } from '../../lib/doctor/backends.js';
import { packagePath } from '../../lib/io/paths.js';
import { useBackend } from '../../lib/tensor/backend.js';

describe('checkBackends', () => {
  it('gives a figure for what loads, and reason and remedy for what does not', async () => {
    const checks = await checkBackends(async (name) =>
      name === 'gpu' || name === 'cpu'
        ? { reason: 'finds no CUDA device' }
        : { detail: `${name} 4.22.0`, gflops: 41.234, size: 512 },
    );
    expect(checks.map(({ id, status, required }) => [id, status, required])).toEqual([
      ['backend-gpu', 'missing', false],
      ['backend-native', 'ok', false],
      ['backend-wasm', 'ok', true],
      ['backend-cpu', 'missing', true],
    ]);
    expect(checks[0].detail).toBe('finds no CUDA device');
    expect(checks[0].remedy).toContain('NVIDIA');
    expect(checks[2].detail).toBe('wasm 4.22.0: 41.2 GFLOP/s (product of two 512 x 512 matrices)');
  });

  it('reports a backend whose process ends without a word', async () => {
    // Run from its sources the program is not there, which is the simplest process that fails.
    expect(existsSync(packagePath('lib', 'doctor', 'backend-probe.js'))).toBe(false);
    const probe = await probeBackend('cpu');
    expect('reason' in probe && probe.reason).toMatch(/^its process ended with code 1/);
  });
});

describe('measureGflops', () => {
  it('measures the current backend and leaves no tensor behind', async () => {
    await useBackend('wasm');
    const before = tf.memory().numTensors;
    const { gflops, size } = await measureGflops(100);
    expect(gflops).toBeGreaterThan(0.05);
    expect(Math.log2(size) % 1).toBe(0);
    expect(tf.memory().numTensors).toBe(before);
  });
});
