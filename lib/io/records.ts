/**
 * The one record of results: a value under a key, with a hash of everything that it
 * depends on and a note of where it was computed. It counts only while that hash is still
 * the same.
 */
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzipSync,
} from 'node:zlib';
import { z } from 'zod';
import { writeFileSafely } from './files.js';
import { shortPath } from './paths.js';
import type { Provenance } from './provenance.js';

export interface ResultRecord<T> {
  hash: string;
  provenance: Provenance;
  value: T;
}

/** A folder of records, and archives that are looked into where it has none. */
export interface RecordStore {
  /**
   * The record of this key and hash, and the folder that has it; null where there is
   * none.
   */
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
/**
 * A few bytes can say any number of others: more than any record has is refused before it
 * fills the memory.
 */
const LIMIT = { maxOutputLength: 2 ** 30 };
const KEY = /^[\w.=,-]+(\/[\w.=,-]+)*$/;

function checkKey(key: string): void {
  if (!KEY.test(key) || key.split('/').includes('..'))
    throw new RangeError(
      `Expected a key of letters, digits, ".", "_", "=", "," and "-", but got ${JSON.stringify(key)}.`,
    );
}

/**
 * Where a folder keeps the record of a key. @throws RangeError for a key that is no
 * relative path
 */
export function recordFile(folder: string, key: string): string {
  checkKey(key);
  return join(folder, `${key}.json.gz`);
}

/** The files of a folder in which records lie, in order. */
export const recordFiles = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json.gz') || name.endsWith(ARCHIVE))
        .sort()
        .map((name) => join(folder, name))
    : [];

/** @throws Error naming the file, where what `parse` reads of it is no record */
function recordOf<T>(file: string, parse: () => string): ResultRecord<T> {
  try {
    return recordSchema.parse(JSON.parse(parse())) as ResultRecord<T>;
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be a record of results. Remove it and run again.`,
      { cause },
    );
  }
}

/**
 * @param archive folder of archives that {@link writeArchives} has written
 * @throws Error while reading, naming a file that is no record
 */
export function recordStore(folder: string, archive?: string): RecordStore {
  const readOwn = async <T>(key: string): Promise<ResultRecord<T> | null> => {
    const file = recordFile(folder, key);
    if (!existsSync(file)) return null;
    const bytes = await readFile(file);
    return recordOf(file, () => gunzipSync(bytes, LIMIT).toString());
  };
  return {
    read: async <T>(key: string, hash: string) => {
      const own = await readOwn<T>(key);
      if (own?.hash === hash) return { ...own, folder };
      const archived = archive === undefined ? null : await readArchived<T>(archive, key);
      return archived?.hash === hash ? { ...archived, folder: archive! } : null;
    },
    write: async (key, record) =>
      writeFileSafely(recordFile(folder, key), gzipSync(JSON.stringify(record), { level: 9 })),
  };
}

const ARCHIVE = '.jsonl.br';

/**
 * The archives in which a key may be: those of all keys that begin alike, whoever wrote
 * them.
 */
function archivesOf(folder: string, key: string): string[] {
  checkKey(key);
  if (!existsSync(folder)) return [];
  const [kind] = key.split('/');
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}.`) && name.endsWith(ARCHIVE))
    .sort()
    .map((name) => join(folder, name));
}

/** A line for each record: its key, a tab, the record. By key. */
type Lines = Map<string, string>;

async function readLines(file: string): Promise<Lines> {
  const bytes = await readFile(file);
  let text: string;
  try {
    text = brotliDecompressSync(bytes, LIMIT).toString();
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be an archive of results. Get it from the repository again.`,
      { cause },
    );
  }
  return new Map(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)]),
  );
}

/**
 * Archives that were read, while their files stay as they were: a report reads many
 * records of one.
 */
const opened = new Map<string, { changed: number; lines: Promise<Lines> }>();

async function linesOf(file: string): Promise<Lines> {
  const changed = (await stat(file)).mtimeMs;
  const known = opened.get(file);
  if (known?.changed === changed) return known.lines;
  const lines = readLines(file);
  opened.set(file, { changed, lines });
  return lines;
}

/** The archive that has a record of a key, and its line there. */
async function findArchived(
  folder: string,
  key: string,
): Promise<{ file: string; line: string } | null> {
  for (const file of archivesOf(folder, key)) {
    const line = (await linesOf(file)).get(key);
    if (line !== undefined) return { file, line };
  }
  return null;
}

async function readArchived<T>(folder: string, key: string): Promise<ResultRecord<T> | null> {
  const found = await findArchived(folder, key);
  return found && recordOf(found.file, () => found.line);
}

/** Far back enough to find the answers of several earlier runs to the same questions. */
const WINDOW_BITS = 24;
const QUALITY = 9;

/**
 * Puts records into a folder's archives, in place of those with the same keys; new ones
 * into the archive called `name`. What many runs answer to the same questions is much
 * alike: in one file it takes a quarter of the room.
 */
export async function writeArchives(
  folder: string,
  name: string,
  records: ReadonlyMap<string, ResultRecord<unknown>>,
): Promise<void> {
  const changed = new Map<string, Lines>();
  for (const [key, record] of records) {
    const found = await findArchived(folder, key);
    const file = found?.file ?? join(folder, `${key.split('/')[0]}.${name}${ARCHIVE}`);
    const lines = changed.get(file) ?? new Map(existsSync(file) ? await linesOf(file) : []);
    changed.set(file, lines.set(key, JSON.stringify(record)));
  }
  for (const [file, lines] of changed) {
    const text = [...lines]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, line]) => `${key}\t${line}\n`);
    const params = {
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    };
    await writeFileSafely(file, brotliCompressSync(text.join(''), { params }));
  }
}

/**
 * What a computation that is not finished has got so far: lines that are appended as they
 * come.
 */
export interface Journal<T> {
  /** Those of an earlier call, in order. */
  items: readonly T[];
  append(item: T): Promise<void>;
  /** Removes the file: the record has taken its place. */
  close(): Promise<void>;
}

/**
 * Goes on with the lines of this hash; others, and what is no such line, as after a kill,
 * are dropped.
 */
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
