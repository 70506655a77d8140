import { type Passage, splitContents } from '../../lib/data/passage.js';
import { loadOptional } from '../../lib/io/optional.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';

export const hasHnswlib = await new Promise((resolve) =>
  resolve(loadOptional('hnswlib-node')),
).then(
  () => true,
  () => false,
);

export function makePassage(id: string, contents: string): Passage {
  return { id, contents, ...splitContents(contents) };
}

/** Passages p0, p1, ... with the given contents. */
export function makePassages(contents: readonly string[]): Passage[] {
  return contents.map((text, i) => makePassage(`p${i}`, text));
}

export const FILMS = makePassages([
  'Solaris\nSolaris is a film of 1972 directed by Andrei Tarkovsky.',
  'Andrei Tarkovsky\nAndrei Tarkovsky, born in 1932, was a Soviet director.',
  'Stalker\nStalker is a film of 1979, shot near Tallinn.',
  'Tallinn\nTallinn is the capital of Estonia.',
  'Amélie\nAmélie is a film of 2001 set in Paris.',
]);

/** A retriever that echoes: query "x" finds one passage with id "x". */
export function echoRetriever(
  answer: (queries: readonly string[], signal?: AbortSignal) => Promise<void> | void = () => {},
): Retriever & { calls: string[][] } {
  const calls: string[][] = [];
  return {
    name: 'echo',
    calls,
    retrieve: async (queries, { signal }) => {
      calls.push([...queries]);
      await answer(queries, signal);
      return queries.map((query) => [{ passage: makePassage(query, query), score: 1 }]);
    },
  };
}
