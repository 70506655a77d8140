/** The main comparison (Table 2): which runs there are. */
import { trainedBy } from '../../methods/index.js';
import { INITIAL_MODELS } from '../runs.js';
import { SEEDS } from '../evaluate-runs.js';
import type { PolicyRun } from '../runs.js';

/** Every run of the main comparison, the most telling first. An untrained policy answers greedily: one seed says it all. */
export function mainRuns(): PolicyRun[] {
  const order: string[] = ['parallelsearch', 'search-r1', 'r1', 'search-r1-parallel-prompt'];
  const models = [...INITIAL_MODELS].reverse();
  const trained = order.filter((method) => trainedBy(method) !== null);
  const untrained = order.filter((method) => trainedBy(method) === null);
  const [main, rest] = [trained.slice(0, 2), trained.slice(2)];
  const runsOf = (methods: string[], seeds: number[]): PolicyRun[] =>
    seeds.flatMap((seed) => models.flatMap((model) => methods.map((method) => ({ method, model, seed }))));
  return [...runsOf(main, SEEDS), ...runsOf(untrained, SEEDS.slice(0, 1)), ...runsOf(rest, SEEDS)];
}
