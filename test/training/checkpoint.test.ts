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

  it('stands beside the one before it, and nothing else does', async () => {
    await save(1);
    await fs.mkdir(join(folder, '2.partial'));
    await writeFile(join(folder, '2.partial', 'state.json'), '{"nextStep": 2');
    expect((await load())!.state.nextStep).toBe(1);
    for (const step of [2, 10, 11]) await save(step);
    expect((await load())!.state.nextStep).toBe(11);
    expect((await readdir(folder)).sort()).toEqual(['10', '11']);
  });

  it('leaves a whole one behind, wherever it is killed, and after a kill of the next attempt, too', async () => {
    const survivors = new Set<number>();
    for (let first = 0; first < 12; first++) {
      for (const second of [0, 3, 5, 6, 7, Infinity]) {
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

  it('of the same step as one that is there leaves that one as it is', async () => {
    await save(1);
    const { mtimeMs } = await fs.stat(join(folder, '1'));
    kill.after = 0;
    await save(1);
    expect((await fs.stat(join(folder, '1'))).mtimeMs).toBe(mtimeMs);
  });

  const changeByte = (bytes: Buffer): Buffer => bytes.fill(bytes[bytes.length - 1] ^ 1, bytes.length - 1);
  it.each<[string, string, (bytes: Buffer) => Buffer, string]>([
    [
      'cut short',
      'optimizer.safetensors',
      (bytes) => bytes.subarray(0, 20),
      'optimizer.safetensors does not have',
    ],
    [
      'changed in a byte',
      'trainable.safetensors',
      changeByte,
      'trainable.safetensors does not have its checksum',
    ],
    [
      'of another step',
      'state.json',
      (text) => Buffer.from(text.toString().replace('2', '7')),
      'state.json does not',
    ],
    ['of another form', 'state.json', () => Buffer.from('{"nextStep": 2, "hash": "mine"}'), 'state.json: '],
    ['cut off', 'state.json', (text) => text.subarray(0, 5), 'state.json to be JSON'],
  ])('is named and the one before it is used where a file is %s', async (_, file, damage, message) => {
    await save(1);
    await save(2);
    const path = join(folder, '2', file);
    await writeFile(path, damage(await readFile(path)));
    const told: string[] = [];
    expect((await resumeCheckpoint(folder, 'mine', { log: (line) => told.push(line) }))!.state.nextStep).toBe(
      1,
    );
    expect(told).toEqual([
      expect.stringContaining(`The checkpoint ${join(folder, '2')} is damaged and not used: `),
    ]);
    expect(told[0]).toContain(message);
    await save(2);
    expect((await load())!.state.nextStep).toBe(2);
  });

  it('is asked for anew where all are damaged', async () => {
    await save(1);
    await fs.unlink(join(folder, '1', 'trainable.safetensors'));
    await expect(resumeCheckpoint(folder, 'mine', { log: () => undefined })).rejects.toThrow(
      `Expected a whole checkpoint in ${folder}, but all are damaged. Remove it to begin again.`,
    );
  });

  it('is not for a run of another hash', async () => {
    await save(1);
    await expect(resumeCheckpoint(folder, 'other')).rejects.toThrow(
      'of configuration other, but it holds one of mine. Choose another folder',
    );
  });
});
