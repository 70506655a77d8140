import { graphDepth, type Question } from '../data/question.js';
import { isDecomposed } from '../rewards/parallelsearch.js';
import { scoringInput } from '../rewards/reward.js';
import { isTimedOutSearch } from '../retrieval/search.js';
import { evidenceRecall, subQuestionRecall } from '../rewards/sub-questions.js';
import { tokenUsage, type Trajectory } from '../rollout/trajectory.js';
import { exactMatch, normalizeAnswer, tokenF1 } from '../text/answer-match.js';
import type { Measurement } from './result.js';

/** Computes all metrics of a trajectory; NaN for those that need a missing graph. */
export function measure(question: Question, trajectory: Trajectory): Measurement {
  const { graph = [], benchmark, type } = question.metadata;
  const { answer, formatOk, searchTurns, questionType } = scoringInput(trajectory, question);
  const timedOutQueries = trajectory.searchTurns
    .flatMap(({ results }) => results)
    .filter(isTimedOutSearch).length;
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
