/** Reads files in the FlashRAG layout. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SMALL_WORLD } from '../io/paths.js';
import { parsePassages, parseQuestions } from './flashrag-text.js';
import type { Passage, Question } from './question.js';

export type { Passage, Question } from './question.js';
export * from './flashrag-text.js';

/** Reads a corpus from a file of JSON lines. */
export async function readPassages(path: string): Promise<Passage[]> {
  return parsePassages(await readText(path), path);
}

/** Reads questions from a file of JSON lines. */
export async function readQuestions(path: string): Promise<Question[]> {
  return parseQuestions(await readText(path), path);
}

/** A corpus and the questions that are asked of it. */
export interface DataSet {
  passages: Passage[];
  questions: Question[];
}

/** Names of the files in a data set's folder. */
export const DATA_SET_FILES = ['passages.jsonl', 'questions.jsonl'] as const;

/** Reads a folder with passages.jsonl and questions.jsonl; by default the small world. */
export async function loadDataSet(folder = SMALL_WORLD): Promise<DataSet> {
  const [passages, questions] = DATA_SET_FILES.map((name) => join(folder, name));
  return { passages: await readPassages(passages), questions: await readQuestions(questions) };
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Error(`Could not read ${path} (${reason}). Check the path, or build the file first.`, {
      cause: error,
    });
  }
}
