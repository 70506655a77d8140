/** Reads files in the FlashRAG layout. */
import { readFile } from 'node:fs/promises';
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
