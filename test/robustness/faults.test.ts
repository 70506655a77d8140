/** A disk that fails at any one of the writes: what was there before stays, or what is new is there, and the next try succeeds. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { removePartial, writeFileSafely } from '../../lib/io/files.js';
import { openJournal, recordStore } from '../../lib/io/records.js';
import { disposeWeights } from '../../lib/policy/weights.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW } from '../../lib/training/adamw.js';
import { resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { runTraining } from '../../lib/training/run.js';
import { folderForEach } from '../folder.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from '../training/tiny.js';

const isFull = process.env.PARALLELSEARCH_TEST_FULL === '1';

/**
 * `full`: no space from this write on. `broken`: this one fails. `torn`: half of it is written, then the process is gone. `lost`:
 * a rename is reported and forgotten, then the process is gone.
 */
const KINDS = ['full', 'broken', 'torn', 'lost'] as const;
type Kind = (typeof KINDS)[number];
const disk = vi.hoisted(() => ({ kind: null as string | null, at: 0, count: 0, isGone: false }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  type Call = (...args: never[]) => Promise<unknown>;
  const fail = (code: string): never => {
    throw Object.assign(new Error(`${code}: made to fail`), { code });
  };
  const failing =
    (name: string, call: Call): Call =>
    async (...args) => {
      if (disk.kind === null) return call(...args);
      if (disk.isGone) return fail('EIO');
      const number = disk.count++;
      const takesSpace = name !== 'rm' && name !== 'rename';
      if (disk.kind === 'full' && number >= disk.at && takesSpace) return fail('ENOSPC');
      if (number !== disk.at || disk.kind === 'full') return call(...args);
      if (disk.kind === 'broken') return fail('EIO');
      disk.isGone = true;
      if (disk.kind === 'lost' && name === 'rename') return undefined;
      const [path, content, ...rest] = args as unknown as [never, string | Uint8Array, ...never[]];
      if (disk.kind === 'torn' && (name === 'writeFile' || name === 'appendFile'))
        await call(path, content.slice(0, content.length / 2) as never, ...rest);
      return fail('EIO');
    };
  const names = ['writeFile', 'appendFile', 'rename', 'rm', 'mkdir'] as const;
  return { ...real, ...Object.fromEntries(names.map((name) => [name, failing(name, real[name] as Call)])) };
});

/** Does something while the disk fails at write `at`; whether there was such a write. */
async function whileFailing(kind: Kind, at: number, work: () => Promise<unknown>): Promise<boolean> {
  Object.assign(disk, { kind, at, count: 0, isGone: false });
  await work().catch((error: NodeJS.ErrnoException) => expect(error.message).toMatch(/EIO|ENOSPC/));
  disk.kind = null;
  return disk.count > at;
}

const inFolder = folderForEach();
const debris = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.partial'));

describe.each(KINDS)('a disk that is %s at any write', (kind) => {
  let folder: string;
  beforeEach(() => (folder = inFolder(kind)));

  /** Tries every write of some work in turn, after `before` in a folder of its own. */
  async function atEveryWrite(
    before: (folder: string) => Promise<unknown>,
    work: (folder: string) => Promise<unknown>,
    check: (folder: string) => Promise<unknown>,
  ): Promise<void> {
    for (let at = 0, was = true; was; at++) {
      const own = join(folder, String(at));
      await before(own);
      was = await whileFailing(kind, at, () => work(own));
      await check(own);
    }
  }

  it('leaves a file as it was or as it is to be', async () => {
    await atEveryWrite(
      (own) => writeFileSafely(join(own, 'a.txt'), 'old'),
      (own) => writeFileSafely(join(own, 'a.txt'), 'new'),
      async (own) => {
        expect(['old', 'new']).toContain(await readFile(join(own, 'a.txt'), 'utf8'));
        await removePartial(own);
        await writeFileSafely(join(own, 'a.txt'), 'newer');
        expect(await readFile(join(own, 'a.txt'), 'utf8')).toBe('newer');
        expect(debris(own)).toEqual([]);
      },
    );
  });

  it('leaves a record as it was or as it is to be', async () => {
    const record = (value: number) => ({ hash: 'h', provenance: {} as never, value });
    const read = async (own: string) => (await recordStore(own).read<number>('k', 'h'))?.value;
    await atEveryWrite(
      (own) => recordStore(own).write('k', record(1)),
      (own) => recordStore(own).write('k', record(2)),
      async (own) => {
        expect([1, 2]).toContain(await read(own));
        await recordStore(own).write('k', record(3));
        expect(await read(own)).toBe(3);
      },
    );
  });

  it('leaves the first lines of a journal, and those that are missing are added', async () => {
    const add = async (own: string): Promise<readonly number[]> => {
      const journal = await openJournal<number>(join(own, 'j.jsonl'), 'h');
      for (let i = journal.items.length; i < 4; i++) await journal.append(i);
      return journal.items;
    };
    await atEveryWrite(
      async () => undefined,
      add,
      async (own) => {
        const before = await add(own);
        expect(before).toEqual([0, 1, 2, 3].slice(0, before.length));
        expect(await add(own)).toEqual([0, 1, 2, 3]);
      },
    );
  });

  it('leaves the checkpoint of before or the new one, whole', async () => {
    await useBackend('cpu');
    const save = async (own: string, nextStep: number): Promise<void> => {
      const weights = { a: tf.fill([4], nextStep) };
      await saveCheckpoint(own, weights, new AdamW(), { nextStep, hash: 'h' }).finally(() =>
        disposeWeights(weights),
      );
    };
    const read = async (own: string): Promise<number[]> => {
      const found = (await resumeCheckpoint(own, 'h', { log: () => undefined }))!;
      const value = found.trainable.a.dataSync()[3];
      disposeWeights(found.trainable);
      return [found.state.nextStep, value];
    };
    await atEveryWrite(
      (own) => save(own, 1),
      (own) => save(own, 2),
      async (own) => {
        const [step, value] = await read(own);
        expect([1, 2]).toContain(step);
        expect(value).toBe(step);
        await save(own, 2);
        await save(own, 3);
        expect(await read(own)).toEqual([3, 3]);
        expect(debris(own)).toEqual([]);
      },
    );
  });
});

if (isFull) {
  describe('a training whose disk fails', () => {
    const config = tinyTraining({
      checkpointEvery: 1,
      grpo: { steps: 2, questionsPerStep: 1, groupSize: 2 },
    });
    const train = async (folder: string): Promise<void> => {
      const model = chattyModel();
      const task = { config, model, questions: QUESTIONS, retriever: createBm25Retriever(PASSAGES) };
      await runTraining({ ...task, inputsHash: 'i', folder }).finally(() => disposeWeights(model.weights));
    };
    const results = (folder: string): unknown => [
      readFileSync(join(folder, 'adapter', 'adapter_model.safetensors')),
      readFileSync(join(folder, 'trajectories.jsonl'), 'utf8'),
      readFileSync(join(folder, 'metrics.jsonl'), 'utf8').replace(/"\w+_seconds":[\d.e-]+/g, ''),
    ];
    beforeAll(() => useBackend('wasm'));

    it.each(KINDS)(
      'goes on with the same result, wherever it was %s',
      async (kind) => {
        await train(inFolder('whole'));
        const said = vi.spyOn(console, 'error').mockReturnValue();
        for (let at = 0, was = true; was; at += 1) {
          const own = inFolder(String(at));
          was = await whileFailing(kind, at, () => train(own));
          await train(own);
          expect(results(own), `write ${at}`).toEqual(results(inFolder('whole')));
          expect(existsSync(join(own, 'run.lock'))).toBe(false);
        }
        said.mockRestore();
      },
      3_600_000,
    );
  });
}
