/**
 * The one record of results: a value under a key, with a hash of everything that it depends on and a note of where it was
 * computed. It counts only while that hash is still the same.
 */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { writeFileSafely } from './files.js';
import { shortPath } from './paths.js';
import type { Provenance } from './provenance.js';

export interface ResultRecord<T> {
  hash: string;
  provenance: Provenance;
  value: T;
}

/** Folders of records, of which the first is written to. */
export interface RecordStore {
  /** The record of this key and hash in the first folder that has one, else null. */
  read<T>(key: string, hash: string): Promise<(ResultRecord<T> & { folder: string }) | null>;
  write<T>(key: string, record: ResultRecord<T>): Promise<void>;
}

const recordSchema = z.object({
  hash: z.string(),
  provenance: z.record(z.string(), z.unknown()),
  value: z.unknown(),
});
const entrySchema = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue('no JSON');
      return z.NEVER;
    }
  })
  .pipe(z.object({ hash: z.string(), item: z.unknown() }));
const KEY = /^[\w.=,-]+(\/[\w.=,-]+)*$/;

/** Where a folder keeps the record of a key. @throws RangeError for a key that is no relative path */
export function recordFile(folder: string, key: string): string {
  if (!KEY.test(key) || key.split('/').includes('..'))
    throw new RangeError(
      `Expected a key of letters, digits, ".", "_", "=", "," and "-", but got ${JSON.stringify(key)}.`,
    );
  return join(folder, `${key}.json.gz`);
}

async function readRecord<T>(file: string): Promise<ResultRecord<T>> {
  const bytes = await readFile(file);
  try {
    return recordSchema.parse(JSON.parse(gunzipSync(bytes).toString())) as ResultRecord<T>;
  } catch (cause) {
    throw new Error(`Expected ${shortPath(file)} to be a record of results. Remove it and run again.`, {
      cause,
    });
  }
}

/** @throws Error while reading, naming a file that is no record */
export function recordStore(folders: readonly [string, ...string[]]): RecordStore {
  return {
    read: async <T>(key: string, hash: string) => {
      for (const folder of folders) {
        const file = recordFile(folder, key);
        const record = existsSync(file) ? await readRecord<T>(file) : null;
        if (record?.hash === hash) return { ...record, folder };
      }
      return null;
    },
    write: async (key, record) =>
      writeFileSafely(recordFile(folders[0], key), gzipSync(JSON.stringify(record), { level: 9 })),
  };
}

/** What a computation that is not finished has got so far: lines that are appended as they come. */
export interface Journal<T> {
  /** Those of an earlier call, in order. */
  items: readonly T[];
  append(item: T): Promise<void>;
  /** Removes the file: the record has taken its place. */
  close(): Promise<void>;
}

/** Goes on with the lines of this hash; others, and what is no such line, as after a kill, are dropped. */
export async function openJournal<T>(file: string, hash: string): Promise<Journal<T>> {
  const line = (item: T): string => `${JSON.stringify({ hash, item })}\n`;
  const complete = existsSync(file) ? (await readFile(file, 'utf8')).split('\n').slice(0, -1) : [];
  const items = complete.flatMap((text) => {
    const { success, data } = entrySchema.safeParse(text);
    return success && data.hash === hash ? [data.item as T] : [];
  });
  await mkdir(dirname(file), { recursive: true });
  await writeFileSafely(file, items.map(line).join(''));
  return {
    items,
    append: (item) => appendFile(file, line(item)),
    close: () => rm(file, { force: true }),
  };
}
