/** The metrics of a trajectory. */
import { mean } from 'd3-array';
import { graphDepth, type Question, type QuestionGraph } from '../data/question.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { scoringInput } from '../rewards/reward.js';
import { isTimedOut } from '../retrieval/search.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import { tokenUsage, type Trajectory } from '../rollout/trajectory.js';
import { exactMatch, normalizeAnswer, tokenF1 } from '../text/normalize.js';
import type { Measurement } from './result.js';

/**
 * Fraction of the sub-questions for which a passage with the answer was retrieved; NaN
 * without sub-questions.
 */
export function evidenceRecall(
  graph: QuestionGraph,
  { searchTurns }: Pick<Trajectory, 'searchTurns'>,
): number {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results
      .flatMap((result) => (result.status === 'ok' ? result.passages : []))
      .map(({ id }) => id),
  );
  return mean(graph, ({ evidence }) => Number(evidence.some((id) => seen.has(id)))) ?? NaN;
}

/** All metrics of a trajectory; those that need a missing dependency graph are NaN. */
export function measure(question: Question, trajectory: Trajectory): Measurement {
  const { graph = [], benchmark, type } = question.metadata;
  const { answer, formatOk, searchTurns, questionType } = scoringInput(trajectory, question);
  const timedOutQueries = trajectory.searchTurns
    .flatMap(({ results }) => results)
    .filter(isTimedOut).length;
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
    coverage: ifGraph(subQuestionRecall(question, searchTurns)),
    evidenceSeen: ifGraph(evidenceRecall(graph, trajectory)),
    criticalPathRatio: ifGraph(trajectory.modelCalls / (graphDepth(graph) + 1)),
    responseTokens: tokenUsage(trajectory).written,
    searches: searchTurns.map((queries) => [...queries]),
    ...(timedOutQueries > 0 && { timedOutQueries }),
    answer,
  };
}
