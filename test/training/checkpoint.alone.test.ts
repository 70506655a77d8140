import { existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW } from '../../lib/training/adamw.js';
import {
  dropLinesFrom,
  resumeCheckpoint,
  saveCheckpoint,
  type Checkpoint,
  type RunState,
} from '../../lib/training/checkpoint.js';

/**
 * Allowed file operations; the next one is a kill. `done` lists the operations and their
 * files.
 */
const kill = vi.hoisted(() => ({ after: Infinity, done: [] as string[] }));
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>();
  const guarded = (['rename', 'rm', 'mkdir', 'writeFile', 'open'] as const).map((name) => [
    name,
    (...args: unknown[]): unknown => {
      // Waiting for the disk cannot be half done.
      if (name !== 'open' && kill.after-- <= 0) throw new Error('killed');
      const { flush = false } = (args[2] ?? {}) as { flush?: boolean };
      kill.done.push(`${flush ? 'flushed ' : ''}${name} ${basename(String(args[0]))}`);
      return (original[name] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return {
    ...original,
    realRm: original.rm,
    ...(Object.fromEntries(guarded) as Record<string, unknown>),
  };
});
const { realRm } = fs as unknown as { realRm: typeof fs.rm };

let parent: string;
let folder: string;
await useBackend('wasm');
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'checkpoint-'));
  folder = join(parent, 'checkpoint');
});
afterEach(async () => {
  kill.after = Infinity;
  await realRm(parent, { recursive: true, force: true });
});

/** Weights that identify the step they belong to. */
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

const save = (
  nextStep: number,
  optimizer = optimizerAfter(0),
  more: Partial<RunState> = {},
): Promise<void> =>
  saveCheckpoint(folder, trainable(nextStep), optimizer, { nextStep, hash: 'mine', ...more });
const load = (): Promise<Checkpoint | null> => resumeCheckpoint(folder, 'mine');
const stepLeft = async (): Promise<number | undefined> => (await load())?.state.nextStep;
const namesLeft = async (): Promise<string[]> => (await readdir(folder)).sort();

describe('a checkpoint', () => {
  it('restores weights, optimizer and state bit by bit', async () => {
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

  it('is null if there is none', async () => {
    expect(await load()).toBeNull();
  });

  it('is kept along with the one before, and no others', async () => {
    await save(1);
    await fs.mkdir(join(folder, '2.partial'));
    await writeFile(join(folder, '2.partial', 'state.json'), '{"nextStep": 2');
    expect(await stepLeft()).toBe(1);
    for (const step of [2, 10, 11]) await save(step);
    expect(await stepLeft()).toBe(11);
    expect(await namesLeft()).toEqual(['10', '11']);
  });

  it('resumes without what a kill left of older ones', async () => {
    for (const step of [2, 10, 11]) await save(step);
    await fs.mkdir(join(folder, '2'));
    await writeFile(join(folder, '2', 'trainable.safetensors'), 'half');
    expect(await stepLeft()).toBe(11);
    expect(await namesLeft()).toEqual(['10', '11']);
  });

  it.skipIf(process.platform === 'win32')(
    'is synced to disk, after the records it counts on, before it is renamed',
    async () => {
      const records = ['metrics.jsonl', 'none.jsonl'].map((name) => join(parent, name));
      await writeFile(records[0], '');
      const saved = async (nextStep: number, more: Partial<RunState> = {}): Promise<string[]> => {
        kill.done = [];
        const state = { nextStep, hash: 'mine', ...more };
        await saveCheckpoint(folder, trainable(nextStep), optimizerAfter(0), state, records);
        return kill.done;
      };
      const files = ['trainable.safetensors', 'optimizer.safetensors', 'state.json'];
      const operations = (step: number, before: string[], replaced: string[]): string[] => [
        'open metrics.jsonl',
        ...before,
        `mkdir ${step}.partial`,
        ...files.map((name) => `flushed writeFile ${name}`),
        `open ${step}.partial`,
        ...replaced,
        `rename ${step}.partial`,
        'open checkpoint',
        `rm ${step}.old`,
      ];
      expect(await saved(1)).toEqual(
        operations(1, ['mkdir checkpoint', `open ${basename(parent)}`], []),
      );
      expect(await saved(2)).toEqual(operations(2, [], []));
      const again = await saved(2, { rollbacks: [] });
      expect(again).toEqual(operations(2, [], ['rm 2.old', 'rename 2']));
    },
  );

  it('of an earlier step, as after a rollback, replaces later ones', async () => {
    for (const step of [1, 2, 5, 6]) await save(step);
    const rollbacks = [{ from: 6, to: 5, alarm: 'kl' }];
    await save(5, optimizerAfter(1), { rollbacks });
    expect(await readdir(folder)).toEqual(['5']);
    const loaded = (await load())!;
    expect(loaded.state).toEqual({ nextStep: 5, hash: 'mine', rollbacks });
    expect(loaded.optimizer.get('step')!.values[0]).toBe(1);
  });

  it('can be one before a given step', async () => {
    for (const step of [3, 4]) await save(step);
    const before = async (step: number): Promise<number | undefined> =>
      (await resumeCheckpoint(folder, 'mine', { before: step }))?.state.nextStep;
    expect([await before(5), await before(4), await before(3)]).toEqual([4, 3, undefined]);
  });

  it('has a whole number as its name', async () => {
    await save(1);
    for (const name of ['2x', 'x2', '-2', '2.5']) await fs.mkdir(join(folder, name));
    expect(await stepLeft()).toBe(1);
    await save(3);
    expect(await namesLeft()).toEqual(['-2', '1', '2.5', '2x', '3', 'x2']);
  });

  it('survives a kill at any point, even if the next attempt is killed, too', async () => {
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

  it('replaces another of the same step, even if killed at any point, without leftovers', async () => {
    const rollbacks = [{ from: 4, to: 2, alarm: 'kl' }];
    const survivors = new Set<boolean>();
    for (let after = 0; after < 14; after++) {
      await realRm(parent, { recursive: true, force: true });
      for (const step of [1, 2, 3]) await save(step);
      kill.after = after;
      await save(2, undefined, { rollbacks }).catch((error: Error) =>
        expect(error.message).toBe('killed'),
      );
      kill.after = Infinity;
      const { nextStep, ...state } = (await load())!.state;
      // The later one is removed first: next to the rolled-back one, it would be resumed.
      if (state.rollbacks) expect(await readdir(folder)).not.toContain('3');
      else
        expect(nextStep, `killed after ${after} operations`).toBe(
          existsSync(join(folder, '3')) ? 3 : 2,
        );
      survivors.add(Boolean(state.rollbacks));
      await save(2, undefined, { rollbacks });
      expect((await load())!.state).toEqual({ nextStep: 2, hash: 'mine', rollbacks });
      await save(4);
      expect(await namesLeft()).toEqual(['2', '4']);
    }
    expect(survivors).toEqual(new Set([false, true]));
  });

  it('of an existing step is not written again', async () => {
    await save(1);
    const { mtimeMs } = await fs.stat(join(folder, '1'));
    kill.after = 0;
    await save(1);
    expect((await fs.stat(join(folder, '1'))).mtimeMs).toBe(mtimeMs);
  });

  const changeByte = (bytes: Buffer): Buffer =>
    bytes.fill(bytes[bytes.length - 1] ^ 1, bytes.length - 1);
  const cut = (length: number) => (bytes: Buffer) => bytes.subarray(0, length);
  const otherStep = (text: Buffer): Buffer => Buffer.from(text.toString().replace('2', '7'));
  const otherForm = (): Buffer => Buffer.from('{"nextStep": 2, "hash": "mine"}');
  it.each<[string, string, (bytes: Buffer) => Buffer, string]>([
    ['truncated', 'optimizer.safetensors', cut(20), ' does not match'],
    ['changed by one byte', 'trainable.safetensors', changeByte, ' does not match its checksum'],
    ['of another step', 'state.json', otherStep, ' does not'],
    ['malformed', 'state.json', otherForm, ': '],
    ['invalid JSON', 'state.json', cut(5), ' to be JSON'],
  ])(
    'is reported and the one before it is used if a file is %s',
    async (_, file, damage, message) => {
      await save(1);
      await save(2);
      const path = join(folder, '2', file);
      await writeFile(path, damage(await readFile(path)));
      const told: string[] = [];
      const log = (line: string): number => told.push(line);
      expect((await resumeCheckpoint(folder, 'mine', { log }))!.state.nextStep).toBe(1);
      const named = `The checkpoint ${join(folder, '2')} is damaged and was skipped: `;
      expect(told).toEqual([expect.stringContaining(named)]);
      expect(told[0]).toContain(`${file}${message}`);
      await save(2);
      expect(await stepLeft()).toBe(2);
    },
  );

  it('is damaged if its name is not its step', async () => {
    await save(1);
    await fs.rename(join(folder, '1'), join(folder, '7'));
    const told: string[] = [];
    const resumed = resumeCheckpoint(folder, 'mine', { log: (line) => told.push(line) });
    await expect(resumed).rejects.toThrow('all are damaged');
    expect(told[0]).toContain('state.json belongs to step 1');
  });

  it('is rejected with a remedy if all are damaged', async () => {
    await save(1);
    await fs.unlink(join(folder, '1', 'trainable.safetensors'));
    await expect(resumeCheckpoint(folder, 'mine', { log: () => undefined })).rejects.toThrow(
      `Expected an intact checkpoint in ${folder}, but all are damaged. Remove the folder to start over.`,
    );
  });

  it('is rejected for another configuration hash', async () => {
    await save(1);
    await expect(resumeCheckpoint(folder, 'other')).rejects.toThrow(
      'of configuration other, but it holds one of mine. Choose another folder',
    );
  });
});

describe('dropLinesFrom', () => {
  it('keeps lines of earlier steps as they are, and drops later and incomplete lines', async () => {
    const file = join(parent, 'metrics.jsonl');
    const lines = ['{"step":0, "a":1}', '{"step":1}', '{"step":2}', '{"step":10}', '{"ste'];
    await writeFile(file, lines.join('\n'));
    await dropLinesFrom(file, 2);
    expect(await readFile(file, 'utf8')).toBe('{"step":0, "a":1}\n{"step":1}\n');
    await dropLinesFrom(file, 0);
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('reads long files, and splits them at line feeds only', async () => {
    const file = join(parent, 'trajectories.jsonl');
    const lines = Array.from(
      { length: 3000 },
      (_, step) => `{"step":${step},"text":"a\u2028\u00e9${'x'.repeat(step % 100)}"}\n`,
    );
    await writeFile(file, lines.join(''));
    await dropLinesFrom(file, 2500);
    expect(await readFile(file, 'utf8')).toBe(lines.slice(0, 2500).join(''));
  });

  it('creates no file if there is none', async () => {
    await dropLinesFrom(join(parent, 'none.jsonl'), 2);
    expect(await readdir(parent)).toEqual([]);
  });
});
