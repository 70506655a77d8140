/** The embedded world: mini-wiki and questions, as they lie in `data/`. */
import { join } from 'node:path';
import { readPassages, readQuestions } from '../data/flashrag.js';
import type { Passage, Question } from '../data/question.js';
import { MINI_WIKI } from '../io/paths.js';
import { createBm25Retriever, type Bm25Retriever } from '../retrieval/bm25.js';

export interface World {
  passages: Passage[];
  questions: Question[];
  retriever: Bm25Retriever;
}

/** Reads a corpus and its questions, and builds BM25 over it. */
export async function loadWorld({ folder = MINI_WIKI, titleWeight = 5 } = {}): Promise<World> {
  const passages = await readPassages(join(folder, 'passages.jsonl'));
  const questions = await readQuestions(join(folder, 'questions.jsonl'));
  return { passages, questions, retriever: createBm25Retriever(passages, { titleWeight }) };
}
