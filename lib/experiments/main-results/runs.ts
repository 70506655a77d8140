/** The main comparison (Table 2): which runs there are. */
import { METHODS, INITIAL_MODELS, type MethodName } from '../../config.js';
import { SEEDS } from '../evaluate-runs.js';
import type { PolicyRun } from '../world.js';

/** Every run of the main comparison, the most telling first. An untrained policy answers greedily: one seed says it all. */
export function mainRuns(): PolicyRun[] {
  const order: MethodName[] = ['parallelsearch', 'search-r1', 'r1', 'search-r1-parallel-prompt'];
  const models = [...INITIAL_MODELS].reverse();
  const trained = order.filter((method) => METHODS[method].trainedBy !== null);
  const untrained = order.filter((method) => METHODS[method].trainedBy === null);
  const [main, rest] = [trained.slice(0, 2), trained.slice(2)];
  const runsOf = (methods: MethodName[], seeds: number[]): PolicyRun[] =>
    seeds.flatMap((seed) => models.flatMap((model) => methods.map((method) => ({ method, model, seed }))));
  return [...runsOf(main, SEEDS), ...runsOf(untrained, SEEDS.slice(0, 1)), ...runsOf(rest, SEEDS)];
}
