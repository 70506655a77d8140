import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it, vi } from 'vitest';
import { describeBackend, useBackend, type BackendName } from '../../lib/tensor/backend.js';

// Hides libtensorflow even if it is installed.
for (const name of ['@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-node']) {
  vi.doMock(name, () => {
    throw new Error('Cannot find package');
  });
}

describe('useBackend', () => {
  it.each(['wasm', 'cpu'] as const)('makes %s the current backend', async (name) => {
    const warn = vi.spyOn(console, 'warn');
    expect(await useBackend(name)).toMatchObject({ name, skipped: [] });
    expect(tf.getBackend()).toBe(name);
    expect(tf.sum(tf.tensor1d([1, 2, 3])).dataSync()[0]).toBe(6);
    expect(warn).not.toHaveBeenCalled();
  });

  it('chooses the fastest that loads, and explains why others were skipped', async () => {
    const report = await useBackend('auto');
    expect(report.name).toBe('wasm');
    expect(report.skipped.map(({ name }) => name)).toEqual(['gpu', 'native']);
    for (const { reason } of report.skipped) expect(reason).not.toBe('');
    expect(describeBackend(report)).not.toContain('\n');
  });

  it.each(['gpu', 'native'] as const)(
    'reports reason and remedy if %s does not load',
    async (name) => {
      await useBackend('cpu');
      const message = `${name}: @tensorflow/tfjs-node-gpu `;
      await expect(useBackend(name)).rejects.toThrow(message);
      await expect(useBackend(name)).rejects.toThrow(/^[^\n]* Try --backend wasm[^\n]*$/);
      expect(tf.getBackend()).toBe('cpu');
    },
  );

  it('lists the backends for an unknown one', async () => {
    await expect(useBackend('webgl' as BackendName)).rejects.toThrow(
      'auto, gpu, native, wasm, cpu, webgpu',
    );
  });
});

describe('describeBackend', () => {
  it('fits on one line, and refers to doctor if faster ones did not load', () => {
    const detail = '@tensorflow/tfjs-backend-wasm 4.22.0';
    expect(describeBackend({ name: 'wasm', detail, skipped: [] })).toBe('backend: wasm');
    const skipped = [
      { name: 'gpu' as const, reason: 'finds no CUDA device' },
      { name: 'native' as const, reason: 'is not installed' },
    ];
    expect(describeBackend({ name: 'wasm', detail, skipped })).toBe(
      'backend: wasm; unavailable: gpu, native (see `parallelsearch doctor`)',
    );
  });
});
