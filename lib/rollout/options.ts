import { z } from 'zod';
import type { Question } from '../data/question.js';
import type { ChatPolicy } from '../policy/chat-policy.js';
import type { Policy, SamplingOptions } from '../policy/policy.js';
import { describeFaults } from '../io/json.js';
import { nameSchema } from '../registry.js';
import type { SearchCache, SearchOutcome } from '../retrieval/search.js';
import { PROMPT_FORMS, PROMPTS, type PromptForm } from '../text/prompts.js';
import { INFORMATION_FORMS, QUERY_SEPARATOR } from '../text/tags.js';
import type { SearchTurn, Segment } from './trajectory.js';

const count = z.int().min(1);

/** How information that exceeds the token limit is cut; see `informationCut`. */
export const INFORMATION_CUTS = ['passage', 'query', 'raw'] as const;
export type InformationCut = (typeof INFORMATION_CUTS)[number];

/** Drops a value that is the default: hashes from before the setting stay valid. */
const unlessDefault = <T extends z.ZodType>(schema: T, byDefault: z.output<T>) =>
  schema.optional().overwrite((value) => (value === byDefault ? undefined : value));

/** Schema of the rollout settings in a configuration. Unknown keys throw. */
export const rolloutSchema = z.strictObject({
  prompt: nameSchema(PROMPTS),
  promptForm: z.enum(PROMPT_FORMS).default('short'),
  /** B of Algorithm 1. The authors' code has 4; 6 are enough for five entities. */
  maxSearchTurns: z.int().min(0).default(6),
  /** Passages per query; 3 as in the paper. */
  topK: count.default(3),
  /** Whether a search may hold several queries; if not, one as in Search-R1. */
  splitQueries: z.boolean(),
  /**
   * Separates the queries of a search. Default: `##`; RAG-R1 uses a comma. Tool calls
   * list their queries, so their transcripts always use `##`.
   */
  querySeparator: unlessDefault(
    z
      .string()
      .regex(/^[^\s<>\p{L}\p{N}]+$/u, 'Expected punctuation other than < and >, such as ## or ,'),
    QUERY_SEPARATOR,
  ),
  /** Maximum queries per turn; the rest are dropped. */
  maxSubQueries: count.default(8),
  /** Maximum new tokens per turn. The paper uses 500, for full sentences. */
  maxNewTokens: count.default(160),
  topP: z.number().min(0).max(1).default(1),
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Maximum information tokens per turn. The paper uses 500 (App. A.4) for passages of
   * about 130 tokens; passages of the small world have 18.
   */
  maxInformationTokens: count.default(320),
  /**
   * What is cut beyond that limit. `passage` (default): the lowest-ranked passages of all
   * queries; one per query is always kept, even if it exceeds the limit. `query`: the end
   * of each query's results beyond its equal share of the limit, as in RAG-R1. `raw`: the
   * end of the block, closing tag included, as in Search-R1.
   */
  informationCut: unlessDefault(z.enum(INFORMATION_CUTS), 'passage'),
  /**
   * How results are printed. `lines` (default): in the order of the queries, as in the
   * authors' code. `json`: labelled with their queries, as in RAG-R1.
   */
  informationForm: unlessDefault(z.enum(INFORMATION_FORMS), 'lines'),
  /** Shows only the first words of each passage, for short contexts. Default: all. */
  maxPassageWords: count.optional(),
  /**
   * Tokens reserved for each later search turn by dropping low-ranked passages. Default:
   * none; a rollout then ends when the context is full.
   */
  reservePerTurn: count.optional(),
});

/** The separator of the queries in a transcript. */
export const transcriptSeparator = ({
  promptForm,
  querySeparator = QUERY_SEPARATOR,
}: Pick<RolloutConfig, 'promptForm' | 'querySeparator'>): string =>
  promptForm === 'tools' ? QUERY_SEPARATOR : querySeparator;

/**
 * Limits for language models, which write full sentences and read 100-word passages. The
 * schema's defaults suit the small world.
 */
export const LANGUAGE_MODEL_LIMITS = { maxNewTokens: 1000, maxInformationTokens: 4000 };

/**
 * Returns the prompt form and limits for a language model: the full prompt, in the chat
 * template if there is one, and lower limits if the context is too short for the
 * defaults.
 */
export function modelLimits(policy: Pick<Policy, 'maxLength' | 'tokenizer'> | ChatPolicy) {
  if ('reply' in policy) return { ...LANGUAGE_MODEL_LIMITS, promptForm: policy.promptForm };
  // Leaves room for a prompt, six searches and seven generations.
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
/** Rollout settings before defaults are applied. */
export type RolloutInput = z.input<typeof rolloutSchema>;

const checkedSchema = z.object({ ...rolloutSchema.shape, temperature: z.number().min(0) });

/** @throws RangeError naming the settings that are missing or out of range */
export function checkRolloutOptions(options: RolloutOptions): void {
  const { error } = checkedSchema.safeParse(options);
  if (error) throw new RangeError(`Expected rollout options, but:\n${describeFaults(error)}`);
}

export interface SimulatedQuery {
  query: string;
  question: Question;
}

export interface RolloutOptions extends RolloutConfig {
  /** 0 means greedy. */
  temperature: number;
  /** Keeps retrieval results across calls. */
  cache?: SearchCache;
  /**
   * Total time, in milliseconds, that the turns of a call may wait for searches that time
   * out; each turn waits for at most half of what is left. A rollout whose search timed
   * out then ends with `timeout`. Ignored for a local retriever. Default: the policy is
   * told that the search failed.
   */
  retrievalDeadlineMs?: number;
  /** Replaces the retriever. A simulated search engine may see the ground truth. */
  search?: (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;
  signal?: AbortSignal;
  /** As in {@link SamplingOptions}; `row` is the index of the question. */
  onToken?: SamplingOptions['onToken'];
  /** Receives the text of a streaming chat policy. */
  onText?: (part: { row: number; text: string }) => void | Promise<void>;
  /** Called with each finished segment and the search turns so far, including its own. */
  onSegment?: (segment: Segment, row: number, searchTurns: readonly SearchTurn[]) => void;
}
