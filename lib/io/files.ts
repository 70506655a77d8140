/** Atomic file writes, and JSON files read with errors that name the file. */
import { constants, createReadStream, createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { shortPath } from './paths.js';

let numWritten = 0;

/** A temporary name to write to before renaming to `path`; see {@link removePartial}. */
export const partialPath = (path: string): string =>
  `${path}.${process.pid}-${numWritten++}.partial`;

/** Writes a file atomically. Of concurrent writes the last one stays. */
export const writeFileSafely = (path: string, content: string | Uint8Array): Promise<void> =>
  replaceFile(path, (aside) => writeFile(aside, content, { flush: true }));

/** Writes a sequence of texts, such as lines, as one atomic file. */
export const writeTextsSafely = (
  path: string,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<void> =>
  replaceFile(path, (aside) =>
    pipeline(Readable.from(texts), createWriteStream(aside, { flush: true })),
  );

/** Copies a file atomically. */
export const copySafely = (from: string, to: string): Promise<void> =>
  replaceFile(to, async (aside) => {
    await copyFile(from, aside, constants.COPYFILE_FICLONE);
    await flush(aside);
  });

async function replaceFile(path: string, write: (aside: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const aside = partialPath(path);
  try {
    await write(aside);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
  await flush(dirname(path));
}

/** The name of a folder while it is being replaced. */
export const oldPath = (path: string): string => `${path}.old`;

/**
 * Renames a complete folder to `path`. If killed on the way, the folder that was there is
 * kept as {@link oldPath}.
 */
export async function replaceFolder(aside: string, path: string): Promise<void> {
  const old = oldPath(path);
  await flush(aside);
  if (existsSync(path)) {
    await rm(old, { recursive: true, force: true });
    await rename(path, old);
  }
  await rename(aside, path);
  await flush(dirname(path));
  await rm(old, { recursive: true, force: true });
}

/** Errors of file systems that cannot flush a folder. */
const CANNOT_FLUSH = ['EINVAL', 'ENOTSUP'];

/** Flushes a file, or the entries of a folder, to disk; does nothing on Windows. */
export async function flush(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path);
  await handle
    .sync()
    .catch((error: NodeJS.ErrnoException) => {
      if (!CANNOT_FLUSH.includes(error.code ?? '')) throw error;
    })
    .finally(() => handle.close());
}

/** Removes partial files that a kill left in a folder. Nobody else may write there. */
export async function removePartial(folder: string): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names.filter((name) => /\.\d+-\d+\.partial$/.test(name)))
    await rm(join(folder, name), { recursive: true, force: true });
}

/** Reads a JSON file. @throws Error naming a file that is missing or not JSON */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`Could not read ${shortPath(path)} (${cause.code}). Check the path.`, {
      cause,
    });
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Expected ${shortPath(path)} to be JSON, but ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The object in a JSON file; empty if there is no such file. */
export const readJsonIfThere = async (path: string): Promise<object> =>
  existsSync(path) ? ((await readJson(path)) as object) : {};

/** A value, or a complaint that names file and line. */
export type LineOutcome<T> = { value: T } | { complaint: string };

/** The longest line that is read, in characters. */
export const MAX_LINE_LENGTH = 50_000_000;

/** How much of a line a complaint shows, in characters. */
const SHOWN_LENGTH = 100;

/**
 * The lines of a stream, split at line feeds only (JSON may contain U+2028). The text of
 * a line longer than {@link MAX_LINE_LENGTH} is cut off.
 */
export async function* readLines(
  stream: Readable,
): AsyncGenerator<{ text: string; length: number }> {
  stream.setEncoding('utf8');
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    for (const [i, part] of chunk.split('\n').entries()) {
      if (i > 0) {
        yield { text: parts.join(''), length };
        [parts, length] = [[], 0];
      }
      length += part.length;
      if (length > MAX_LINE_LENGTH) parts = [];
      else parts.push(part);
    }
  }
  yield { text: parts.join(''), length };
}

/**
 * Parses the lines of a file (`-` is standard input) that are not blank. Lines that are
 * too long or that `parse` rejects, and files that cannot be read, become complaints; the
 * other lines are still read.
 */
export async function* streamJsonLines<T>(
  file: string,
  parse: (value: unknown) => T,
  stdin: Readable = process.stdin,
): AsyncGenerator<LineOutcome<T>> {
  const name = file === '-' ? '<stdin>' : file;
  let number = 0;
  try {
    for await (const line of readLines(file === '-' ? stdin : createReadStream(file))) {
      number++;
      // Also drops a byte order mark.
      const text = line.text.trim();
      if (line.length > MAX_LINE_LENGTH)
        yield {
          complaint: `${name}:${number}: Expected at most ${MAX_LINE_LENGTH} characters, but got ${line.length}. Write one JSON object per line.`,
        };
      if (text === '') continue;
      try {
        yield { value: parse(JSON.parse(text)) };
      } catch (error) {
        const line = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
        const reason = (error as Error).message.replace(/[^.]$/, '$&.');
        yield { complaint: `${name}:${number}: ${reason} In: ${line}` };
      }
    }
  } catch (error) {
    yield { complaint: `${name}: ${(error as Error).message}` };
  }
}
