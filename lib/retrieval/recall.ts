import { mean } from 'd3-array';
import { type Retriever, requireInteger } from './retriever.js';

/** A query and the ids of the passages that answer it, at least one. */
export interface QueryWithEvidence {
  query: string;
  evidence: readonly string[];
}

/** As much of a question as recall needs. */
export interface EvidenceQuestion {
  question: string;
  split?: string;
  metadata: { graph?: readonly { query: string; evidence: readonly string[] }[] };
}

export interface RecallAt {
  k: number;
  /**
   * Mean over queries of the share of the evidence found among the first k passages, 0 to
   * 1.
   */
  recall: number;
  /** Share of queries with at least one evidence passage among the first k, 0 to 1. */
  hitRate: number;
}

/**
 * Queries of one split with their evidence: each sub-question's search query, or each
 * whole question.
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

/**
 * Recall and hit rate of a retriever at each k of `ks`. Throws when a query has no
 * evidence.
 */
export async function retrievalRecall(
  retriever: Retriever,
  queries: readonly QueryWithEvidence[],
  ks: readonly number[],
): Promise<RecallAt[]> {
  if (queries.length === 0) throw new RangeError('Expected at least one query, but got none.');
  ks.forEach((k) => requireInteger('k', k));
  const found = await retriever.retrieve(
    queries.map(({ query }) => query),
    { topK: Math.max(...ks) },
  );
  const ids = found.map((passages) => passages.map(({ passage }) => passage.id));
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
  const wanted = new Set(evidence);
  if (wanted.size === 0)
    throw new RangeError(`Expected evidence for the query "${query}", but got none.`);
  return new Set(retrieved.filter((id) => wanted.has(id))).size / wanted.size;
}
