import * as fs from 'node:fs/promises';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW } from '../../lib/training/adamw.js';
import { resumeCheckpoint, saveCheckpoint, type Checkpoint } from '../../lib/training/checkpoint.js';

/** Operations on files that are still let through; what comes then is a kill. */
const kill = vi.hoisted(() => ({ after: Infinity }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const guarded = (['rename', 'rm', 'mkdir', 'writeFile'] as const).map((name) => [
    name,
    (...args: unknown[]): unknown => {
      if (kill.after-- <= 0) throw new Error('killed');
      return (original[name] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return { ...original, realRm: original.rm, ...(Object.fromEntries(guarded) as Record<string, unknown>) };
});
const { realRm } = fs as unknown as { realRm: typeof fs.rm };

let parent: string;
let folder: string;
beforeAll(() => useBackend('wasm'));
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
  const optimizer = new AdamW();
  let weights = trainable(0);
  for (let i = 0; i < steps; i++) {
    weights = optimizer.apply(weights, { 'a.A': tf.ones([2, 2]), 'a.B': tf.ones([1]) }, 0.1);
  }
  return optimizer;
}

const save = (nextStep: number, optimizer = optimizerAfter(0)): Promise<void> =>
  saveCheckpoint(folder, trainable(nextStep), optimizer, { nextStep, hash: 'mine' });
const load = (): Promise<Checkpoint | null> => resumeCheckpoint(folder, 'mine');

describe('a checkpoint', () => {
  it('gives back weights, optimizer and state bit by bit', async () => {
    const optimizer = optimizerAfter(2);
    await save(7, optimizer);
    const loaded = (await load())!;
    expect(loaded.state).toEqual({ nextStep: 7, hash: 'mine' });
    for (const [key, tensor] of Object.entries(trainable(7))) {
      expect(loaded.trainable[key].shape).toEqual(tensor.shape);
      expect(loaded.trainable[key].dataSync()).toEqual(tensor.dataSync());
    }
    expect(loaded.optimizer).toEqual(await optimizer.toArrays());
    expect(loaded.optimizer.get('step')!.values[0]).toBe(2);
  });

  it('is null where there is none', async () => {
    expect(await load()).toBeNull();
  });

  it('takes the place of the older one and of a half-written one, and leaves nothing else', async () => {
    await save(1);
    await fs.mkdir(`${folder}.partial`);
    await writeFile(join(`${folder}.partial`, 'state.json'), '{"nextStep": 2');
    expect((await load())!.state.nextStep).toBe(1);
    await save(2);
    expect((await load())!.state.nextStep).toBe(2);
    expect(await readdir(parent)).toEqual(['checkpoint']);
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
          const loaded = await load();
          expect(loaded, `killed after ${first} and ${second} operations`).not.toBeNull();
          const { nextStep } = loaded!.state;
          expect(loaded!.trainable['a.A'].dataSync()[0]).toBe(nextStep);
          survivors.add(nextStep);
        }
      }
    }
    expect(survivors).toEqual(new Set([1, 2, 3]));
  });

  it('is not for a run of another hash, and names the file that cannot be read', async () => {
    await save(1);
    await expect(resumeCheckpoint(folder, 'other')).rejects.toThrow(
      'of configuration other, but it holds one of mine. Choose another folder',
    );
    const path = join(folder, 'optimizer.safetensors');
    await writeFile(path, (await readFile(path)).subarray(0, 20));
    await expect(load()).rejects.toThrow('optimizer.safetensors: Expected a safetensors file');
  });
});
