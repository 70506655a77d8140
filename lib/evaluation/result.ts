import { z } from 'zod';
import type { QuestionType } from '../data/question.js';

/**
 * Measurements of one answered question. What needs a dependency graph is NaN (null in
 * JSON) without one. Recorded answers have the same field names.
 */
export interface Measurement {
  questionId: string;
  /** FlashRAG's name of the benchmark. */
  benchmark: string;
  /** The benchmark's own type, such as `comparison` or `bridge`. */
  type: string;
  subset: QuestionType | 'unknown';
  /** Entities compared (2 to 8); 0 if the question is not a comparison. */
  entitiesCompared: number;
  /** Depth of the dependency graph; absent without one and in old recordings. */
  hops?: number;
  /** Whether training questions use the same wording; absent if unknown. */
  wording?: 'seen' | 'unseen';
  isYesNo: boolean;
  em: 0 | 1;
  f1: number;
  formatOk: boolean;
  turns: number;
  /** Generations: search turns, invalid actions and the answer. */
  modelCalls: number;
  /** Whether a search turn had two or more sub-queries. */
  decomposed: boolean;
  /** Sub-question recall: fraction of independent sub-questions asked, in [0, 1]. */
  coverage: number;
  /** Evidence recall: fraction of sub-questions whose evidence was shown, in [0, 1]. */
  evidenceSeen: number;
  /** Model calls / (graph depth + 1); 1 is the minimum. */
  criticalPathRatio: number;
  responseTokens: number;
  /** The sub-queries of each search turn. */
  searches: string[][];
  /** Queries that timed out; absent if none. The policy was told that they failed. */
  timedOutQueries?: number;
  answer: string | null;
  /**
   * Behaviour labels (see `behaviour.ts`): true, false, or null if unknown or not
   * applicable. Recorded answers have none and are labelled when read.
   */
  behaviour?: Readonly<Record<string, boolean | null>>;
}

/** A policy's answer to a question: a line of `results.jsonl`. */
export interface QuestionResult extends Measurement {
  method: string;
  model: 'base' | 'instruct' | 'hasty' | 'paired';
  /** Seed of the initial model; 1 if there is only one. */
  initSeed?: number;
  /** Seed of RL. */
  seed: number;
  /** Maximum number of search turns; absent if unknown. */
  maxSearchTurns?: number;
}

const optionalNumber = z.number().nullish();
/** The fields that figures use; others are kept as they are. */
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
  coverage: optionalNumber,
  evidenceSeen: optionalNumber,
  criticalPathRatio: optionalNumber,
  searches: z.array(z.array(z.string())),
  answer: z.string().nullable(),
});

/** @throws ZodError for an invalid line */
export const parseMeasurement = (value: unknown): Measurement =>
  measurementSchema.parse(value) as unknown as Measurement;

/** Unique key: FlashRAG ids (test_0, ...) repeat across benchmarks. */
export const questionKey = ({
  questionId,
  benchmark = 'unknown',
}: {
  questionId: string;
  benchmark?: string;
}): string => JSON.stringify([benchmark, questionId]);

/**
 * The answers of several runs to the questions that all of them answered; the last one if
 * a question was answered again. `method` is the run's name.
 */
export function answersInCommon(
  runs: Readonly<Record<string, readonly Measurement[]>>,
): QuestionResult[] {
  const latest = Object.entries(runs).map(
    ([name, answers]) =>
      [name, new Map(answers.map((answer) => [questionKey(answer), answer]))] as const,
  );
  return latest.flatMap(([name, answers]) =>
    [...answers.values()]
      .filter((answer) => latest.every(([, others]) => others.has(questionKey(answer))))
      .map((answer) => ({ ...answer, method: name, model: 'base' as const, initSeed: 1, seed: 1 })),
  );
}
