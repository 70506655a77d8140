import { z } from 'zod';
import { nameSchema } from '../registry.js';
import { PROMPTS } from '../text/prompts.js';

const count = z.int().min(1);

/** How rollouts go, as a configuration says it. Unknown keys throw, so that a misspelt option never passes for a default. */
export const rolloutSchema = z.strictObject({
  prompt: nameSchema(PROMPTS),
  promptForm: z.enum(['short', 'full']).default('short'),
  /** B of Algorithm 1, turns in which a search is executed; 4 in the authors' code. */
  maxSearchTurns: z.int().min(0).default(4),
  /** Passages per query: 1 here, 3 in the paper, whose retriever searches 21 million passages and not thousands. */
  topK: count.default(1),
  /** Whether `##` separates queries; off, a search is one query, as in Search-R1. */
  splitQueries: z.boolean(),
  /** Queries of one turn beyond this are dropped. */
  maxSubQueries: count.default(8),
  /** New tokens of one turn: 500 in the paper, whose transcripts are in full sentences. */
  maxNewTokens: count.default(128),
  topP: z.number().min(0).max(1).default(1),
  /** Milliseconds that a retrieval may take. */
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Most tokens of what one turn brings: 500 in the paper (App. A.4). Passages of the lowest ranks that would take more are left
   * out, one of each query stays.
   */
  maxInformationTokens: count.optional(),
  /**
   * Tokens kept free for every later search turn: passages of the lowest ranks that would take them are left out. Without it
   * all are shown, and a full context ends the rollout.
   */
  reservePerTurn: count.optional(),
});

export type RolloutConfig = z.infer<typeof rolloutSchema>;
/** The same before defaults are filled in. */
export type RolloutInput = z.input<typeof rolloutSchema>;
