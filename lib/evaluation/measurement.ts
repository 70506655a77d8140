/** The measurements of one answer. */
import { z } from 'zod';
import { graphDepth, type Question, type QuestionType } from '../data/question.js';
import { isTimedOutSearch } from '../retrieval/search.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { scoringInput } from '../rewards/reward.js';
import { evidenceRecall, subQuestionRecall } from '../rewards/sub-questions.js';
import { tokenUsage, type Trajectory } from '../rollout/trajectory.js';
import { exactMatch, normalizeAnswer, tokenF1 } from '../text/answer-match.js';

/**
 * The measurements of one answer. Those that need a dependency graph are NaN (null in
 * JSON) without one. Recorded answers have the same field names.
 */
export interface Measurement {
  questionId: string;
  /** The benchmark's name in FlashRAG. */
  benchmark: string;
  /** The benchmark's own type, such as `comparison` or `bridge`. */
  type: string;
  subset: QuestionType | 'unknown';
  /** Number of entities compared (2 to 8); 0 if the question is not a comparison. */
  entitiesCompared: number;
  /** Depth of the dependency graph; absent without one and in old recordings. */
  hops?: number;
  /** Whether training questions have the same wording; absent if unknown. */
  wording?: 'seen' | 'unseen';
  isYesNo: boolean;
  em: 0 | 1;
  f1: number;
  formatOk: boolean;
  turns: number;
  /** Number of generations: search turns, invalid actions and the answer. */
  modelCalls: number;
  /** Whether any search turn had two or more sub-queries. */
  decomposed: boolean;
  /** Sub-question recall: share of independent sub-questions asked, in [0, 1]. */
  coverage: number;
  /** Evidence recall: share of sub-questions whose evidence was shown, in [0, 1]. */
  evidenceSeen: number;
  /** Model calls / (graph depth + 1); the minimum is 1. */
  criticalPathRatio: number;
  /** Tokens that the policy wrote; NaN if a server did not count them. */
  responseTokens: number;
  /** The sub-queries of each search turn that were run. */
  searches: string[][];
  /** Number of queries that timed out, if any. The policy was told that they failed. */
  timedOutQueries?: number;
  answer: string | null;
  /** The question's text; not recorded by experiments. */
  question?: string;
  /**
   * Behaviour labels (see `behaviour.ts`): true, false, or null if unknown or not
   * applicable. Not recorded, but computed when answers are read.
   */
  behaviour?: Readonly<Record<string, boolean | null>>;
}

/** A measurement and the policy that answered. */
export interface QuestionResult extends Measurement {
  method: string;
  model: 'base' | 'instruct' | 'hasty' | 'paired';
  /** Seed of the initial model; 1 if there is only one. */
  initSeed?: number;
  /** Seed of RL. */
  seed: number;
  /** The limit on search turns, if known. */
  maxSearchTurns?: number;
}

/** Computes all metrics of a trajectory; NaN for those that need what is missing. */
export function measure(question: Question, trajectory: Trajectory): Measurement {
  const { graph = [], benchmark, type } = question.metadata;
  const { answer, formatOk, searchTurns, questionType } = scoringInput(trajectory, question);
  const searches = trajectory.searchTurns.map(({ queries }) => [...queries]);
  const timedOutQueries = trajectory.searchTurns
    .flatMap(({ results }) => results)
    .filter(isTimedOutSearch).length;
  const { written, uncounted } = tokenUsage(trajectory);
  const ifGraph = (value: number): number => (graph.length > 0 ? value : NaN);
  return {
    questionId: question.id,
    benchmark: benchmark ?? 'unknown',
    type: type ?? 'unknown',
    subset: questionType ?? 'unknown',
    entitiesCompared: questionType === 'parallelizable' ? graph.length : 0,
    ...(graph.length > 0 && { hops: graphDepth(graph) }),
    wording: question.metadata.wording,
    isYesNo: question.goldenAnswers.every((answer) =>
      ['yes', 'no'].includes(normalizeAnswer(answer)),
    ),
    em: exactMatch(answer, question.goldenAnswers),
    f1: tokenF1(answer, question.goldenAnswers),
    formatOk,
    turns: searchTurns.length,
    modelCalls: trajectory.modelCalls,
    decomposed: isDecomposed(searchTurns),
    coverage: ifGraph(subQuestionRecall(question, searches)),
    evidenceSeen: ifGraph(evidenceRecall(graph, trajectory)),
    criticalPathRatio: ifGraph(trajectory.modelCalls / (graphDepth(graph) + 1)),
    responseTokens: uncounted ? NaN : written,
    searches,
    ...(timedOutQueries > 0 && { timedOutQueries }),
    answer,
  };
}

const share = z.number().min(0).max(1);
const count = z.number().min(0);
const optionalCount = count.nullish();
/** Validates the fields that figures use; others are passed through. */
const measurementSchema = z.looseObject({
  questionId: z.string(),
  benchmark: z.string(),
  type: z.string(),
  subset: z.string(),
  entitiesCompared: count,
  em: share,
  f1: share,
  turns: count,
  modelCalls: count,
  responseTokens: optionalCount,
  decomposed: z.boolean(),
  coverage: optionalCount,
  evidenceSeen: optionalCount,
  criticalPathRatio: optionalCount,
  searches: z.array(z.array(z.string())),
  answer: z.string().nullable(),
  question: z.string().optional(),
});

/** @throws ZodError for an invalid line */
export const parseMeasurement = (value: unknown): Measurement =>
  measurementSchema.parse(value) as unknown as Measurement;

/** A unique key: FlashRAG's ids (test_0, ...) repeat across benchmarks. */
export const questionKey = ({
  questionId,
  benchmark = 'unknown',
}: {
  questionId: string;
  benchmark?: string;
}): string => JSON.stringify([benchmark, questionId]);

/**
 * The answers of several runs to the questions that all of them answered. `method` is the
 * run's name.
 * @throws Error for two answers of a run to the same question, or different questions
 * with the same id
 */
export function answersInCommon(
  runs: Readonly<Record<string, readonly Measurement[]>>,
): QuestionResult[] {
  const known = { type: new Map<string, string>(), question: new Map<string, string>() };
  const keys = Object.entries(runs).map(([name, answers]) => {
    const seen = new Set<string>();
    for (const answer of answers) {
      const key = questionKey(answer);
      if (seen.has(key))
        throw new Error(
          `Expected one answer to each question in ${name}, but ${answer.questionId} has several. Name them as different runs.`,
        );
      seen.add(key);
      for (const field of ['type', 'question'] as const) {
        const value = answer[field];
        if (value === undefined || value === 'unknown') continue;
        const other = known[field].get(key) ?? value;
        if (value !== other)
          throw new Error(
            `Expected the same questions, but the ${field} of ${answer.questionId} is ${JSON.stringify(value)} in ${name} and ${JSON.stringify(other)} in another run. Compare answers to the same data.`,
          );
        known[field].set(key, value);
      }
    }
    return seen;
  });
  return Object.entries(runs).flatMap(([name, answers]) =>
    answers
      .filter((answer) => keys.every((others) => others.has(questionKey(answer))))
      .map((answer) => ({ ...answer, method: name, model: 'base' as const, initSeed: 1, seed: 1 })),
  );
}
