/**
 * A retriever of one's own: passages whose title stands in the query word for word, those
 * with the longest title first.
 */
import { RETRIEVERS, type Passage, type Retriever } from '../lib/index.js';

const wordsOf = (text: string): string =>
  ` ${(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')} `;

export function createTitleRetriever(passages: readonly Passage[]): Retriever {
  const titles = passages.map(({ title }) => wordsOf(title));
  return {
    name: 'titles',
    retrieve: async (queries, { topK }) =>
      queries.map((query) => {
        const words = wordsOf(query);
        return titles
          .flatMap((title, i) =>
            words.includes(title) ? [{ passage: passages[i], score: title.length }] : [],
          )
          .sort((a, b) => b.score - a.score)
          .slice(0, topK);
      }),
  };
}

// The one line of registration. In this repository: an entry in the list of
// lib/retrieval/retrievers.ts.
RETRIEVERS.add({ name: 'titles', create: createTitleRetriever });
