/** Files that are never seen half written. */
import { constants, createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { shortPath } from './paths.js';

let numWritten = 0;

/**
 * Where something is written that is to be renamed to `path` once it is whole.
 * {@link removePartial} knows it by its name.
 */
export const asideOf = (path: string): string => `${path}.${process.pid}-${numWritten++}.partial`;

/**
 * Writes a file aside and renames it, so that a reader never sees half of it. Of several
 * at once the last one stays.
 */
export const writeFileSafely = (path: string, content: string | Uint8Array): Promise<void> =>
  replaceFile(path, (aside) => writeFile(aside, content, { flush: true }));

/** The same for texts that come one after the other, such as lines. */
export const writeTextsSafely = (
  path: string,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<void> =>
  replaceFile(path, (aside) =>
    pipeline(Readable.from(texts), createWriteStream(aside, { flush: true })),
  );

/** The same for a copy. */
export const copySafely = (from: string, to: string): Promise<void> =>
  replaceFile(to, async (aside) => {
    await copyFile(from, aside, constants.COPYFILE_FICLONE);
    await flush(aside);
  });

async function replaceFile(path: string, write: (aside: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const aside = asideOf(path);
  try {
    await write(aside);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
  await flush(dirname(path));
}

/** The name that a folder has while another one takes its place. */
export const oldOf = (path: string): string => `${path}.old`;

/**
 * Gives a folder that is whole its name. One that has this name is there as {@link oldOf}
 * until then, wherever that is killed.
 */
export async function replaceFolder(aside: string, path: string): Promise<void> {
  const old = oldOf(path);
  await flush(aside);
  if (existsSync(path)) {
    await rm(old, { recursive: true, force: true });
    await rename(path, old);
  }
  await rename(aside, path);
  await flush(dirname(path));
  await rm(old, { recursive: true, force: true });
}

/** What file systems say that cannot flush a folder. */
const CANNOT_FLUSH = ['EINVAL', 'ENOTSUP'];

/**
 * Waits until a file, or what was renamed or made in a folder, is on the disk; Windows
 * has no such call for folders.
 */
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

/**
 * Removes what kills have left half written right in a folder. Nobody else may be writing
 * there.
 */
export async function removePartial(folder: string): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names.filter((name) => /\.\d+-\d+\.partial$/.test(name)))
    await rm(join(folder, name), { recursive: true, force: true });
}

/**
 * Reads and parses a JSON file. @throws Error naming the file that is missing or is no
 * JSON
 */
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

/** The object in a JSON file, empty where there is no such file. */
export const readJsonIfThere = async (path: string): Promise<object> =>
  existsSync(path) ? ((await readJson(path)) as object) : {};
