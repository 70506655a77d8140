import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { copySafely, readJson, writeFileSafely } from '../../lib/io/files.js';
import { temporaryFolder } from '../folder.js';

const folder = temporaryFolder();

describe('writeFileSafely', () => {
  it('leaves one of several contents that are written at once, whole, and nothing beside it', async () => {
    const file = path.join(folder, 'deep', 'a.txt');
    const contents = Array.from({ length: 20 }, (_, i) => String(i).repeat(50_000));
    await Promise.all(contents.map((content) => writeFileSafely(file, content)));
    expect(contents).toContain(readFileSync(file, 'utf8'));
    expect(readdirSync(path.dirname(file))).toEqual(['a.txt']);
  });

  it('leaves the file as it was, and nothing beside it, where writing fails', async () => {
    const taken = path.join(folder, 'folder');
    await writeFileSafely(path.join(taken, 'inside.txt'), 'a');
    await expect(writeFileSafely(taken, 'b')).rejects.toThrow();
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
    expect(readFileSync(path.join(taken, 'inside.txt'), 'utf8')).toBe('a');
  });
});

it('copySafely copies into a folder that it makes, over what is there, also what may only be read', async () => {
  const [from, to] = [path.join(folder, 'from.bin'), path.join(folder, 'copies', 'to.bin')];
  for (const text of ['first', 'second']) {
    await writeFileSafely(from, text);
    chmodSync(from, 0o444);
    await copySafely(from, to);
    expect(readFileSync(to, 'utf8')).toBe(text);
  }
  await expect(copySafely(path.join(folder, 'none'), to)).rejects.toThrow('ENOENT');
  expect(readFileSync(to, 'utf8')).toBe('second');
  expect(readdirSync(path.dirname(to))).toEqual(['to.bin']);
});

it('readJson names the file that is missing or no JSON', async () => {
  await expect(readJson('/none.json')).rejects.toThrow(
    'Could not read /none.json (ENOENT). Check the path.',
  );
  const file = path.join(folder, 'half.json');
  writeFileSync(file, '{"a": 1}');
  expect(await readJson(file)).toEqual({ a: 1 });
  writeFileSync(file, '{"a": ');
  await expect(readJson(file)).rejects.toThrow(`Expected ${file} to be JSON, but`);
});
