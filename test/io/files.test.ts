import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  copySafely,
  decodeText,
  makeFolder,
  MAX_LINE_LENGTH,
  readJson,
  streamJsonLines,
  writeFileSafely,
  type LineOutcome,
} from '../../lib/io/files.js';
import { temporaryFolder } from '../folder.js';

const folder = temporaryFolder();

/** POSIX's ustar header: the magic is at 257. */
const TAR = Buffer.alloc(512);
TAR.write('a.jsonl');
TAR.write('ustar\x0000', 257);

describe('writeFileSafely', () => {
  it('writes one complete content at concurrent writes and leaves no temporary file', async () => {
    const file = path.join(folder, 'deep', 'a.txt');
    const contents = Array.from({ length: 20 }, (_, i) => String(i).repeat(50_000));
    await Promise.all(contents.map((content) => writeFileSafely(file, content)));
    expect(contents).toContain(readFileSync(file, 'utf8'));
    expect(readdirSync(path.dirname(file))).toEqual(['a.txt']);
  });

  it('changes nothing if writing fails', async () => {
    const taken = path.join(folder, 'folder');
    await writeFileSafely(path.join(taken, 'inside.txt'), 'a');
    await expect(writeFileSafely(taken, 'b')).rejects.toThrow();
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
    expect(readFileSync(path.join(taken, 'inside.txt'), 'utf8')).toBe('a');
  });
});

it('makeFolder creates folders, or fails where none can be created', async () => {
  const inner = path.join(folder, 'a', 'b', 'c');
  await Promise.all([makeFolder(inner), makeFolder(inner)]);
  await makeFolder(inner);
  expect(readdirSync(inner)).toEqual([]);
  if (process.platform === 'linux')
    await expect(makeFolder('/proc/a/b')).rejects.toThrow("mkdir '/proc/a'");
});

it('copySafely creates the folder, replaces files, and copies read-only files', async () => {
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

it('readJson reports a file that is missing or not JSON', async () => {
  await expect(readJson('/none.json')).rejects.toThrow(/ENOENT.*none\.json/);
  const file = path.join(folder, 'half.json');
  writeFileSync(file, '{"a": 1}');
  expect(await readJson(file)).toEqual({ a: 1 });
  writeFileSync(file, '{"a": ');
  await expect(readJson(file)).rejects.toThrow('half.json');
});

describe('external bytes', () => {
  const latin1 = Buffer.from('{"a": 1}\n{"a": "Århus"}\n', 'latin1');
  const readFileOutcomes = async (file: string): Promise<LineOutcome<unknown>[]> => {
    const outcomes: LineOutcome<unknown>[] = [];
    for await (const outcome of streamJsonLines(file, (value) => value)) outcomes.push(outcome);
    return outcomes;
  };

  it('are rejected with file and line if they are not UTF-8', async () => {
    const file = path.join(folder, 'latin1.json');
    writeFileSync(file, latin1);
    expect(() => decodeText(latin1, file)).toThrow(/latin1\.json, line 2.*UTF-8/);
    await expect(readJson(file)).rejects.toThrow(/line 2.*UTF-8/);
    const [first, second] = await readFileOutcomes(file);
    expect(first).toEqual({ value: { a: 1 } });
    expect(second).toMatchObject({
      complaint: expect.stringMatching(/latin1\.json:2.*UTF-8/) as string,
    });
  });

  it('are decompressed if gzip under any name, without a byte order mark', async () => {
    const file = path.join(folder, 'packed.jsonl');
    writeFileSync(file, gzipSync('\uFEFF{"a": "Å"}'));
    expect(await readJson(file)).toEqual({ a: 'Å' });
    expect(await readFileOutcomes(file)).toEqual([{ value: { a: 'Å' } }]);
    expect(await readFileOutcomes(path.join(folder, 'none'))).toMatchObject([
      { complaint: expect.stringContaining('ENOENT') as string },
    ]);
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFF{}', 'utf16le')],
    ['UTF-32', Buffer.from('fffe00007b000000', 'hex')],
    ['UTF-32', Buffer.from('0000feff0000007b', 'hex')],
    ['tar', TAR],
    ['tar', gzipSync(TAR)],
    ['Zstandard', Buffer.from('28b52ffd2400', 'hex')],
    ['bzip2', Buffer.from('BZh91AY&SY')],
    ['git lfs pull', Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:0\n')],
    ['git annex get', Buffer.from('/annex/objects/SHA256E-s1--0.json\n')],
    ['zip', Buffer.from('PK\x03\x04')],
    ['complete gzip', gzipSync('{"a": 1}').subarray(0, -9)],
  ])('are rejected with their format: %s', async (name, bytes) => {
    const file = path.join(folder, 'other.jsonl');
    writeFileSync(file, bytes);
    await expect(readJson(file)).rejects.toThrow(new RegExp(`other.jsonl.*${name}`));
    expect(await readFileOutcomes(file)).toMatchObject([
      { complaint: expect.stringContaining(name) as string },
    ]);
  });

  it('keep large integers, and characters split over chunks', async () => {
    const bytes = Buffer.from('{"id": 12345678901234567891, "a": "Å"}');
    const at = bytes.indexOf(0xc3) + 1;
    expect(await readOutcomes([bytes.subarray(0, at), bytes.subarray(at)])).toEqual([
      { value: { id: '12345678901234567891', a: 'Å' } },
    ]);
  });
});

async function readOutcomes(chunks: Iterable<string | Buffer>): Promise<LineOutcome<unknown>[]> {
  const outcomes: LineOutcome<unknown>[] = [];
  const stdin = Readable.from(chunks, { objectMode: false });
  for await (const outcome of streamJsonLines('-', (value) => value, stdin)) outcomes.push(outcome);
  return outcomes;
}

describe('streamJsonLines', () => {
  it('reads gzip, also from standard input and pipes', async () => {
    const bytes = gzipSync('{"a": 1}\n');
    expect(await readOutcomes([bytes])).toEqual([{ value: { a: 1 } }]);
    expect(await readOutcomes([])).toEqual([]);
    if (process.platform === 'win32') return;
    const pipe = path.join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const written = writeFile(pipe, bytes);
    const outcomes: LineOutcome<unknown>[] = [];
    for await (const outcome of streamJsonLines(pipe, (value) => value)) outcomes.push(outcome);
    expect(outcomes).toEqual([{ value: { a: 1 } }]);
    await written;
  });

  it('joins lines and characters split over chunks', async () => {
    const bytes = Buffer.from('{"a": "é"}\n\n[1]\r\n"\u2028"');
    const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    const values = [{ a: 'é' }, [1], '\u2028'];
    expect(await readOutcomes(pieces)).toEqual(values.map((value) => ({ value })));
  });

  it('reports an overlong line and continues', async () => {
    function* chunks(): Generator<string> {
      yield '1\n';
      for (let length = 0; length <= MAX_LINE_LENGTH; length += 10_000) yield ' '.repeat(10_000);
      yield '\n2\n';
    }
    const complaint = new RegExp(`^<stdin>:2: .*${MAX_LINE_LENGTH}`);
    expect(await readOutcomes(chunks())).toEqual([
      { value: 1 },
      { complaint: expect.stringMatching(complaint) as string },
      { value: 2 },
    ]);
  });

  it('reports a line that is not JSON and reads the others', async () => {
    expect(await readOutcomes(['1\n{\n2'])).toEqual([
      { value: 1 },
      { complaint: expect.stringMatching(/^<stdin>:2: /) as string },
      { value: 2 },
    ]);
  });
});
