/** Measures searches: which sub-questions were asked and answered, and critical steps. */
import { mean } from 'd3-array';
import { independentSubQuestions, type Question, type QuestionGraph } from '../data/question.js';
import type { Trajectory } from '../rollout/trajectory.js';
import { paddedWords } from '../text/answer-match.js';

export type Searches = readonly (readonly string[])[];

/** The entities of the independent sub-questions, and whether a sub-query names each. */
export function askedEntities(question: Question, searches: Searches) {
  const queries = searches.flat().map(paddedWords);
  return independentSubQuestions(question.metadata.graph ?? []).map(({ entity }) => ({
    entity,
    asked: queries.some((query) => query.includes(paddedWords(entity))),
  }));
}

/** Share of sub-questions for which a passage with the answer was shown uncut, or NaN. */
export function evidenceRecall(
  graph: QuestionGraph,
  { searchTurns }: Pick<Trajectory, 'searchTurns'>,
): number {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results
      .flatMap((result) => (result.status === 'ok' ? result.passages : []))
      .filter(({ isCut }) => !isCut)
      .map(({ id }) => id),
  );
  return mean(graph, ({ evidence }) => Number(evidence.some((id) => seen.has(id)))) ?? NaN;
}

/** Whether the graph names the passages that state the answer of every sub-question. */
export const hasEvidence = ({ metadata: { graph = [] } }: Pick<Question, 'metadata'>): boolean =>
  graph.length > 0 && graph.every(({ evidence }) => evidence.length > 0);

/** Whether the policy answered with turns left and some evidence never shown. */
export const gaveUp = ({
  answer,
  modelCalls,
  maxSearchTurns,
  evidenceSeen,
}: Pick<Trajectory, 'answer' | 'modelCalls'> & {
  maxSearchTurns: number;
  evidenceSeen: number;
}): boolean => answer !== null && modelCalls <= maxSearchTurns && evidenceSeen < 1;

/** The share of the independent sub-questions that were asked; 0 if there are none. */
export function subQuestionRecall(question: Question, searches: Searches): number {
  return mean(askedEntities(question, searches), ({ asked }) => Number(asked)) ?? 0;
}

/**
 * Critical steps (Kimi K2.5, arXiv 2602.02276, "Agent Swarm"): the steps that cannot run
 * at the same time, as on the critical path of a computation graph,
 *
 *     critical steps = sum over stages t of  S_main(t) + max_i S_sub,i(t)
 *
 * A stage is a generation of the policy, S_main = 1. If it is a search that ran, its
 * sub-queries are the sub-agents: they run at once and take one step each. Run one after
 * another, the same steps would be the sum over i, that is `model_calls + retrievals`.
 *
 * Departures:
 * 1. A sub-agent of the paper takes many steps, so that their balance matters; a
 *    sub-query takes one.
 * 2. In the paper, critical steps are also the budget of training and evaluation; here
 *    they are only measured, and the budget is search turns.
 * @param searches the sub-queries of each search turn that ran
 */
export const criticalSteps = ({
  modelCalls,
  searches,
}: {
  modelCalls: number;
  searches: Searches;
}): number => modelCalls + searches.filter((queries) => queries.length > 0).length;
