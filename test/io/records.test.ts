import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openJournal, recordFile, recordStore } from '../../lib/io/records.js';
import { temporaryFolder } from '../folder.js';

const root = temporaryFolder();

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
    expect(await store.read('runs/a', 'other')).toBeNull();
    expect(await store.read('b', 'abc')).toBeNull();
  });

  it.each(['../a', '/a', 'a/../b', 'a b', ''])('refuses the key %j', (key) => {
    expect(() => recordFile(root, key)).toThrow('Expected a key of letters');
  });
});

describe('openJournal', () => {
  it('goes on with what was appended before, without half a line and lines of another hash, until it is closed', async () => {
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
    const other = await openJournal<number>(file, 'h2');
    expect(other.items).toEqual([]);
    await other.close();
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });
});
