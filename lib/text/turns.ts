/** What a response did, read from the policy's segments alone: its executed searches and its answer. */
import { parseBlocks, splitQueries } from './blocks.js';
import { joinPolicySegments, splitTranscript, type TextSegment } from './format.js';

/**
 * The sub-queries of each search that was executed: the last search of a policy run that an information
 * segment follows. A search in the last generation, which Algorithm 1 doesn't execute, is none.
 */
export function executedSearches(segments: readonly TextSegment[]): string[][] {
  const runs = joinPolicySegments(segments);
  return runs.flatMap((run, i) => {
    if (run.kind !== 'policy' || runs[i + 1]?.kind !== 'information') return [];
    const search = parseBlocks(run.text).findLast((block) => block.tag === 'search');
    const queries = splitQueries(search?.body ?? '');
    return queries.length > 0 ? [queries] : [];
  });
}

/** The trimmed body of the last answer block that the policy wrote, or null. */
export function finalAnswer(segments: readonly TextSegment[]): string | null {
  const runs = joinPolicySegments(segments).filter((segment) => segment.kind === 'policy');
  const blocks = runs.flatMap(({ text }) => parseBlocks(text));
  return blocks.findLast((block) => block.tag === 'answer')?.body.trim() ?? null;
}

/**
 * The answer of a recorded response, or null: its last answer block outside of the environment's information
 * blocks and notices, so that a message such as "put the answer between <answer> and </answer>" gives none.
 * Tags that a tokenizer welded together (`</</search>`) are harmless: a block ends at the complete closing
 * tag.
 */
export function extractAnswer(response: string): string | null {
  return finalAnswer(splitTranscript(response));
}
