import { z } from 'zod';
import type { Question } from '../data/question.js';
import { nameSchema } from '../registry.js';
import { PROMPT_FORMS, PROMPTS, type PromptForm } from '../text/prompts.js';
import { INFORMATION_FORMS, QUERY_SEPARATOR } from '../text/tags.js';
import type { ChatPolicy } from '../policy/chat-policy.js';
import type { Policy, SamplingOptions } from '../policy/policy.js';
import type { SearchCache, SearchOutcome } from '../retrieval/search.js';
import type { SearchTurn, Segment } from './trajectory.js';

const count = z.int().min(1);

/** How information that exceeds its limit is cut. */
export const INFORMATION_CUTS = ['passage', 'query', 'raw'] as const;
export type InformationCut = (typeof INFORMATION_CUTS)[number];

/** A named default is left out: hashes of records from before the setting stay valid. */
const unlessDefault = <T extends z.ZodType>(schema: T, byDefault: z.output<T>) =>
  schema.optional().overwrite((value) => (value === byDefault ? undefined : value));

/** Rollout settings of a configuration. Unknown keys throw. */
export const rolloutSchema = z.strictObject({
  prompt: nameSchema(PROMPTS),
  promptForm: z.enum(PROMPT_FORMS).default('short'),
  /** B of Algorithm 1: 4 in the authors' code; 6 are enough for five entities. */
  maxSearchTurns: z.int().min(0).default(6),
  /** Passages per query, as in the paper. */
  topK: count.default(3),
  /** Whether a search may hold several queries; if not, it is one as in Search-R1. */
  splitQueries: z.boolean(),
  /**
   * Between queries; RAG-R1 has a comma. Default: `##`. Transcripts of tool calls, which
   * list their queries, always have `##`.
   */
  querySeparator: unlessDefault(
    z
      .string()
      .regex(/^[^\s<>\p{L}\p{N}]+$/u, 'Expected punctuation other than < and >, such as ## or ,'),
    QUERY_SEPARATOR,
  ),
  /** Further queries in a turn are dropped. */
  maxSubQueries: count.default(8),
  /** New tokens per turn. The paper has 500, for full sentences. */
  maxNewTokens: count.default(160),
  topP: z.number().min(0).max(1).default(1),
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Maximum tokens of information per turn: 500 in the paper (App. A.4) with passages of
   * about 130 tokens; passages of the small world have 18.
   */
  maxInformationTokens: count.default(320),
  /**
   * What is cut beyond that limit. `passage` (default): the lowest-ranked passages of all
   * queries, but one per query stays, and may exceed the limit. `query`: the end of each
   * query's results beyond an equal part of the limit, as in RAG-R1. `raw`: the end of
   * the block, with its closing tag, as in Search-R1.
   */
  informationCut: unlessDefault(z.enum(INFORMATION_CUTS), 'passage'),
  /**
   * How results are printed. `lines` (default): in the order of the queries, as in the
   * authors' code. `json`: labelled with their queries, as in RAG-R1's.
   */
  informationForm: unlessDefault(z.enum(INFORMATION_FORMS), 'lines'),
  /** Shows only the first words of each passage, for short contexts. Default: all. */
  maxPassageWords: count.optional(),
  /**
   * Tokens kept free for each later search turn by dropping low-ranked passages. Default:
   * none, and a full context ends the rollout.
   */
  reservePerTurn: count.optional(),
});

/** Between the queries in a transcript. */
export const transcriptSeparator = ({
  promptForm,
  querySeparator = QUERY_SEPARATOR,
}: Pick<RolloutConfig, 'promptForm' | 'querySeparator'>): string =>
  promptForm === 'tools' ? QUERY_SEPARATOR : querySeparator;

/**
 * Limits for language models, which write full sentences and fit 100-word passages; the
 * schema's defaults are for the small world.
 */
export const LANGUAGE_MODEL_LIMITS = { maxNewTokens: 1000, maxInformationTokens: 4000 };

/**
 * The prompt form and limits of a language model: the full prompt, in the chat template
 * if there is one, and lower limits where the default ones do not fit into the context.
 */
export function modelLimits(policy: Pick<Policy, 'maxLength' | 'tokenizer'> | ChatPolicy) {
  if ('reply' in policy) return { ...LANGUAGE_MODEL_LIMITS, promptForm: policy.promptForm };
  // Room for a prompt, six searches and seven generations, with headroom.
  const share = Math.max(1, Math.floor(policy.maxLength / 16));
  const { maxNewTokens, maxInformationTokens } = LANGUAGE_MODEL_LIMITS;
  const promptForm: PromptForm = policy.tokenizer.encodeChat ? 'chat' : 'full';
  return {
    promptForm,
    maxNewTokens: Math.min(maxNewTokens, share),
    maxInformationTokens: Math.min(maxInformationTokens, share),
  };
}

export type RolloutConfig = z.infer<typeof rolloutSchema>;
/** Before defaults are applied. */
export type RolloutInput = z.input<typeof rolloutSchema>;

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
   * Maximum time in milliseconds that all turns wait for searches that time out: each
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
