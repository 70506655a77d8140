/**
 * One schema for every run, and presets that cite where their numbers come from. Unknown keys throw, so that a misspelt
 * option never passes for a default.
 */
import { z } from 'zod';
import { REWARD_PRESET_NAMES } from './rewards/presets.js';
import { PROMPT_NAMES } from './text/prompts.js';

const positive = z.number().positive();
const count = z.int().min(1);
const share = z.number().min(0).max(1);

export const rolloutSchema = z.strictObject({
  prompt: z.enum(PROMPT_NAMES),
  promptForm: z.enum(['short', 'full']).default('short'),
  /** B of Algorithm 1; 4 in the authors' code. */
  maxSearchTurns: z.int().min(0).default(4),
  /** Passages a sub-query: 1 here, 3 in the paper, whose retriever searches 21 million passages and not thousands. */
  topK: count.default(1),
  /** Whether the environment separates sub-queries at `##`; Search-R1's does not. */
  splitQueries: z.boolean(),
  maxSubQueries: count.default(8),
  /** New tokens a turn: 500 in the paper, whose transcripts are in full sentences. */
  maxNewTokens: count.default(128),
  topP: share.default(1),
  retrievalTimeoutMs: count.default(10_000),
  /**
   * Tokens kept free for every later search turn: passages of the lowest ranks that would take them are left out. Without it
   * all are shown, and a full context ends the rollout; the paper cuts what a turn brings at 500 tokens (App. A.4).
   */
  reservePerTurn: count.optional(),
});

export const rewardsSchema = z.strictObject({
  preset: z.enum(REWARD_PRESET_NAMES),
  lambdaD: z.number().min(0).optional(),
  lambdaS: z.number().min(0).optional(),
  lambdaF: z.number().min(0).optional(),
  alpha: positive.optional(),
});

/** Shares of the training questions, by what there is to learn from them; hybrids are left out, as HotpotQA has none. */
export const questionMixSchema = z.strictObject({
  singleHop: share.default(0.15),
  sequential: share.default(0.3),
  /** Comparisons of 2, 3, 4 and 5 entities. */
  comparisons: z.tuple([share, share, share, share]).default([0.2, 0.15, 0.1, 0.1]),
});

export const grpoSchema = z.strictObject({
  steps: count,
  questionsPerStep: count.default(8),
  /** G: 5 in Search-R1's GRPO script. */
  groupSize: z.int().min(2).default(8),
  miniBatches: count.default(2),
  learningRate: positive.default(2e-4),
  warmupSteps: z.int().min(0).default(5),
  /** App. A.4. */
  clip: positive.default(0.2),
  /** App. A.4. */
  beta: z.number().min(0).default(0.001),
  /** App. A.4. */
  temperature: positive.default(1),
  maxGradNorm: positive.default(1),
  maxTokensPerPass: count.default(8192),
  mix: questionMixSchema.prefault({}),
});

export const trainSchema = z.strictObject({
  method: z.string().min(1),
  model: z.string().min(1),
  seed: z.int().default(1),
  rollout: rolloutSchema,
  rewards: rewardsSchema,
  grpo: grpoSchema,
  lora: z.strictObject({ rank: count.default(16), alpha: positive.default(32) }).prefault({}),
  /** Weight of a title's words in BM25. */
  titleWeight: z.number().min(0).default(5),
  checkpointEvery: count.default(10),
});

export type TrainConfig = z.infer<typeof trainSchema>;
export type RolloutConfig = z.infer<typeof rolloutSchema>;

/**
 * Reads a configuration.
 * @throws Error that names every field that does not fit
 */
export function parseTrainConfig(json: unknown): TrainConfig {
  const parsed = trainSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(`Expected a training configuration, but:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

export const INITIAL_MODELS = ['base', 'instruct'] as const;
export type InitialModelName = (typeof INITIAL_MODELS)[number];
export const isInitialModel = (name: string): name is InitialModelName =>
  (INITIAL_MODELS as readonly string[]).includes(name);
/** What supervision trains, one after the other, each from the one before. Reinforcement begins from the last two. */
export const WARM_UP_NAMES = ['foundation', ...INITIAL_MODELS] as const;
export type WarmUpName = (typeof WARM_UP_NAMES)[number];

/** The methods of Table 2 that this project runs. */
export const METHODS = {
  /** "Direct inference without retrieval" (R1): the model itself, asked to answer at once. */
  r1: { prompt: 'r1', splitQueries: false, maxSearchTurns: 0, trainedBy: null },
  /** Search-R1: its prompt, outcome reward only, one query a search. */
  'search-r1': { prompt: 'search-r1', splitQueries: false, maxSearchTurns: 4, trainedBy: 'search-r1' },
  /** "Search-R1 + Parallel Prompt" (Table 3): Search-R1's weights under the parallel prompt. */
  'search-r1-parallel-prompt': {
    prompt: 'parallel',
    splitQueries: true,
    maxSearchTurns: 4,
    trainedBy: 'search-r1',
  },
  /** ParallelSearch: the parallel prompt and the rewards of Eq. 3 to 7. */
  parallelsearch: { prompt: 'parallel', splitQueries: true, maxSearchTurns: 4, trainedBy: 'parallelsearch' },
} as const;
export type MethodName = keyof typeof METHODS;
export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];

/** How a method's rollouts go. */
export function rolloutConfigOf(method: MethodName): RolloutConfig {
  const { prompt, splitQueries, maxSearchTurns } = METHODS[method];
  return rolloutSchema.parse({ prompt, splitQueries, maxSearchTurns });
}

/** Weights of the decomposition and the search-count reward (Eq. 4 and 5). */
export interface Lambdas {
  lambdaD: number;
  lambdaS: number;
}

/**
 * The training configuration of a method at the embedded scale.
 * @param lambdas in place of the paper's
 */
export function trainingPreset(
  method: 'search-r1' | 'parallelsearch',
  model: string,
  seed: number,
  lambdas?: Partial<Lambdas>,
): TrainConfig {
  return parseTrainConfig({
    method,
    model,
    seed,
    rollout: rolloutConfigOf(method),
    rewards: { preset: method === 'search-r1' ? 'search-r1' : 'paper', ...lambdas },
    grpo: { steps: 30 },
  });
}
