import { mean } from 'd3-array';
import { type Retriever, requireInteger } from './retriever.js';

/** A query and the ids of the passages that answer it, at least one. */
export interface QueryWithEvidence {
  query: string;
  evidence: readonly string[];
}

/** The parts of a question that recall needs. */
export interface EvidenceQuestion {
  question: string;
  split?: string;
  metadata: { graph?: readonly { query: string; evidence: readonly string[] }[] };
}

export interface RecallAt {
  k: number;
  /** Mean share of a query's evidence among the first k passages, 0 to 1. */
  recall: number;
  /** Share of queries with at least one evidence passage among the first k, 0 to 1. */
  hitRate: number;
}

/**
 * A split's queries with evidence: the sub-questions' search queries, or whole questions.
 */
export function queriesWithEvidence(
  questions: readonly EvidenceQuestion[],
  { split, of }: { split: string; of: 'subQueries' | 'questions' },
): QueryWithEvidence[] {
  return questions
    .filter((question) => question.split === split)
    .flatMap(({ question, metadata: { graph = [] } }) =>
      of === 'questions'
        ? [{ query: question, evidence: [...new Set(graph.flatMap(({ evidence }) => evidence))] }]
        : graph.map(({ query, evidence }) => ({ query, evidence })),
    )
    .filter(({ evidence }) => evidence.length > 0);
}

/** Recall and hit rate at each k. @throws RangeError if a query has no evidence */
export async function retrievalRecall(
  retriever: Retriever,
  queries: readonly QueryWithEvidence[],
  ks: readonly number[],
): Promise<RecallAt[]> {
  if (queries.length === 0) throw new RangeError('Expected at least one query, but got none.');
  ks.forEach((k) => requireInteger('k', k));
  const results = await retriever.retrieve(
    queries.map(({ query }) => query),
    { topK: Math.max(...ks) },
  );
  const ids = results.map((passages) => passages.map(({ passage }) => passage.id));
  return ks.map((k) => {
    const shares = queries.map(({ query, evidence }, i) =>
      evidenceShare(query, evidence, ids[i].slice(0, k)),
    );
    return { k, recall: mean(shares)!, hitRate: mean(shares, (share) => (share > 0 ? 1 : 0))! };
  });
}

function evidenceShare(
  query: string,
  evidence: readonly string[],
  retrieved: readonly string[],
): number {
  const expected = new Set(evidence);
  if (expected.size === 0)
    throw new RangeError(`Expected evidence for the query "${query}", but got none.`);
  return new Set(retrieved.filter((id) => expected.has(id))).size / expected.size;
}
