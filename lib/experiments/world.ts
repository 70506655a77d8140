/** The small world as experiments use it: the mini-wiki with BM25. */
import { loadDataSet, type DataSet } from '../data/flashrag.js';
import { createBm25Retriever, type Bm25Retriever } from '../retrieval/bm25.js';
import { TITLE_WEIGHT } from '../retrieval/retrievers.js';

export interface World extends DataSet {
  retriever: Bm25Retriever;
}

export async function loadWorld(): Promise<World> {
  const data = await loadDataSet();
  return { ...data, retriever: createBm25Retriever(data.passages, { titleWeight: TITLE_WEIGHT }) };
}
