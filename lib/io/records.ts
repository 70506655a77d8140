/**
 * Records of results: a value under a key, with its provenance and a hash of everything
 * it depends on. A record is valid only while the hash is the same.
 */
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzipSync,
} from 'node:zlib';
import { z } from 'zod';
import { appendText, jsonLine, readLines, writeFileSafely, writeLines } from './files.js';
import { tryParseJson } from './json.js';
import { shortPath } from './paths.js';
import type { Provenance } from './provenance.js';
import { namingFile } from './system-errors.js';

export interface ResultRecord<T> {
  hash: string;
  provenance: Provenance;
  value: T;
}

/** A folder of records, with archives as a fallback. */
interface RecordStore {
  /** The record with this key and hash, and its folder; null if there is none. */
  read<T>(key: string, hash: string): Promise<(ResultRecord<T> & { folder: string }) | null>;
  /** Whether there is such a record; tens of times faster than reading it. */
  has(key: string, hash: string): Promise<boolean>;
  write<T>(key: string, record: ResultRecord<T>): Promise<void>;
}

const recordSchema = z.object({
  hash: z.string(),
  provenance: z.record(z.string(), z.unknown()),
  value: z.unknown(),
});
const entrySchema = z.object({ hash: z.string(), item: z.unknown() });
/** Protects against decompression bombs. */
const LIMIT = { maxOutputLength: 2 ** 30 };
const KEY = /^[\w.=,-]+(\/[\w.=,-]+)*$/;

function checkKey(key: string): void {
  if (!KEY.test(key) || key.split('/').includes('..'))
    throw new RangeError(
      `Expected a key of letters, digits, ".", "_", "=", "," and "-", but got ${JSON.stringify(key)}.`,
    );
}

/** The file of a record. @throws RangeError for a key that is not a relative path */
export function recordFile(folder: string, key: string): string {
  checkKey(key);
  return join(folder, `${key}.json.gz`);
}

export const recordFiles = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json.gz') || name.endsWith(ARCHIVE))
        .sort()
        .map((name) => join(folder, name))
    : [];

function parseRecord<T>(file: string, parse: () => string): ResultRecord<T> {
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
 * @param archive a folder of {@link writeArchives}
 * @throws Error when reading an invalid file
 */
export function recordStore(folder: string, archive?: string): RecordStore {
  const readFolder = async <T>(key: string): Promise<ResultRecord<T> | null> => {
    const file = recordFile(folder, key);
    if (!existsSync(file)) return null;
    const bytes = await readFile(file);
    return parseRecord(file, () => gunzipSync(bytes, LIMIT).toString());
  };
  return {
    read: async <T>(key: string, hash: string) => {
      const record = await readFolder<T>(key);
      if (record?.hash === hash) return { ...record, folder };
      const archived = archive === undefined ? null : await readArchived<T>(archive, key);
      return archived?.hash === hash ? { ...archived, folder: archive! } : null;
    },
    has: async (key, hash) => {
      if ((await readFolder(key))?.hash === hash) return true;
      const archived = archive === undefined ? null : await findArchived(archive, key);
      return archived !== null && hasHash(archived, hash);
    },
    write: async (key, record) =>
      writeFileSafely(recordFile(folder, key), gzipSync(JSON.stringify(record), { level: 9 })),
  };
}

const ARCHIVE = '.jsonl.br';

/** The archives that may contain a key, by its first part. */
function findArchives(folder: string, key: string): string[] {
  checkKey(key);
  if (!existsSync(folder)) return [];
  const [kind] = key.split('/');
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}.`) && name.endsWith(ARCHIVE))
    .sort()
    .map((name) => join(folder, name));
}

/** Records as JSON by key. A line of an archive is key, tab, record. */
type Lines = Map<string, string>;

async function readArchiveLines(file: string): Promise<Lines> {
  const bytes = await readFile(file);
  let text: string;
  try {
    text = brotliDecompressSync(bytes, LIMIT).toString();
  } catch (cause) {
    throw new Error(
      `Expected ${shortPath(file)} to be an archive of results. Restore it from the repository.`,
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

/** A report reads many records of one archive. */
const archiveCache = new Map<string, { changed: number; lines: Promise<Lines> }>();

async function readArchive(file: string): Promise<Lines> {
  const changed = (await stat(file)).mtimeMs;
  const cached = archiveCache.get(file);
  if (cached?.changed === changed) return cached.lines;
  const lines = readArchiveLines(file);
  archiveCache.set(file, { changed, lines });
  return lines;
}

async function findArchived(
  folder: string,
  key: string,
): Promise<{ file: string; line: string } | null> {
  for (const file of findArchives(folder, key)) {
    const line = (await readArchive(file)).get(key);
    if (line !== undefined) return { file, line };
  }
  return null;
}

async function readArchived<T>(folder: string, key: string): Promise<ResultRecord<T> | null> {
  const match = await findArchived(folder, key);
  return match && parseRecord(match.file, () => match.line);
}

/** Whether a record has this hash; one written by this module begins with it. */
const hasHash = ({ file, line }: { file: string; line: string }, hash: string): boolean =>
  line.startsWith(`{"hash":${JSON.stringify(hash)},`) ||
  parseRecord(file, () => line).hash === hash;

/** Spans the answers of several runs to the same questions. */
const WINDOW_BITS = 24;
const QUALITY = 9;

/**
 * Writes records to archives: a known key is replaced in its archive, a new one goes to
 * `name`. In one file, many runs' answers to the same questions take a quarter of the
 * space.
 */
export async function writeArchives(
  folder: string,
  name: string,
  records: ReadonlyMap<string, ResultRecord<unknown>>,
): Promise<void> {
  const changed = new Map<string, Lines>();
  for (const [key, record] of records) {
    const match = await findArchived(folder, key);
    const file = match?.file ?? join(folder, `${key.split('/')[0]}.${name}${ARCHIVE}`);
    const lines = changed.get(file) ?? new Map(existsSync(file) ? await readArchive(file) : []);
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

export interface Journal<T> {
  /** From earlier calls, in order. */
  items: readonly T[];
  append(item: T): Promise<void>;
  /** Removes the file, once the record is written. */
  close(): Promise<void>;
}

/**
 * Opens a journal: keeps the lines with this hash, and drops lines that a kill left
 * incomplete.
 * @param options.dropsOthers whether lines with another hash are dropped. Default: true
 * @throws Error for lines with another hash unless they are dropped
 */
export async function openJournal<T>(
  file: string,
  hash: string,
  { dropsOthers = true, log = console.error as (line: string) => void } = {},
): Promise<Journal<T>> {
  const items: T[] = [];
  let numOthers = 0;
  // Line by line: the file may exceed the longest string.
  try {
    for await (const { text } of existsSync(file) ? readLines(createReadStream(file)) : []) {
      const { data } = entrySchema.safeParse(tryParseJson(text));
      if (data?.hash === hash) items.push(data.item as T);
      else if (data) numOthers++;
    }
  } catch (error) {
    throw namingFile(error, file);
  }
  if (numOthers > 0 && !dropsOthers)
    throw new Error(
      `Expected ${shortPath(file)} to hold results of settings ${hash}, but it holds ${numOthers} of others. Choose another output, repeat the earlier settings to finish those, or remove that file.`,
    );
  const line = (item: T): string => jsonLine({ hash, item });
  await writeLines(file, items, line);
  const kept = [...items];
  return {
    items,
    append: async (item) => {
      kept.push(item);
      if (existsSync(file)) return appendText(file, line(item));
      log(`${shortPath(file)} was removed while in use. Writing its ${kept.length} results again.`);
      await writeLines(file, kept, line);
    },
    close: () => rm(file, { force: true }),
  };
}
