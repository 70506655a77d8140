/**
 * Folders in the FlashRAG layout, read with the dependency graphs that their annotations
 * give.
 */
import path from 'node:path';
import { dataSetFiles, loadQuestions, readPassages } from '../flashrag.js';
import type { Question } from '../question.js';
import { withAnnotatedGraph } from './annotations.js';
import type { PassageCollector } from './format.js';

/**
 * The questions of a folder; its passages go to `passages`.
 * @param benchmark of those questions that name none
 */
export async function* readFolder(
  folder: string,
  passages: PassageCollector,
  benchmark = path.basename(path.resolve(folder)),
): AsyncGenerator<Question> {
  const { passages: corpus } = dataSetFiles(folder);
  for (const passage of corpus ? await readPassages(corpus) : []) passages.keep(passage);
  for (const { metadata, ...question } of await loadQuestions(folder))
    yield withAnnotatedGraph({ ...question, metadata: { benchmark, ...metadata } }, passages);
}
