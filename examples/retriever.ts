/** Your own retriever: passages whose title is part of the query, longest title first. */
import { RETRIEVERS, type Passage, type Retriever } from 'parallelsearch';

const paddedWords = (text: string): string =>
  ` ${(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')} `;

export function createTitleRetriever(passages: readonly Passage[]): Retriever {
  const titles = passages.map(({ title }) => paddedWords(title));
  return {
    name: 'titles',
    retrieve: async (queries, { topK }) =>
      queries.map((query) => {
        const words = paddedWords(query);
        return titles
          .flatMap((title, i) =>
            words.includes(title) ? [{ passage: passages[i], score: title.length }] : [],
          )
          .sort((a, b) => b.score - a.score)
          .slice(0, topK);
      }),
  };
}

// Registration. In this repository, add it to the list in lib/retrieval/retrievers.ts.
RETRIEVERS.add({ name: 'titles', create: createTitleRetriever });
