import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { appendText, partialPath, readTextSync, writeFileSafely } from '../../lib/io/files.js';
import { errorText, namingFile, systemReason } from '../../lib/io/system-errors.js';
import { temporaryFolder } from '../folder.js';

const folder = temporaryFolder();
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

it('says what could not be done with which file, and why', async () => {
  const absent = path.join(folder, 'absent');
  const reading = await failure(readFile(absent));
  expect(errorText(reading)).toBe(`Could not open ${absent}: no such file or directory (ENOENT).`);
  expect(systemReason(reading)).toBe('no such file or directory (ENOENT)');
  expect(errorText(await failure(mkdir(folder)))).toBe(
    `Could not create ${folder}: file already exists (EEXIST).`,
  );
  expect(errorText(await failure(mkdir(path.join(absent, 'b'))))).toBe(
    `Could not create ${path.join(absent, 'b')}: the folder above it is missing or cannot have folders (ENOENT).`,
  );
});

it('says that a file is a folder', async () => {
  expect(errorText(await failure(readFile(folder)))).toBe(
    'Could not read: it is a folder (EISDIR).',
  );
  const reading = (async () => readTextSync(folder))();
  expect(errorText(await failure(reading))).toBe(
    `Could not read ${folder}: it is a folder (EISDIR).`,
  );
});

it('says what prevents writing, not cleaning up', async () => {
  const file = path.join(folder, 'file');
  await writeFileSafely(file, 'a');
  expect(errorText(await failure(writeFileSafely(path.join(file, 'b'), 'c')))).toBe(
    `Could not open ${path.join(file, 'b')}: not a directory (ENOTDIR).`,
  );
});

it('names the file to be written instead of its partial one', async () => {
  const file = path.join(folder, 'none', 'a.html');
  expect(errorText(await failure(writeFile(partialPath(file), '')))).toContain(`open ${file}: no`);
});

it('explains errors without a path', async () => {
  const full = await failure(writeFile('/dev/full', 'x'));
  if (process.platform === 'linux')
    expect(errorText(full)).toBe('Could not write: no space left on device (ENOSPC).');
});

it('names the file of an error without a path', async () => {
  if (process.platform !== 'linux') return;
  for (const write of [writeFileSafely, appendText])
    expect(errorText(await failure(write('/dev/full', 'x')))).toBe(
      'Could not write /dev/full: no space left on device (ENOSPC).',
    );
  const named = await failure(readFile(path.join(folder, 'absent')));
  expect(errorText(namingFile(named, 'b'))).toContain('absent');
  const other = new Error('Expected a, but got b.');
  expect(namingFile(other, 'b')).toBe(other);
});

it('leaves other messages as they are', () => {
  expect(errorText(new Error('Expected a, but got b.'))).toBe('Expected a, but got b.');
  expect(errorText('text')).toBe('text');
  expect(systemReason(new Error('E: x'))).toBeUndefined();
});

it.each([
  ['got http://me:SECRET@host:8080/a.', 'got http://host:8080/a.'],
  ['got http://me:SEC/RET@host/a.', 'got http://host/a.'],
  ['got chat:htps://me:SECRET@host/v1.', 'got chat:htps://host/v1.'],
  ["got 'milvus://me:SECRET@host/a', not b", "got 'milvus://host/a', not b"],
  ['got me:SECRET@host:80/a.', 'got host:80/a.'],
  ['got http:/me:SECRET@host/a.', 'got http://host/a.'],
  ['a.jsonl:3: got me@host', 'a.jsonl:3: got me@host'],
  ['set xlsx=npm:xlsx@0.18.5', 'set xlsx=npm:xlsx@0.18.5'],
  ['https://cdn.example/npm/d3@7 failed', 'https://cdn.example/npm/d3@7 failed'],
  ['got chat:HTTP://host/v1?key=SECRET b', 'got chat:HTTP://host/v1?... b'],
])('shows no passwords: %s', (message, shown) => {
  expect(errorText(new Error(message))).toBe(shown);
});

it('replaces the control characters of terminals', () => {
  const hostile = 'a\u001b[2J\u001b]0;title\u0007\u009b1A\tb\r\nc\rd\u0000é';
  expect(errorText(new Error(hostile))).toBe('a�[2J�]0;title��1A\tb\nc�d�é');
});
