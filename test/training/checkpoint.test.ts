import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW } from '../../lib/training/adamw.js';
import { loadCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';

/** Operations on files that are still let through; what comes then is a kill. */
const kill = vi.hoisted(() => ({ after: Infinity }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const guarded =
    (name: 'rename' | 'rm' | 'mkdir' | 'writeFile') =>
    (...args: unknown[]): unknown => {
      if (kill.after-- <= 0) throw new Error('killed');
      return (original[name] as (...args: unknown[]) => unknown)(...args);
    };
  const { rm: realRm } = original;
  return {
    ...original,
    realRm,
    rename: guarded('rename'),
    rm: guarded('rm'),
    mkdir: guarded('mkdir'),
    writeFile: guarded('writeFile'),
  };
});
const { realRm } = fs as unknown as { realRm: typeof fs.rm };

interface State {
  nextStep: number;
}

let parent: string;
let folder: string;
beforeAll(async () => {
  await useBackend('wasm');
});
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'checkpoint-'));
  folder = join(parent, 'checkpoint');
});
afterEach(async () => {
  kill.after = Infinity;
  await realRm(parent, { recursive: true, force: true });
});

/** Weights that tell the step they are of. */
const trainable = (step: number): Record<string, tf.Tensor> => ({
  'a.A': tf.tensor2d([step, 0.1, -1e-7, 3e30], [2, 2]),
  'a.B': tf.tensor1d([1 / 3]),
});

function optimizerAfter(steps: number): AdamW {
  const optimizer = new AdamW({ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0 });
  let weights = trainable(0);
  for (let i = 0; i < steps; i++) {
    weights = optimizer.apply(weights, { 'a.A': tf.ones([2, 2]), 'a.B': tf.ones([1]) }, 0.1);
  }
  return optimizer;
}

const save = (step: number, optimizer = optimizerAfter(0)): Promise<void> =>
  saveCheckpoint<State>(folder, trainable(step), optimizer, { nextStep: step });

describe('a checkpoint', () => {
  it('gives back weights, optimizer and state bit by bit', async () => {
    const optimizer = optimizerAfter(2);
    await save(7, optimizer);
    const loaded = (await loadCheckpoint<State>(folder))!;
    expect(loaded.state).toEqual({ nextStep: 7 });
    for (const [key, tensor] of Object.entries(trainable(7))) {
      expect(loaded.trainable[key].shape).toEqual(tensor.shape);
      expect(loaded.trainable[key].dataSync()).toEqual(tensor.dataSync());
    }
    expect(loaded.optimizer).toEqual(await optimizer.toArrays());
    expect(loaded.optimizer.get('step')!.values[0]).toBe(2);
  });

  it('is null where there is none', async () => {
    expect(await loadCheckpoint(folder)).toBeNull();
  });

  it('takes the place of the older one and leaves nothing else', async () => {
    await save(1);
    await save(2);
    expect((await loadCheckpoint<State>(folder))!.state.nextStep).toBe(2);
    expect(await readdir(parent)).toEqual(['checkpoint']);
  });

  it('ignores a half-written newer one, and writes over it', async () => {
    await save(1);
    await fs.mkdir(`${folder}.partial`);
    await writeFile(join(`${folder}.partial`, 'state.json'), '{"nextStep": 2');
    expect((await loadCheckpoint<State>(folder))!.state.nextStep).toBe(1);
    await save(2);
    expect((await loadCheckpoint<State>(folder))!.state.nextStep).toBe(2);
    expect(existsSync(`${folder}.partial`)).toBe(false);
  });

  it('leaves a whole one behind, wherever it is killed, and after a kill of the next attempt, too', async () => {
    const survivors = new Set<number>();
    for (let first = 0; first < 19; first++) {
      for (const second of [0, 8, 13, 14, 15, Infinity]) {
        await realRm(parent, { recursive: true, force: true });
        await save(1);
        for (const [step, after] of [
          [2, first],
          [3, second],
        ]) {
          kill.after = after;
          await save(step).catch((error: Error) => expect(error.message).toBe('killed'));
          kill.after = Infinity;
          const loaded = await loadCheckpoint<State>(folder);
          expect(loaded, `killed after ${first} and ${second} operations`).not.toBeNull();
          const { nextStep } = loaded!.state;
          expect(loaded!.trainable['a.A'].dataSync()[0]).toBe(nextStep);
          survivors.add(nextStep);
        }
      }
    }
    expect(survivors).toEqual(new Set([1, 2, 3]));
  });
});

it('names the file of a checkpoint that cannot be read', async () => {
  await save(1);
  const path = join(folder, 'optimizer.safetensors');
  await writeFile(path, (await readFile(path)).subarray(0, 20));
  await expect(loadCheckpoint(folder)).rejects.toThrow('optimizer.safetensors: Expected a safetensors file');
});
