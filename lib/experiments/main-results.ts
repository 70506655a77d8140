/** The main comparison (Table 2): which runs there are. */
import { METHODS, START_NAMES, type MethodName } from '../config.js';
import { SEEDS } from './evaluate-runs.js';
import type { PolicyRun } from './world.js';

/** Every run of the main comparison, the most telling first. An untrained policy answers greedily: one seed says it all. */
export function mainRuns(): PolicyRun[] {
  const order: MethodName[] = ['parallelsearch', 'search-r1', 'r1', 'search-r1-parallel-prompt'];
  const runsOf = (method: MethodName, seed: number): PolicyRun[] =>
    START_NAMES.map((start) => ({ method, start, seed }));
  const trained = order.filter((method) => METHODS[method].trainedBy !== null);
  const untrained = order.filter((method) => METHODS[method].trainedBy === null);
  const [main, rest] = [trained.slice(0, 2), trained.slice(2)];
  const seeded = (methods: MethodName[]): PolicyRun[] =>
    SEEDS.flatMap((seed) => methods.flatMap((method) => runsOf(method, seed)));
  return [...seeded(main), ...untrained.flatMap((method) => runsOf(method, SEEDS[0])), ...seeded(rest)];
}
