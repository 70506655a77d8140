/**
 * The disk fails at any write: the old or the new content is left, and the next attempt
 * succeeds.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  copySafely,
  removePartial,
  writeFileSafely,
  writeTextsSafely,
} from '../../lib/io/files.js';
import { openJournal, recordStore, writeArchives } from '../../lib/io/records.js';
import { exportModel, saveModel } from '../../lib/policy/folders/model-folder.js';
import { disposeWeights } from '../../lib/policy/model/weights.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { embedCorpus } from '../../lib/retrieval/dense.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { AdamW } from '../../lib/training/adamw.js';
import { resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { BEST_ADAPTER, runTraining } from '../../lib/training/run.js';
import { runWarmUp } from '../../tools/warm-up/run-warm-up.js';
import { folderForEach } from '../folder.js';
import { isFull } from '../full.js';
import { smallModel, warmUpOf } from '../tools/warm-up/tiny-warm-up.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyModel, tinyTraining } from '../training/tiny.js';

/**
 * `full`: no space from this write on. `broken`: this write fails. `torn`: half is
 * written, then the process dies. `lost`: a rename succeeds but is lost, then the process
 * dies.
 */
const KINDS = ['full', 'broken', 'torn', 'lost'] as const;
type Kind = (typeof KINDS)[number];
type Fate = 'EIO' | 'ENOSPC' | 'torn' | 'lost';
const disk = vi.hoisted(() => ({
  kind: null as string | null,
  at: 0,
  count: 0,
  isGone: false,
  /** How an operation fails; null if it succeeds. */
  fateOf(name: string): Fate | null {
    if (this.kind === null) return null;
    if (this.isGone) return 'EIO';
    const number = this.count++;
    const takesSpace = !['rm', 'rename', 'open'].includes(name);
    if (this.kind === 'full') return number >= this.at && takesSpace ? 'ENOSPC' : null;
    if (number !== this.at) return null;
    this.isGone = this.kind !== 'broken';
    if (this.kind === 'torn') return 'torn';
    return this.kind === 'lost' && name === 'rename' ? 'lost' : 'EIO';
  },
  errorOf(fate: Fate): Error {
    const code = fate === 'ENOSPC' ? fate : 'EIO';
    return Object.assign(new Error(`${code}: made to fail`), { code });
  },
}));
const half = vi.hoisted(
  () =>
    <T extends string | Uint8Array>(content: T): T =>
      content.slice(0, content.length / 2) as T,
);

// Flushing opens the file.
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  type Call = (...args: never[]) => Promise<unknown>;
  const failing =
    (name: string, call: Call): Call =>
    async (...args) => {
      const fate = disk.fateOf(name);
      if (fate === null) return call(...args);
      if (fate === 'lost') return undefined;
      const [path, content] = args as unknown as [string, string];
      if (fate === 'torn' && name === 'copyFile')
        await real.writeFile(content, half(await real.readFile(path)));
      if (fate === 'torn' && (name === 'writeFile' || name === 'appendFile'))
        await real[name](path, half(content));
      throw disk.errorOf(fate);
    };
  const names = [
    'writeFile',
    'appendFile',
    'copyFile',
    'cp',
    'open',
    'rename',
    'rm',
    'mkdir',
  ] as const;
  return {
    ...real,
    ...Object.fromEntries(names.map((name) => [name, failing(name, real[name] as Call)])),
  };
});

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  const createWriteStream = (path: string, options: object): Writable => {
    const fate = disk.fateOf('createWriteStream');
    if (fate === null) return real.createWriteStream(path, options);
    return new Writable({
      write: (chunk: Buffer, _, done) => {
        if (fate === 'torn') real.writeFileSync(path, half(chunk));
        done(disk.errorOf(fate));
      },
      final: (done) => done(disk.errorOf(fate)),
    });
  };
  return { ...real, createWriteStream };
});

/**
 * Runs work with a disk that fails at write `at`; returns whether that write happened.
 */
async function whileFailing(
  kind: Kind,
  at: number,
  work: () => Promise<unknown>,
): Promise<boolean> {
  Object.assign(disk, { kind, at, count: 0, isGone: false });
  await work().catch((error: NodeJS.ErrnoException) => expect(error.message).toMatch(/EIO|ENOSPC/));
  disk.kind = null;
  return disk.count > at;
}

const inFolder = folderForEach();
const debris = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.endsWith('.partial'));

describe.each(KINDS)('a disk that fails (%s) during any write', (kind) => {
  let folder: string;
  beforeEach(() => (folder = inFolder(kind)));

  /** Fails at each write of the work in turn, after `before` in a new folder. */
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

  it.each<[string, (path: string, text: string) => Promise<void>]>([
    ['written', writeFileSafely],
    ['written in parts', (path, text) => writeTextsSafely(path, [text.slice(0, 1), text.slice(1)])],
    [
      'copied',
      async (path, text) => {
        await writeFileSafely(`${path}-of-${text}`, text);
        await copySafely(`${path}-of-${text}`, path);
      },
    ],
  ])('leaves the old or the new file when %s', async (_, write) => {
    await atEveryWrite(
      (own) => write(join(own, 'a.txt'), 'old'),
      (own) => write(join(own, 'a.txt'), 'new'),
      async (own) => {
        expect(['old', 'new']).toContain(await readFile(join(own, 'a.txt'), 'utf8'));
        await removePartial(own);
        await write(join(own, 'a.txt'), 'newer');
        expect(await readFile(join(own, 'a.txt'), 'utf8')).toBe('newer');
        expect(debris(own)).toEqual([]);
      },
    );
  });

  const record = (value: number) => ({ hash: 'h', provenance: {} as never, value });
  it.each<[string, (folder: string, value: number) => Promise<void>]>([
    ['record', (own, value) => recordStore(own).write('k', record(value))],
    [
      'archive of records',
      (own, value) => writeArchives(own, 'kept', new Map([['k', record(value)]])),
    ],
  ])('leaves the old or the new %s', async (_, write) => {
    const read = async (own: string) => (await recordStore(own, own).read<number>('k', 'h'))?.value;
    await atEveryWrite(
      (own) => write(own, 1),
      (own) => write(own, 2),
      async (own) => {
        expect([1, 2]).toContain(await read(own));
        await write(own, 3);
        expect(await read(own)).toBe(3);
      },
    );
  });

  it('leaves passage vectors from which encoding resumes', async () => {
    const encode = (texts: readonly string[]) =>
      Promise.resolve(texts.map((text) => Float32Array.of(text.length, 1)));
    const embed = (own: string) =>
      embedCorpus({ name: 'lengths', dimensions: 2, encode }, PASSAGES, {
        folder: own,
        source: { corpus: 'c', encoder: 'e' },
      });
    const expected = await encode(PASSAGES.map(({ contents }) => contents));
    await atEveryWrite(
      async () => undefined,
      embed,
      async (own) => {
        expect(await embed(own)).toEqual(expected);
        expect(debris(own)).toEqual([]);
      },
    );
  });

  // A model has many writes; half of one is the hardest failure.
  it.skipIf(!isFull && kind !== 'torn')(
    'leaves an old or a new copy of every file of an exported model (needs test:full)',
    async () => {
      await useBackend('cpu');
      const [first, second] = [1, 2].map((seed) => tinyModel(seed));
      for (const [name, model] of Object.entries({ first, second })) {
        await saveModel(
          join(folder, name),
          { ...model, tokenizerConfig: { name } },
          { storage: 'F32' },
        );
        disposeWeights(model.weights);
      }
      const exported = (name: string) => (own: string) =>
        exportModel(own, { model: join(folder, name) }, { storage: 'F16' });
      const filesOf = (own: string): Record<string, string> =>
        Object.fromEntries(
          readdirSync(own)
            .filter((name) => !name.endsWith('.partial'))
            .map((name) => [name, readFileSync(join(own, name), 'latin1')]),
        );
      const wholes = await Promise.all(
        ['first', 'second'].map(async (name) => {
          await exported(name)(join(folder, `${name} exported`));
          return filesOf(join(folder, `${name} exported`));
        }),
      );
      await atEveryWrite(exported('first'), exported('second'), async (own) => {
        for (const [name, content] of Object.entries(filesOf(own)))
          expect(wholes.map((files) => files[name])).toContain(content);
        await exported('second')(own);
        expect(filesOf(own)).toEqual(wholes[1]);
      });
    },
  );

  it('leaves the first lines of a journal, which can be resumed', async () => {
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

  it('leaves the old or the new checkpoint', async () => {
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
  describe('a training on a failing disk', () => {
    const config = tinyTraining({
      checkpointEvery: 1,
      settings: { steps: 2, questionsPerStep: 1, groupSize: 2 },
    });
    const results = (folder: string): unknown => [
      ...['adapter', BEST_ADAPTER].map((name) =>
        readFileSync(join(folder, name, 'adapter_model.safetensors')),
      ),
      readFileSync(join(folder, 'trajectories.jsonl'), 'utf8'),
      readFileSync(join(folder, 'metrics.jsonl'), 'utf8').replace(/"\w+_seconds":[\d.e-]+/g, ''),
    ];
    const train = async (folder: string): Promise<unknown> => {
      const model = chattyModel();
      const task = {
        config,
        model,
        questions: QUESTIONS,
        retriever: createBm25Retriever(PASSAGES),
      };
      await runTraining({ ...task, inputsHash: 'i', folder }).finally(() =>
        disposeWeights(model.weights),
      );
      return results(folder);
    };
    beforeAll(() => useBackend('wasm'));

    const warmUp = async (folder: string): Promise<Float32Array[]> => {
      const weights = await runWarmUp(smallModel(), warmUpOf(folder, 1, 1), {});
      const values = Object.values(weights).map((tensor) => tensor.dataSync<'float32'>().slice());
      disposeWeights(weights);
      return values;
    };
    /**
     * Fails at each write of the work in turn; a second run gives the result without a
     * failure.
     */
    async function goesOn(kind: Kind, work: (folder: string) => Promise<unknown>): Promise<void> {
      const whole = await work(inFolder('whole'));
      const said = vi.spyOn(console, 'error').mockReturnValue();
      for (let at = 0, was = true; was; at += 1) {
        const own = inFolder(String(at));
        was = await whileFailing(kind, at, () => work(own));
        expect(await work(own), `write ${at}`).toEqual(whole);
        expect(existsSync(join(own, 'run.lock'))).toBe(false);
      }
      said.mockRestore();
    }

    it.each(KINDS)('resumes with the same result (%s)', (kind) => goesOn(kind, train), 3_600_000);
    it.each(KINDS)('warms up to the same model (%s)', (kind) => goesOn(kind, warmUp), 3_600_000);
  });
}
