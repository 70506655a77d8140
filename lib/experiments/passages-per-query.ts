/**
 * Passages per query where more of them find more (Figure 6): near misses hide the facts.
 * Both methods are trained among them with a number of passages drawn for each step, and
 * answer with each number; so do the main comparison's runs as they are.
 */
import { PASSAGES_TEST } from '../io/paths.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import type { PaperClaim } from './experiment.js';
import { TOP_K } from './top-k.js';
import { trainingTest, variantName, type StageGroup } from './training-test.js';
import { partsAhead } from './verdicts.js';

/** RL steps: the main comparison's 200 take too long here. */
const STEPS = 50;
const { ks } = TOP_K;
const [FEWEST, ...MORE] = ks;

const drawnRuns = (): PolicyRun[] =>
  budgetRuns().map((run) => ({ ...run, steps: STEPS, topKs: ks, nearMisses: true }));

const group = (training: string, runs: readonly PolicyRun[], step: number): StageGroup => ({
  training,
  step,
  stages: ks.flatMap((topK) => runs.map((run) => ({ run, step, topK }))),
});

export const PASSAGES = trainingTest({
  name: 'passages',
  title: 'passages per query among near misses',
  folder: PASSAGES_TEST,
  label: 'passages',
  nearMisses: true,
  groups: () => [
    group('near_misses', drawnRuns(), STEPS),
    group('main_near_misses', budgetRuns(), 200),
  ],
  pairs: [
    ...BUDGET_METHODS.flatMap((method) =>
      MORE.map((k) => [variantName(method, k), variantName(method, FEWEST)] as const),
    ),
    ...ks.map((k) => [variantName('parallelsearch', k), variantName('search-r1', k)] as const),
  ],
});

const parallelSearch = { test: 'passages', subset: 'all', against: 'parallelsearch' };
const tenOverOne = { ...parallelSearch, k: 10, against_k: 1 };
/** Judged among near misses: elsewhere, there is nothing to gain. */
export const morePassages: PaperClaim = {
  id: 'top-k',
  claim: 'More passages per query help: k = 10 answers more questions than k = 1',
  paper: 'about +6 (2Wiki) and +7 (HotpotQA), Figure 6',
  tables: () => 'no point values are printed',
  evidence: {
    cell: 'passages-answers',
    rule: 'Difference in exact match on all questions with BM25 above 0, where near misses hide facts',
    parts: (tables) =>
      partsAhead(tables, [
        ['RL among near misses', { ...tenOverOne, training: 'near_misses' }],
        ['RL without near misses', { ...tenOverOne, training: 'main_near_misses' }],
      ]),
  },
};
