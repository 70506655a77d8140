import { z } from 'zod';
import type { Question } from '../data/question.js';
import { nameSchema } from '../registry.js';
import { PROMPT_FORMS, PROMPTS } from '../text/prompts.js';
import type { SamplingOptions } from '../policy/policy.js';
import type { SearchCache, SearchOutcome } from '../retrieval/search.js';
import type { SearchTurn, Segment } from './trajectory.js';

const count = z.int().min(1);

/** Rollout settings of a configuration. Unknown keys throw. */
export const rolloutSchema = z.strictObject({
  prompt: nameSchema(PROMPTS),
  promptForm: z.enum(PROMPT_FORMS).default('short'),
  /**
   * B of Algorithm 1. The authors' code uses 4; 6 is enough for five entities one at a
   * time.
   */
  maxSearchTurns: z.int().min(0).default(6),
  /** Passages per query, as in the paper. */
  topK: count.default(3),
  /** Whether `##` separates queries; if not, a search is one query as in Search-R1. */
  splitQueries: z.boolean(),
  /** Further queries in a turn are dropped. */
  maxSubQueries: count.default(8),
  /** New tokens per turn. The paper has 500, for full sentences. */
  maxNewTokens: count.default(160),
  topP: z.number().min(0).max(1).default(1),
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Maximum tokens of information per turn: 500 in the paper (App. A.4) with passages of
   * about 130 tokens; passages of the small world have 18. Low-ranked passages are
   * dropped to fit, but one per query stays.
   */
  maxInformationTokens: count.default(320),
  /** Shows only the first words of each passage, for short contexts. Default: all. */
  maxPassageWords: count.optional(),
  /**
   * Tokens kept free for each later search turn by dropping low-ranked passages. Default:
   * none, and a full context ends the rollout.
   */
  reservePerTurn: count.optional(),
});

/**
 * Limits for language models, which write full sentences and fit 100-word passages; the
 * schema's defaults are for the small world.
 */
export const LANGUAGE_MODEL_LIMITS = { maxNewTokens: 1000, maxInformationTokens: 4000 };

export type RolloutConfig = z.infer<typeof rolloutSchema>;
/** Before defaults are applied. */
export type RolloutInput = z.input<typeof rolloutSchema>;

/** A query and its question. */
export interface SimulatedQuery {
  query: string;
  question: Question;
}

export interface RolloutOptions extends RolloutConfig {
  /** 0 is greedy. */
  temperature: number;
  /** Retrieval results kept across calls. */
  cache?: SearchCache;
  /**
   * Most time that all turns together wait for searches that time out, milliseconds: each
   * turn waits for half of what is left. A rollout whose search timed out then ends with
   * `timeout`. Not for a retriever in this process. Default: the policy is told that the
   * search failed.
   */
  retrievalDeadlineMs?: number;
  /** Replaces the retriever. A simulated search engine may see the ground truth. */
  search?: (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;
  signal?: AbortSignal;
  /** As in {@link SamplingOptions}; `row` is the index of the question. */
  onToken?: SamplingOptions['onToken'];
  /** For a policy that streams chat messages, its text as it comes. */
  onText?: (part: { row: number; text: string }) => void | Promise<void>;
  /** Called with each finished segment and the search turns so far, including its own. */
  onSegment?: (segment: Segment, row: number, searchTurns: readonly SearchTurn[]) => void;
}
