/**
 * The small world as experiments use it: its passages with BM25, and the questions that
 * are evaluated.
 */
import { loadDataSet, type DataSet, type Question } from '../data/flashrag.js';
import { questionsOfSplit } from '../data/question.js';
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
