import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it, vi } from 'vitest';
import { BACKEND_NAMES, describeBackend, useBackend, type BackendName } from '../../lib/tensor/backend.js';

// Where libtensorflow is installed, too, this file sees a machine without it.
for (const name of ['@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-node']) {
  vi.doMock(name, () => {
    throw new Error('Cannot find package');
  });
}

describe('useBackend', () => {
  it.each(['wasm', 'cpu'] as const)('makes %s the current backend and says so', async (name) => {
    const report = await useBackend(name);
    expect(report.name).toBe(name);
    expect(report.skipped).toEqual([]);
    expect(tf.getBackend()).toBe(name);
    expect(tf.sum(tf.tensor1d([1, 2, 3])).dataSync()[0]).toBe(6);
  });

  it('takes the fastest that loads, with the reason for each that does not', async () => {
    const report = await useBackend('auto');
    expect(report.name).toBe('wasm');
    expect(report.skipped.map(({ name }) => name)).toEqual(['gpu', 'native']);
    for (const { reason } of report.skipped) expect(reason).not.toBe('');
  });

  it.each(['gpu', 'native'] as const)(
    'names %s, the reason and the remedy when it does not load',
    async (name) => {
      await useBackend('cpu');
      const error = await useBackend(name).catch((e: unknown) => e as Error);
      expect(error).toBeInstanceOf(Error);
      const { message } = error as Error;
      expect(message).toContain(
        `Expected backend ${name} to load, but it did not (${name}: @tensorflow/tfjs-node-gpu `,
      );
      expect(message).toContain('Try --backend wasm');
      expect(message).not.toContain('\n');
      expect(tf.getBackend()).toBe('cpu');
    },
  );

  it('names the backends there are when asked for another', async () => {
    await expect(useBackend('webgl' as BackendName)).rejects.toThrow(
      'Expected a backend of auto, gpu, native, wasm, cpu, but got webgl.',
    );
    expect(BACKEND_NAMES).not.toContain('webgl');
  });
});

describe('describeBackend', () => {
  it('is one line with the backend and why not a faster one', () => {
    const detail = '@tensorflow/tfjs-backend-wasm 4.22.0';
    expect(describeBackend({ name: 'wasm', detail, skipped: [] })).toBe(`backend: wasm (${detail})`);
    const skipped = [
      { name: 'gpu' as const, reason: 'finds no CUDA device' },
      { name: 'native' as const, reason: 'is not installed' },
    ];
    expect(describeBackend({ name: 'wasm', detail, skipped })).toBe(
      `backend: wasm (${detail}); not gpu finds no CUDA device; native is not installed`,
    );
  });

  it('stays one line for what this machine reports', async () => {
    expect(describeBackend(await useBackend('auto'))).not.toContain('\n');
  });
});
