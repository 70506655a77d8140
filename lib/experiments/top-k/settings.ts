/**
 * Figure 6: how many passages a query should bring, for three retrievers. The same trained policies answer a fixed sample of the
 * test questions under every setting.
 *
 * Two departures from the paper. The small policy's context has 1,024 positions: where the passages of a turn would leave no
 * room for the turns to come, those of the lowest ranks are left out, counted and reported (the paper cuts what a turn brings
 * at 500 tokens and does not say whether it did so here). And the policies have been trained with one passage per query, and
 * warmed up with one or two, where the paper trains with three: larger k are outside of what they have seen.
 */
import { SEEDS } from '../answers.js';
import type { PolicyRun } from '../runs.js';

/** What is varied. */
export interface TopKSetting {
  retriever: string;
  /** Passages per query. */
  k: number;
}

export const TOP_K = {
  /** The second is what the first is compared with. */
  methods: ['parallelsearch', 'search-r1'],
  model: 'instruct',
  seeds: SEEDS,
  /** The first is what the others are compared with. */
  retrievers: ['bm25', 'exact', 'hnsw'],
  ks: [1, 3, 5, 10],
  /** One of so many test questions of each benchmark and kind is asked. */
  oneOf: 20,
  /** Tokens kept free for every later search turn (see `reservePerTurn` of a rollout): a search and one passage for it. */
  reservePerTurn: 100,
} as const;

export const topKSettings = (): TopKSetting[] =>
  TOP_K.retrievers.flatMap((retriever) => TOP_K.ks.map((k) => ({ retriever, k })));

export const topKRuns = (): PolicyRun[] =>
  TOP_K.seeds.flatMap((seed) => TOP_K.methods.map((method) => ({ method, model: TOP_K.model, seed })));
