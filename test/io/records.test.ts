import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal, recordFile, recordStore } from '../../lib/io/records.js';

let root: string;
beforeEach(async () => (root = await mkdtemp(join(tmpdir(), 'records-'))));
afterEach(() => rm(root, { recursive: true }));

describe('recordStore', () => {
  const record = { hash: 'abc', provenance: { backend: 'wasm' }, value: [1, 2] };

  it('finds a record by key and hash, in the first folder that has it', async () => {
    const [own, kept] = [join(root, 'own'), join(root, 'kept')];
    await recordStore([kept]).write('runs/a', record);
    const store = recordStore([own, kept]);
    expect(await store.read('runs/a', 'abc')).toEqual({ ...record, folder: kept });
    await store.write('runs/a', { ...record, value: [3] });
    expect(await store.read('runs/a', 'abc')).toMatchObject({ value: [3], folder: own });
    expect(await recordStore([kept]).read('runs/a', 'abc')).toMatchObject({ value: [1, 2] });
  });

  it('does not know a record of another hash or key', async () => {
    await recordStore([root]).write('a', record);
    expect(await recordStore([root]).read('a', 'other')).toBeNull();
    expect(await recordStore([root]).read('b', 'abc')).toBeNull();
  });

  it.each(['../a', '/a', 'a/../b', 'a b', ''])('refuses the key %j', (key) => {
    expect(() => recordFile(root, key)).toThrow('Expected a key of letters');
  });
});

describe('openJournal', () => {
  it('goes on with what was appended before, without half a line and lines of another hash', async () => {
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
    expect((await openJournal<number>(file, 'h2')).items).toEqual([]);
  });

  it('leaves nothing once it is closed', async () => {
    const file = join(root, 'b.jsonl');
    await (await openJournal(file, 'h')).close();
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });
});
