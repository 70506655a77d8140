/** What came back for each sub-query: the text as the policy read it, with the scores that were recorded. */
import { parseInformation } from '../../../text/information.js';
import type { ViewerTurn } from '../data.js';

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
  passages: ShownPassage[];
}

/** Results of a turn in the order of its sub-queries; none where neither the record nor the block tells any. */
export function shownResults(turn: ViewerTurn, information: string): ShownResult[] {
  const printed = parseInformation(information);
  const number = Math.max(turn.results.length, printed.length);
  return Array.from({ length: number }, (_, k) => {
    const [recorded, read] = [turn.results[k], printed[k]];
    const query = turn.queries.length === number ? turn.queries[k] : turn.queries.join(' ## ');
    if (recorded?.status === 'failed') return { query, failure: recorded.reason, passages: [] };
    if (read?.status === 'failed') return { query, failure: read.reason, passages: [] };
    const texts = read?.passages ?? [];
    if (recorded?.status !== 'ok') {
      return {
        query,
        failure: null,
        passages: texts.map((passage) => ({ ...passage, id: null, score: null })),
      };
    }
    const passages = recorded.passages.map(({ id, title, score }, j) => ({
      id,
      title,
      score,
      text: texts[j]?.text ?? '',
    }));
    return { query, failure: null, passages };
  });
}
