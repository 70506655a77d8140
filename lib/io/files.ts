/** Files that are never seen half written. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

let numWritten = 0;

/** Writes a file aside and renames it, so that a reader never sees half of it. Of several at once the last one stays. */
export async function writeFileSafely(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const aside = `${path}.${process.pid}-${numWritten++}.partial`;
  try {
    await writeFile(aside, content);
    await rename(aside, path);
  } finally {
    await rm(aside, { force: true });
  }
}

/** Reads and parses a JSON file. @throws Error naming the file that is missing or is no JSON */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`Could not read ${path} (${cause.code}). Check the path.`, { cause });
  });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Expected ${path} to be JSON, but ${(error as Error).message}`, { cause: error });
  }
}
