import { z } from 'zod';
import { nameSchema } from '../registry.js';
import { PROMPT_FORMS, PROMPTS } from '../text/prompts.js';

const count = z.int().min(1);

/**
 * How rollouts go, as a configuration says it. Unknown keys throw, so that a misspelt
 * option never passes for a default.
 */
export const rolloutSchema = z.strictObject({
  prompt: nameSchema(PROMPTS),
  promptForm: z.enum(PROMPT_FORMS).default('short'),
  /**
   * B of Algorithm 1, turns in which a search is executed: 4 in the authors' code; 6 are
   * enough to ask for each of five entities by itself.
   */
  maxSearchTurns: z.int().min(0).default(6),
  /** Passages per query, as in the paper. */
  topK: count.default(3),
  /** Whether `##` separates queries; off, a search is one query, as in Search-R1. */
  splitQueries: z.boolean(),
  /** Queries of one turn beyond this are dropped. */
  maxSubQueries: count.default(8),
  /**
   * New tokens of one turn: 500 in the paper, whose transcripts are in full sentences.
   */
  maxNewTokens: count.default(160),
  topP: z.number().min(0).max(1).default(1),
  /** Milliseconds that a retrieval may take. */
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Most tokens of what one turn brings: 500 in the paper (App. A.4), whose passages are
   * of about 130 tokens; those of the small world are of 18. Passages of the lowest ranks
   * that would take more are left out, one of each query stays.
   */
  maxInformationTokens: count.default(320),
  /**
   * Words of a passage that are shown: its beginning, where passages are long and
   * contexts short. All without it.
   */
  maxPassageWords: count.optional(),
  /**
   * Tokens kept free for every later search turn: passages of the lowest ranks that would
   * take them are left out. Without it all are shown, and a full context ends the
   * rollout.
   */
  reservePerTurn: count.optional(),
});

export type RolloutConfig = z.infer<typeof rolloutSchema>;
/** The same before defaults are filled in. */
export type RolloutInput = z.input<typeof rolloutSchema>;
