import { describe, expect, it } from 'vitest';
import { retrievalRecall } from '../../lib/retrieval/recall.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { FILMS } from './passages.js';

/** Always answers with FILMS in order. */
const inOrder: Retriever = {
  name: 'in order',
  retrieve: async (queries, { topK }) =>
    queries.map(() => FILMS.slice(0, topK).map((passage) => ({ passage, score: 1 }))),
};

describe('retrievalRecall', () => {
  it('averages the share of evidence in the top k', async () => {
    const queries = [
      { query: 'a', evidence: ['p0', 'p2'] }, // k = 1: 1/2, k = 3: 2/2
      { query: 'b', evidence: ['p3'] }, // k = 1: 0, k = 3: 0
    ];
    expect(await retrievalRecall(inOrder, queries, [1, 3])).toEqual([
      { k: 1, recall: 0.25, hitRate: 0.5 },
      { k: 3, recall: 0.5, hitRate: 0.5 },
    ]);
  });
  it('rejects queries without evidence, an empty list and k = 0', async () => {
    await expect(retrievalRecall(inOrder, [{ query: 'a', evidence: [] }], [1])).rejects.toThrow(
      'evidence',
    );
    await expect(retrievalRecall(inOrder, [], [1])).rejects.toThrow('query');
    await expect(retrievalRecall(inOrder, [{ query: 'a', evidence: ['p0'] }], [0])).rejects.toThrow(
      /k .*got 0/,
    );
  });
});
