/** Files that are never seen half written. */
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { shortPath } from './paths.js';

let numWritten = 0;

/** Writes a file aside and renames it, so that a reader never sees half of it. Of several at once the last one stays. */
export const writeFileSafely = (path: string, content: string | Uint8Array): Promise<void> =>
  replaceFile(path, (aside) => writeFile(aside, content, { flush: true }));

/** The same for texts that come one after the other, such as lines. */
export const writeTextsSafely = (
  path: string,
  texts: Iterable<string> | AsyncIterable<string>,
): Promise<void> =>
  replaceFile(path, (aside) => pipeline(Readable.from(texts), createWriteStream(aside, { flush: true })));

async function replaceFile(path: string, write: (aside: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const aside = `${path}.${process.pid}-${numWritten++}.partial`;
  try {
    await write(aside);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}

/** Waits until what was renamed or made in a folder is on the disk; Windows has no such call. */
export async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}

/** Removes what kills have left half written right in a folder. Nobody else may be writing there. */
export async function removePartial(folder: string): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names.filter((name) => /\d\.partial$/.test(name)))
    await rm(join(folder, name), { recursive: true, force: true });
}

/** Reads and parses a JSON file. @throws Error naming the file that is missing or is no JSON */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`Could not read ${shortPath(path)} (${cause.code}). Check the path.`, { cause });
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
