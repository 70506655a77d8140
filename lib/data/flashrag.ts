/** Reads files in the FlashRAG format, plain or compressed. */
import { hash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { decodeText, MAX_LINE_LENGTH, notUtf8, openFile, readLines } from '../io/files.js';
import { shortPath, SMALL_WORLD } from '../io/paths.js';
import { parsePassage, parsePassages, parseQuestions, refuse } from './flashrag-text.js';
import type { Passage } from './passage.js';
import type { Question } from './question.js';

export type { Passage } from './passage.js';
export type { Question } from './question.js';
export * from './flashrag-text.js';

export const readPassages = async (path: string): Promise<Passage[]> =>
  parsePassages(await readText(path), path);

/** A passage, and where its line is in the (unpacked) file, in bytes. */
interface PassageLine {
  passage: Passage;
  start: number;
  length: number;
}

/**
 * Streams the passages of a file of any size.
 * @param complain default: throws the first complaint. Repeated ids are only found at the
 * end, by a second pass.
 */
export async function* streamPassages(
  path: string,
  complain = refuse,
): AsyncGenerator<PassageLine> {
  const hashes: number[] = [];
  const hashId = (id: string): number => hash('sha1', id, 'buffer').readUIntBE(0, 6);
  for await (const line of streamRows(path, complain)) {
    hashes.push(hashId(line.passage.id));
    yield line;
  }
  if (hashes.length === 0) complain(`${path}: expected at least one passage, but found none.`);
  const repeated = new Set(
    Float64Array.from(hashes)
      .sort()
      .filter((value, i, all) => value === all[i - 1]),
  );
  if (repeated.size === 0) return;
  const lines = new Map<string, number>();
  for await (const { passage, number } of streamRows(path, () => {})) {
    if (!repeated.has(hashId(passage.id))) continue;
    const earlier = lines.get(passage.id);
    if (earlier === undefined) lines.set(passage.id, number);
    else
      complain(
        `${path}, line ${number}: expected unique ids, but ${passage.id} is also on line ${earlier}.`,
      );
  }
}

async function* streamRows(
  path: string,
  complain: typeof refuse,
): AsyncGenerator<PassageLine & { number: number }> {
  let number = 0;
  let end = 0;
  try {
    for await (const { text, length, isUtf8 } of readLines(await openFile(path))) {
      number++;
      const start = end;
      end += length + 1;
      const where = `${path}, line ${number}`;
      const line = text.trim(); // also drops a byte order mark
      if (length > MAX_LINE_LENGTH)
        complain(`${where}: expected at most ${MAX_LINE_LENGTH} bytes, but got ${length}.`);
      else if (!isUtf8) complain(notUtf8(where));
      else if (line !== '') {
        const passage = parsePassage(line, where, complain);
        if (passage) yield { passage, start, length, number };
      }
    }
  } catch (error) {
    throw nameFile(path, error);
  }
}

/** Reads questions; the file name gives the default split (`train.jsonl`: `train`). */
export const readQuestions = async (path: string): Promise<Question[]> =>
  withSplit(parseQuestions(await readText(path), path), path);

export interface DataSet {
  passages: Passage[];
  questions: Question[];
}

const SPLITS = ['train', 'dev', 'test'];

/** Assigns questions without a split to the file's name, if that is a split. */
export function withSplit(questions: Question[], path: string): Question[] {
  const split = basename(path).split('.')[0];
  return SPLITS.includes(split) ? questions.map((question) => ({ split, ...question })) : questions;
}

/**
 * The data files in a folder, plain or `.gz`: `corpus.jsonl` or `passages.jsonl`, and
 * `questions.jsonl` or `train.jsonl`, `dev.jsonl` and `test.jsonl`.
 */
export function dataSetFiles(folder = SMALL_WORLD): {
  passages: string | undefined;
  questions: string[];
} {
  const findFiles = (...stems: string[]): string[] =>
    stems.flatMap((stem) => {
      const file = join(folder, `${stem}.jsonl`);
      return [file, `${file}.gz`].filter((path) => existsSync(path)).slice(0, 1);
    });
  const questions = findFiles('questions');
  return {
    passages: findFiles('corpus', 'passages')[0],
    questions: questions.length > 0 ? questions : findFiles(...SPLITS),
  };
}

/** Names of a folder's data files that are not read; see {@link dataSetFiles}. */
export function ignoredFiles(folder: string): string[] {
  const { passages, questions } = dataSetFiles(folder);
  const used = [passages, ...questions];
  return (existsSync(folder) ? readdirSync(folder) : []).filter(
    (name) =>
      /\.(jsonl|ndjson|json|csv|tsv|parquet)(\.gz)?$/.test(name) &&
      !used.includes(join(folder, name)),
  );
}

const missing = (folder: string, expected: string): Error =>
  new Error(
    `Expected ${expected} (also with .gz) in ${shortPath(folder)}, but found none. Check the path.`,
  );

/** The passage file in a folder. @throws Error if there is none */
export function passageFile(folder = SMALL_WORLD): string {
  const { passages } = dataSetFiles(folder);
  if (passages === undefined) throw missing(folder, 'corpus.jsonl or passages.jsonl');
  return passages;
}

/** Loads passages, by default the small world's. @throws Error for a bad file */
export const loadPassages = async (folder?: string): Promise<Passage[]> =>
  readPassages(passageFile(folder));

/** Loads questions, by default the small world's. @throws Error for a bad file */
export async function loadQuestions(folder = SMALL_WORLD): Promise<Question[]> {
  const { questions } = dataSetFiles(folder);
  if (questions.length === 0)
    throw missing(folder, 'questions.jsonl, train.jsonl, dev.jsonl or test.jsonl');
  return (await Promise.all(questions.map(readQuestions))).flat();
}

/** Loads the passages and questions of a folder, by default the small world's. */
export const loadDataSet = async (folder?: string): Promise<DataSet> => ({
  passages: await loadPassages(folder),
  questions: await loadQuestions(folder),
});

/** Node's errors for files that do not fit in one buffer or string. */
const TOO_LARGE = ['ERR_FS_FILE_TOO_LARGE', 'ERR_STRING_TOO_LONG', 'ERR_BUFFER_TOO_LARGE'];

/** The text of a file, decompressed if it is gzip. */
export async function readText(path: string): Promise<string> {
  try {
    return decodeText(await readFile(path), path);
  } catch (error) {
    throw nameFile(path, error);
  }
}

/** Adds the file name to a system error. */
function nameFile(path: string, error: unknown): unknown {
  if (error instanceof Error && !('code' in error)) return error;
  const reason = (error as NodeJS.ErrnoException).code ?? String(error);
  let remedy = 'Check the path, or build the file first.';
  if (reason === 'EISDIR') remedy = 'It is a folder: name a file in it.';
  if (TOO_LARGE.includes(reason))
    remedy =
      'Here the limit is half a gigabyte: search a larger corpus by BM25 or on a server (--retriever http://...).';
  return new Error(`Could not read ${shortPath(path)} (${reason}). ${remedy}`, { cause: error });
}

/** Number of passages or questions that suffices to recognise the small world. */
const NUM_SAMPLED = 100;

async function firstLines(file: string): Promise<string> {
  const stream = await openFile(file);
  const lines: string[] = [];
  for await (const { text } of readLines(stream)) if (lines.push(text) >= NUM_SAMPLED) break;
  stream.destroy();
  return lines.join('\n');
}

/**
 * Whether most of a folder's first passages (or questions, if it has no passages) are the
 * small world's; true without a folder.
 * @throws Error for a folder with neither
 */
export async function isSmallWorld(folder?: string): Promise<boolean> {
  if (folder === undefined || resolve(folder) === resolve(SMALL_WORLD)) return true;
  const { passages, questions } = dataSetFiles(folder);
  // Throws the error that names the missing file.
  if (passages === undefined && questions.length === 0) await loadPassages(folder);
  const file = passages ?? questions[0];
  const lines = await firstLines(file);
  const [sample, known] =
    passages === undefined
      ? [parseQuestions(lines, file, () => {}), await loadQuestions()]
      : [parsePassages(lines, file, () => {}), await loadPassages()];
  const readText = (item: Passage | Question): string =>
    'contents' in item ? item.contents : item.question;
  const texts = new Set(known.map(readText));
  return sample.filter((item) => texts.has(readText(item))).length > sample.length / 2;
}
