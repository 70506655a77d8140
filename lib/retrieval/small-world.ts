/** Loads the small world: questions, passages with BM25, and the draw of its tests. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadDataSet, type DataSet } from '../data/flashrag.js';
import { readJson } from '../io/files.js';
import { SMALL_WORLD } from '../io/paths.js';
import { createBm25Retriever, type Bm25Retriever } from './bm25.js';
import { TITLE_WEIGHT } from './retrievers.js';

export interface World extends DataSet {
  retriever: Bm25Retriever;
}

/** Loads the small world's questions and passages, with BM25. */
export async function loadWorld(): Promise<World> {
  const data = await loadDataSet();
  return { ...data, retriever: createBm25Retriever(data.passages, { titleWeight: TITLE_WEIGHT }) };
}

/** How the test questions were drawn, so that anyone can draw them again. */
export interface TestDraw {
  /** The commit that froze the weights. */
  commit: string;
  counts: Readonly<Record<string, number>>;
}
export const DRAW_FILE = 'test-draw.json';

/** Reads how a folder's test questions were drawn; null if none have been. */
export async function readDraw(folder = SMALL_WORLD): Promise<TestDraw | null> {
  const file = join(folder, DRAW_FILE);
  return existsSync(file) ? ((await readJson(file)) as TestDraw) : null;
}
