/**
 * What came back for each sub-query: the text as the policy read it, with the scores that
 * were recorded.
 */
import type { SearchResult } from '../rollout/trajectory.js';
import { parseInformation } from '../text/tags.js';

/**
 * A turn's sub-queries and what came back; of plain transcripts only whether it failed is
 * known.
 */
export interface ShownTurn {
  queries: readonly string[];
  results: readonly (SearchResult | { status: 'unscored' })[];
}

export interface ShownPassage {
  title: string;
  /** Empty where the block doesn't tell it. */
  text: string;
  id: string | null;
  score: number | null;
}

export interface ShownResult {
  /** The sub-query, or several joined where it isn't known which one it belongs to. */
  query: string;
  /** Why retrieval failed, or null. */
  failure: string | null;
  /** Whether the best passage is far from what was asked. */
  isUnlike: boolean;
  passages: ShownPassage[];
}

/**
 * Results of a turn in the order of its sub-queries; none where neither the record nor
 * the block tells any.
 */
export function shownResults({ queries, results }: ShownTurn, information: string): ShownResult[] {
  const printed = parseInformation(information);
  const number = Math.max(results.length, printed.length);
  return Array.from({ length: number }, (_, k): ShownResult => {
    const [recorded, read] = [results[k], printed[k]];
    const query = queries.length === number ? queries[k] : queries.join(' ## ');
    const failed = [recorded, read].find((result) => result?.status === 'failed');
    if (failed) {
      const failure =
        recorded?.status === 'failed' ? (recorded.detail ?? recorded.reason) : failed.reason;
      return { query, failure, isUnlike: false, passages: [] };
    }
    const texts = read?.status === 'ok' ? read.passages : [];
    const passages =
      recorded?.status === 'ok'
        ? recorded.passages.map(({ id, title, score }, j) => ({
            id,
            title,
            score,
            text: texts[j]?.text ?? '',
          }))
        : texts.map((passage) => ({ ...passage, id: null, score: null }));
    const isUnlike = recorded?.status === 'ok' && recorded.isUnlike === true;
    return { query, failure: null, isUnlike, passages };
  });
}
