/** Reads files in the FlashRAG layout, also compressed ones. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { shortPath, SMALL_WORLD } from '../io/paths.js';
import { parsePassages, parseQuestions } from './flashrag-text.js';
import type { Passage, Question } from './question.js';

export type { Passage, Question } from './question.js';
export * from './flashrag-text.js';

/** Reads a corpus from a file of JSON lines. */
export async function readPassages(path: string): Promise<Passage[]> {
  return parsePassages(await readText(path), path);
}

/**
 * Reads questions from a file of JSON lines; those of `train.jsonl` that name no split
 * are of `train`, and so on.
 */
export async function readQuestions(path: string): Promise<Question[]> {
  return withSplit(parseQuestions(await readText(path), path), path);
}

/** A corpus and the questions that are asked of it. */
export interface DataSet {
  passages: Passage[];
  questions: Question[];
}

const SPLITS = ['train', 'dev', 'test'];

/**
 * Questions of a file that is named after a split are of that split, unless they name
 * one.
 */
export function withSplit(questions: Question[], path: string): Question[] {
  const split = basename(path).split('.')[0];
  return SPLITS.includes(split) ? questions.map((question) => ({ split, ...question })) : questions;
}

/** The files of a data set that are there. */
export interface DataSetFiles {
  passages: string | undefined;
  questions: string[];
}

/**
 * The files of a folder in the FlashRAG layout, plain or compressed (`.gz`):
 * `corpus.jsonl` or `passages.jsonl`, and `questions.jsonl` or `train.jsonl`, `dev.jsonl`
 * and `test.jsonl`.
 */
export function dataSetFiles(folder = SMALL_WORLD): DataSetFiles {
  const filesOf = (...stems: string[]): string[] =>
    stems.flatMap((stem) => {
      const file = join(folder, `${stem}.jsonl`);
      return [file, `${file}.gz`].filter((path) => existsSync(path)).slice(0, 1);
    });
  const questions = filesOf('questions');
  return {
    passages: filesOf('corpus', 'passages')[0],
    questions: questions.length > 0 ? questions : filesOf(...SPLITS),
  };
}

const missing = (folder: string, expected: string): Error =>
  new Error(
    `Expected ${expected} (also with .gz) in ${shortPath(folder)}, but there is none. Check the path.`,
  );

/**
 * The passages of a folder, by default the small world's. @throws Error naming the file
 * that is missing or wrong
 */
export async function loadPassages(folder = SMALL_WORLD): Promise<Passage[]> {
  const { passages } = dataSetFiles(folder);
  if (passages === undefined) throw missing(folder, 'corpus.jsonl or passages.jsonl');
  return readPassages(passages);
}

/**
 * The questions of a folder, by default the small world's. @throws Error naming the file
 * that is missing or wrong
 */
export async function loadQuestions(folder = SMALL_WORLD): Promise<Question[]> {
  const { questions } = dataSetFiles(folder);
  if (questions.length === 0)
    throw missing(folder, 'questions.jsonl, train.jsonl, dev.jsonl or test.jsonl');
  return (await Promise.all(questions.map(readQuestions))).flat();
}

/**
 * The passages and questions of a folder ({@link dataSetFiles}), by default the small
 * world's.
 */
export const loadDataSet = async (folder?: string): Promise<DataSet> => ({
  passages: await loadPassages(folder),
  questions: await loadQuestions(folder),
});

/** Codes of Node's errors for what does not fit into memory in one piece. */
const TOO_LARGE = ['ERR_FS_FILE_TOO_LARGE', 'ERR_STRING_TOO_LONG', 'ERR_BUFFER_TOO_LARGE'];

/** The text of a file, unpacked where its name ends in `.gz`. */
export async function readText(path: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    return (path.endsWith('.gz') ? await promisify(gunzip)(bytes) : bytes).toString();
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const remedy = TOO_LARGE.includes(reason)
      ? 'Half a gigabyte is the most: put a larger corpus behind a server (--retriever http://...).'
      : 'Check the path, or build the file first.';
    throw new Error(`Could not read ${shortPath(path)} (${reason}). ${remedy}`, { cause: error });
  }
}
