import { z } from 'zod';
import type { QuestionType } from '../data/question.js';

/**
 * What is measured of one answered question, whoever answered it. Without a dependency
 * graph what needs one is NaN, which JSON writes as null.
 */
export interface Measurement {
  questionId: string;
  /** One of the seven benchmarks, FlashRAG's names. */
  benchmark: string;
  /** The question's type within its benchmark: `comparison`, `bridge`, ... */
  type: string;
  subset: QuestionType | 'unknown';
  /** Entities compared (2 to 8), or 0 when the question is no comparison of facts. */
  entitiesCompared: number;
  /**
   * Depth of the dependency graph: 1 where nothing depends on anything; absent without a
   * graph, and in answers recorded before it was.
   */
  hops?: number;
  /** Whether training questions are worded in the same way; absent where nobody knows. */
  wording?: 'seen' | 'unseen';
  /** Whether the answer is yes or no. */
  isYesNo: boolean;
  em: 0 | 1;
  f1: number;
  formatOk: boolean;
  /** Search turns. */
  turns: number;
  /** Generations asked of the policy: search turns, invalid actions and the answer. */
  modelCalls: number;
  /** At least one search turn asked two or more sub-queries. */
  decomposed: boolean;
  /** Independent sub-questions asked over those in the graph, in [0, 1]. */
  coverage: number;
  /**
   * Share of the graph's sub-questions whose evidence the policy was shown, in [0, 1].
   */
  evidenceSeen: number;
  /** Model calls over (depth of the dependency graph + 1); 1 is the shortest possible. */
  criticalPathRatio: number;
  /** Tokens written by the policy. */
  responseTokens: number;
  /** The sub-queries of each search turn. */
  searches: string[][];
  answer: string | null;
}

/**
 * What evaluation keeps of one question answered by one policy: one line of
 * `results.jsonl`.
 */
export interface QuestionResult extends Measurement {
  /** `search-r1`, `parallelsearch`, `search-r1-parallel-prompt`, `r1`, ... */
  method: string;
  model: 'base' | 'instruct';
  /** Seed of the initial model; 1 where there is only one. */
  warmUp?: number;
  /** Seed of reinforcement. */
  seed: number;
}

const known = z.number().nullish();
/** What figures are computed from; the rest of a line is as `evaluate` wrote it. */
const measurementSchema = z.looseObject({
  questionId: z.string(),
  benchmark: z.string(),
  type: z.string(),
  subset: z.string(),
  entitiesCompared: z.number(),
  em: z.number(),
  f1: z.number(),
  turns: z.number(),
  modelCalls: z.number(),
  responseTokens: z.number(),
  decomposed: z.boolean(),
  coverage: known,
  evidenceSeen: known,
  criticalPathRatio: known,
  searches: z.array(z.array(z.string())),
  answer: z.string().nullable(),
});

/** A line of answers. @throws ZodError for what is none */
export const parseMeasurement = (value: unknown): Measurement =>
  measurementSchema.parse(value) as unknown as Measurement;
