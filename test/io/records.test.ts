import { constants } from 'node:buffer';
import { appendFile, mkdir, open, readdir, readFile, stat, writeFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { openJournal, recordFile, recordStore, writeArchives } from '../../lib/io/records.js';
import { errorText } from '../../lib/io/system-errors.js';
import { createRandom } from '../../lib/random.js';
import { temporaryFolder } from '../folder.js';
import { slow } from '../full.js';

const root = temporaryFolder();

describe('recordStore', () => {
  const record = { hash: 'abc', provenance: { backend: 'wasm' }, value: [1, 2] };

  it('finds a record by key and hash, in the folder first', async () => {
    const [own, kept] = [join(root, 'own'), join(root, 'kept')];
    await writeArchives(kept, 'x', new Map([['runs/a', record]]));
    const store = recordStore(own, kept);
    expect(await store.read('runs/a', 'abc')).toEqual({ ...record, folder: kept });
    await store.write('runs/a', { ...record, value: [3] });
    expect(await store.read('runs/a', 'abc')).toMatchObject({ value: [3], folder: own });
    expect(await store.read('runs/a', 'other')).toBeNull();
    expect(await store.read('b', 'abc')).toBeNull();
    const asked = [store.has('runs/a', 'abc'), store.has('runs/a', 'other'), store.has('b', 'abc')];
    expect(await Promise.all(asked)).toEqual([true, false, false]);
    expect(await recordStore(own).read('runs/b', 'abc')).toBeNull();
  });

  it('reads the archive if the record has another hash', async () => {
    const [own, kept] = [join(root, 'older'), join(root, 'newer')];
    await recordStore(own).write('a', { ...record, hash: 'before' });
    await writeArchives(kept, 'x', new Map([['a', record]]));
    const store = recordStore(own, kept);
    expect(await store.read('a', 'abc')).toEqual({ ...record, folder: kept });
    expect(await store.has('a', 'abc')).toBe(true);
  });

  it.each(['../a', '/a', 'a/../b', 'a b', ''])('rejects the key %j', (key) => {
    expect(() => recordFile(root, key)).toThrow('Expected a key');
  });
});

describe('writeArchives', () => {
  const record = (value: unknown) => ({ hash: 'h', provenance: {}, value });
  const valueIn = async (folder: string, key: string): Promise<unknown> =>
    (await recordStore(join(root, 'none'), folder).read(key, 'h'))?.value;

  it('writes one file per first key part and replaces old records', async () => {
    const folder = join(root, 'archives');
    const texts = { 'a/1': 'one', 'a/2': 'line\nof\ttwo', b: 3 };
    const records = Object.entries(texts).map(([key, value]) => [key, record(value)] as const);
    await writeArchives(folder, 'x', new Map(records));
    expect((await readdir(folder)).sort()).toEqual(['a.x.jsonl.br', 'b.x.jsonl.br']);
    expect(await valueIn(folder, 'a/2')).toBe('line\nof\ttwo');
    // Existing records stay in their archive; new ones do not touch it.
    const a = await readFile(join(folder, 'a.x.jsonl.br'));
    await writeArchives(folder, 'y', new Map([['a/3', record('other')]]));
    expect(await readFile(join(folder, 'a.x.jsonl.br'))).toEqual(a);
    await writeArchives(folder, 'y', new Map([['a/1', record('new')]]));
    const names = (await readdir(folder)).sort().join(' ');
    expect(names).toBe('a.x.jsonl.br a.y.jsonl.br b.x.jsonl.br');
    const expected = { ...texts, 'a/1': 'new', 'a/3': 'other', a: undefined };
    for (const [key, value] of Object.entries(expected))
      expect(await valueIn(folder, key), key).toBe(value);
  });

  it('compresses similar records', async () => {
    const folder = join(root, 'alike');
    const random = createRandom(1);
    const texts = Array.from({ length: 3000 }, () => `query ${random.uniform()}`);
    const answers = (run: number) => record(texts.map((text, i) => ({ text, em: (i * run) % 7 })));
    const records = new Map(
      [1, 2, 3, 4, 5, 6, 7, 8].map((run) => [`answers/${run}`, answers(run)]),
    );
    await writeArchives(folder, 'x', records);
    for (const [key, own] of records) await recordStore(folder).write(key, own);
    const sizeOf = async (name: string) => (await stat(join(folder, name))).size;
    const files = await Promise.all([...records.keys()].map((key) => sizeOf(`${key}.json.gz`)));
    expect(await sizeOf('answers.x.jsonl.br')).toBeLessThan(0.4 * sum(files));
  });

  it.each(['no brotli', 'cut off'])('reports an invalid archive (%s)', async (damage) => {
    const folder = join(root, damage);
    await writeArchives(folder, 'x', new Map([['a', record(1)]]));
    const file = join(folder, 'a.x.jsonl.br');
    await writeFile(file, damage === 'cut off' ? (await readFile(file)).subarray(0, -3) : damage);
    await expect(valueIn(folder, 'a')).rejects.toThrow(/a\.x\.jsonl\.br to be an archive/);
  });
});

describe('openJournal', () => {
  it('resumes without incomplete lines and other hashes', async () => {
    const file = join(root, 'deep', 'a.part.jsonl');
    const first = await openJournal<number>(file, 'h1');
    expect(first.items).toEqual([]);
    await first.append(1);
    await first.append(2);
    await appendFile(file, '{"hash":"h1","it');
    const second = await openJournal<number>(file, 'h1');
    expect(second.items).toEqual([1, 2]);
    await second.append(3);
    expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(4);
    await expect(openJournal(file, 'h2', { dropsOthers: false })).rejects.toThrow(
      /settings h2.* holds 3 of others/,
    );
    const other = await openJournal<number>(file, 'h2');
    expect(other.items).toEqual([]);
    await other.close();
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });

  it('names a folder in its place', async () => {
    const file = join(root, 'folder', 'a.partial');
    await mkdir(file, { recursive: true });
    const error = await openJournal(file, 'h').catch(errorText);
    expect(error).toBe(`Could not read ${file}: it is a folder (EISDIR).`);
  });

  it('reports that its file was removed, and loses nothing', async () => {
    const file = join(root, 'removed', 'a.jsonl');
    const said: string[] = [];
    const journal = await openJournal<number>(file, 'h', { log: (line) => said.push(line) });
    await journal.append(1);
    await rm(file);
    await journal.append(2);
    await journal.append(3);
    expect(said).toEqual([expect.stringMatching(/was removed.* 2 results again/)]);
    expect((await openJournal<number>(file, 'h')).items).toEqual([1, 2, 3]);
  });

  slow(
    'reads what exceeds the longest string (needs test:full)',
    async () => {
      const file = join(root, 'long.jsonl');
      const item = 'x'.repeat(1_000_000);
      const length = Math.ceil(constants.MAX_STRING_LENGTH / item.length);
      const handle = await open(file, 'w');
      for (let i = 0; i < length; i++)
        await handle.write(`${JSON.stringify({ hash: 'h', item })}\n`);
      await handle.close();
      const journal = await openJournal<string>(file, 'h');
      expect(journal.items).toHaveLength(length);
      expect((await stat(file)).size).toBeGreaterThan(constants.MAX_STRING_LENGTH);
    },
    600_000,
  );
});
