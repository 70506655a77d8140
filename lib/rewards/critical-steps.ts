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
 */
import type { Searches } from './sub-questions.js';

/** @param searches the sub-queries of each search turn that ran */
export const criticalSteps = ({
  modelCalls,
  searches,
}: {
  modelCalls: number;
  searches: Searches;
}): number => modelCalls + searches.filter((queries) => queries.length > 0).length;
