/**
 * The small world as experiments use it: its passages with BM25, and the questions that
 * are evaluated.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadDataSet, type DataSet, type Question } from '../data/flashrag.js';
import { questionsOfSplit } from '../data/question.js';
import { readJson } from '../io/files.js';
import { SMALL_WORLD } from '../io/paths.js';
import { createBm25Retriever, type Bm25Retriever } from '../retrieval/bm25.js';
import { TITLE_WEIGHT } from '../retrieval/retrievers.js';

export interface World extends DataSet {
  retriever: Bm25Retriever;
}

export async function loadWorld(): Promise<World> {
  const data = await loadDataSet();
  return { ...data, retriever: createBm25Retriever(data.passages, { titleWeight: TITLE_WEIGHT }) };
}

/**
 * What is evaluated: the test questions, or those of dev while no test has been drawn for
 * the weights.
 */
export const evaluatedSplit = (questions: readonly Question[]): 'test' | 'dev' =>
  questions.some(({ split }) => split === 'test') ? 'test' : 'dev';

/** The questions of the split that is evaluated. */
export const evaluatedQuestions = (questions: readonly Question[]): Question[] =>
  questionsOfSplit(questions, evaluatedSplit(questions));

/** How the test questions were drawn: enough for a reader to draw them again. */
export interface TestDraw {
  /** The commit that froze the weights. */
  commit: string;
  counts: Readonly<Record<string, number>>;
}
export const DRAW_FILE = 'test-draw.json';

/** The draw of a folder's test questions; null if none have been drawn. */
export async function readDraw(folder = SMALL_WORLD): Promise<TestDraw | null> {
  const file = join(folder, DRAW_FILE);
  return existsSync(file) ? ((await readJson(file)) as TestDraw) : null;
}
