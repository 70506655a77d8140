/** Atomic file writes, and readers whose errors name the file. */
import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import {
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gunzipSync } from 'node:zlib';
import { FORMAT_BYTES, nameFormat } from './formats.js';
import { describeError, parseJson, parsePlainJson } from './json.js';
import { shortPath } from './paths.js';
import { naming, namingFile, systemReason } from './system-errors.js';

let numWritten = 0;

/** A temporary name to write to before renaming to `path`; see {@link removePartial}. */
export const partialPath = (path: string): string =>
  `${path}.${process.pid}-${numWritten++}.partial`;

type Texts = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/**
 * Creates a folder and those above it. Node's own recursion never ends where nothing can
 * be created, such as in /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) return;
  await makeFolder(dirname(path));
  await fs.mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' || !existsSync(path)) throw error;
  });
}

/**
 * Writes a file atomically; the last of concurrent writes wins. The file keeps its mode
 * and owner, and a link to it stays a link. Devices, pipes and this process's own output
 * are written to, not replaced.
 */
export const writeFileSafely = (path: string, content: string | Uint8Array): Promise<void> =>
  replaceFile(path, {
    write: (partial) => fs.writeFile(partial, content, { flush: true }),
    texts: () => [content],
  });

/** Writes a sequence of texts, such as lines, like {@link writeFileSafely}. */
export const writeTextsSafely = (path: string, texts: Texts): Promise<void> =>
  replaceFile(path, {
    write: (partial) => pipeline(Readable.from(texts), createWriteStream(partial, { flush: true })),
    texts: () => texts,
  });

/** Writes indented JSON like {@link writeFileSafely}. */
export const writeJson = (path: string, value: unknown): Promise<void> =>
  writeFileSafely(path, `${JSON.stringify(value, null, 2)}\n`);

export const jsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** Writes a line per item; together they may exceed the longest string. */
export function writeLines<T>(
  path: string,
  items: Iterable<T> | AsyncIterable<T>,
  print: (item: T) => string = jsonLine,
): Promise<void> {
  async function* lines(): AsyncGenerator<string> {
    for await (const item of items) yield print(item);
  }
  return writeTextsSafely(path, lines());
}

/** Appends to a file; errors name it. */
export const appendText = (path: string, text: string): Promise<void> =>
  fs.appendFile(path, text).catch(naming(path));

/** Copies a file like {@link writeFileSafely}. */
export const copySafely = (from: string, to: string): Promise<void> =>
  replaceFile(to, {
    write: async (partial) => {
      await fs.copyFile(from, partial, constants.COPYFILE_FICLONE);
      await flush(partial);
      await fs.chmod(partial, 0o644);
    },
    texts: () => createReadStream(from),
  });

/** Replaces a file, or writes texts to a device, pipe or own output. */
async function replaceFile(
  path: string,
  { write, texts }: { write: (partial: string) => Promise<void>; texts: () => Texts },
): Promise<void> {
  await makeFolder(dirname(path));
  const old = await fs.stat(path).catch(() => undefined);
  if (old?.isDirectory())
    throw new Error(`Expected a file to write to, but ${shortPath(path)} is a folder.`);
  const ownOutput = old && findOwnOutput(old);
  // Opening standard output by name would write at its start, or fail.
  if (ownOutput) return pipeline(Readable.from(texts()), ownOutput, { end: false });
  if (old && !old.isFile())
    return pipeline(Readable.from(texts()), createWriteStream(path)).catch(naming(path));
  if (old) await fs.access(path, constants.W_OK);
  const target = targetPath(path);
  const partial = partialPath(target);
  try {
    await write(partial).catch(naming(path));
    if (old) {
      await fs.chown(partial, old.uid, old.gid).catch(() => undefined); // needs permission
      await fs.chmod(partial, old.mode);
    }
    await fs.rename(partial, target);
  } finally {
    // The error of writing says more.
    await fs.rm(partial, { force: true }).catch(() => undefined);
  }
  await flush(dirname(target));
}

/** Whether two stats belong to the same file. */
export const isSameFile = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino;

/** Standard output or error, if a path leads to it. */
const findOwnOutput = (file: Stats): NodeJS.WriteStream | undefined =>
  [process.stdout, process.stderr].find((_, i) => {
    try {
      return isSameFile(fstatSync(i + 1), file);
    } catch {
      return false; // closed
    }
  });

/** The absolute path that links lead to; neither its file nor its folder need exist. */
export function targetPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch (error) {
    const parent = dirname(absolute);
    // Not for links in a circle, or a drive that is missing.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === absolute) return absolute;
    const folder = targetPath(parent);
    const link = lstatSync(absolute, { throwIfNoEntry: false }) && readlinkSync(absolute);
    return link ? targetPath(resolve(folder, link)) : join(folder, basename(absolute));
  }
}

/** The name of a folder while it is being replaced. */
export const oldPath = (path: string): string => `${path}.old`;

/** Renames a complete folder to `path`; a kill leaves the old one as {@link oldPath}. */
export async function replaceFolder(partial: string, path: string): Promise<void> {
  const old = oldPath(path);
  await flush(partial);
  if (existsSync(path)) {
    await fs.rm(old, { recursive: true, force: true });
    await fs.rename(path, old);
  }
  await fs.rename(partial, path);
  await flush(dirname(path));
  await fs.rm(old, { recursive: true, force: true });
}

/** Errors of file systems that cannot flush a folder. */
const CANNOT_FLUSH = ['EINVAL', 'ENOTSUP'];

/** Flushes a file, or a folder's entries, to disk; does nothing on Windows. */
export async function flush(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await fs.open(path);
  await handle
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (!CANNOT_FLUSH.includes(error.code ?? '')) throw error;
    })
    .finally(() => handle.close());
}

/** Removes partial files that a kill left in a folder. Nobody else may write there. */
export async function removePartial(folder: string): Promise<void> {
  const names = existsSync(folder) ? await fs.readdir(folder) : [];
  for (const name of names.filter((name) => /\.\d+-\d+\.partial$/.test(name)))
    await fs.rm(join(folder, name), { recursive: true, force: true });
}

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

function requireText(bytes: Uint8Array, path: string): void {
  const other = isGzip(bytes) ? undefined : nameFormat(bytes);
  if (other)
    throw new Error(`Expected ${shortPath(path)} to be UTF-8, plain or gzip, but ${other}`);
}

const damaged = (path: string, cause: Error): Error =>
  new Error(
    `Expected ${shortPath(path)} to be a complete gzip file, but got: ${cause.message}. Copy it again.`,
    { cause },
  );

/** Decompresses bytes if they are gzip. @throws Error naming a damaged file */
export function unpack(bytes: Uint8Array, path: string): Uint8Array {
  try {
    return isGzip(bytes) ? gunzipSync(bytes) : bytes;
  } catch (cause) {
    throw damaged(path, cause as Error);
  }
}

/**
 * Decodes bytes, decompressed if they are gzip, without a byte order mark.
 * @throws Error naming the line with bytes that are not UTF-8
 */
export function decodeText(bytes: Uint8Array, path: string): string {
  const { buffer, byteOffset, length } = unpack(bytes, path);
  const plain = Buffer.from(buffer, byteOffset, length);
  requireText(plain, path);
  if (isUtf8(plain)) return plain.toString().replace(/^\uFEFF/, '');
  let line = 1;
  for (let start = 0; ; line++) {
    const end = plain.indexOf(10, start);
    if (end < 0 || !isUtf8(plain.subarray(start, end))) break;
    start = end + 1;
  }
  throw new Error(notUtf8(`${shortPath(path)}, line ${line}`));
}

/** Reads a text file, decompressed if it is gzip. @throws Error naming it */
export function readTextSync(path: string): string {
  try {
    return decodeText(readFileSync(path), path);
  } catch (error) {
    throw namingFile(error, path);
  }
}

/** A complaint about bytes that are not UTF-8. */
export const notUtf8 = (where: string): string =>
  `${where}: expected UTF-8, but got other bytes. Save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8.`;

/** Reads the first bytes, which identify a file's format. */
export async function readStart(path: string): Promise<Buffer> {
  const handle = await fs.open(path);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FORMAT_BYTES), 0, FORMAT_BYTES, 0);
  await handle.close();
  return buffer.subarray(0, bytesRead);
}

/** Whether a file is gzip, whatever its name. */
export const isGzipFile = async (path: string): Promise<boolean> => isGzip(await readStart(path));

/** Streams a file, decompressed if it is gzip. @throws Error naming another format */
export const openFile = (path: string): Promise<Readable> =>
  openStream(createReadStream(path, { highWaterMark: 1 << 18 }), path);

/** Looks at the first bytes in the stream itself: pipes have no positions. */
async function openStream(stream: Readable, path: string): Promise<Readable> {
  if (!stream.readable) return stream;
  await once(stream, 'readable');
  const chunk = stream.read() as Buffer | string | null;
  if (chunk === null) return stream;
  stream.unshift(chunk);
  const start = Buffer.from(chunk).subarray(0, FORMAT_BYTES);
  requireText(start, path);
  return isGzip(start) ? Readable.from(unpackStream(stream, path)) : stream;
}

async function* unpackStream(stream: Readable, path: string): AsyncGenerator<Buffer> {
  const unpacked = createGunzip();
  stream.on('error', (error) => unpacked.destroy(error));
  try {
    let isStart = true;
    for await (const chunk of stream.pipe(unpacked) as AsyncIterable<Buffer>) {
      if (isStart) requireText(chunk, path);
      isStart = false;
      yield chunk;
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code?.startsWith('Z_')
      ? damaged(path, error as Error)
      : error;
  } finally {
    stream.destroy();
  }
}

/** Fills an array from a position in a file. @throws Error if the file ends before */
export function readAt(file: number, array: ArrayBufferView, position: number): void {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let done = 0; done < bytes.length; ) {
    // Node reads at most 2 GiB at a time.
    const length = Math.min(bytes.length - done, 2 ** 30);
    const numRead = readSync(file, bytes, done, length, position + done);
    if (numRead === 0)
      throw new Error(
        `Expected more than ${position + done} bytes, but the file ends there. Copy it again.`,
      );
    done += numRead;
  }
}

/** Reads a JSON file. @throws Error naming a file that is missing or not JSON */
export async function readJson(path: string, parse = parsePlainJson): Promise<unknown> {
  const bytes = await fs.readFile(path).catch(naming(path));
  const text = decodeText(bytes, path);
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`Expected ${shortPath(path)} to be JSON, but ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Reads an object from a JSON file; empty if the file does not exist. */
export const readJsonIfExists = async (path: string): Promise<object> =>
  existsSync(path) ? ((await readJson(path)) as object) : {};

/** A value, or a complaint that names file and line. */
export type LineOutcome<T> = { value: T } | { complaint: string };

/** Maximum length of a line in bytes. */
export const MAX_LINE_LENGTH = 50_000_000;

/** Maximum number of a line's characters in a complaint. */
const SHOWN_LENGTH = 100;

/**
 * The lines of a stream, split at line feeds only (JSON may contain U+2028), with their
 * lengths in bytes. Text beyond {@link MAX_LINE_LENGTH} is dropped.
 */
export async function* readLines(
  stream: Readable,
): AsyncGenerator<{ text: string; length: number; isUtf8: boolean }> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > MAX_LINE_LENGTH) parts = [];
    else parts.push(part);
  };
  const takeLine = () => {
    const bytes = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const line = { text: bytes.toString(), length, isUtf8: isUtf8(bytes) };
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    let start = 0;
    for (let end; (end = bytes.indexOf(10, start)) >= 0; start = end + 1) {
      add(bytes.subarray(start, end));
      yield takeLine();
    }
    add(bytes.subarray(start));
  }
  yield takeLine();
}

/**
 * Parses the non-blank lines of a file (`-` is standard input). Lines that are too long
 * or that `parse` rejects, and files that cannot be read, become complaints; the other
 * lines are still read.
 */
export async function* streamJsonLines<T>(
  file: string,
  parse: (value: unknown) => T,
  stdin: Readable = process.stdin,
): AsyncGenerator<LineOutcome<T>> {
  const name = file === '-' ? '<stdin>' : file;
  let number = 0;
  try {
    const stream = file === '-' ? openStream(stdin, name) : openFile(file);
    for await (const line of readLines(await stream)) {
      number++;
      // Also drops a byte order mark.
      const text = line.text.trim();
      if (line.length > MAX_LINE_LENGTH)
        yield {
          complaint: `${name}:${number}: Expected at most ${MAX_LINE_LENGTH} bytes, but got ${line.length}. Write one JSON object per line.`,
        };
      if (text === '') continue;
      if (!line.isUtf8) {
        yield { complaint: notUtf8(`${name}:${number}`) };
        continue;
      }
      try {
        yield { value: parse(parseJson(text)) };
      } catch (error) {
        const line = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
        const reason = /^(\[|\{$)/.test(text)
          ? "Expected one JSON object per line. Convert an array with jq -c '.[]', indented objects with jq -c ."
          : describeError(error).replace(/[^.]$/, '$&.');
        yield { complaint: `${name}:${number}: ${reason} In: ${line}` };
      }
    }
  } catch (error) {
    yield { complaint: `${name}: ${systemReason(error) ?? (error as Error).message}` };
  }
}

/** @throws Error saying what was expected, with the first complaint */
export async function* readJsonLines<T>(
  file: string,
  parse: (value: unknown) => T,
  expected: string,
): AsyncGenerator<T> {
  for await (const line of streamJsonLines(file, parse)) {
    if ('complaint' in line) throw new Error(`Expected ${expected}, but: ${line.complaint}`);
    yield line.value;
  }
}
