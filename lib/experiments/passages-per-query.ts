/**
 * Passages per query where more of them find more (Figure 6): near misses hide the facts.
 * Both methods are trained among them with a number of passages drawn for each step, and
 * answer with each number; so do the main comparison's runs as they are.
 */
import { DRAWN_PASSAGES_TEST, LONGER_PASSAGES_TEST, PASSAGES_TEST } from '../io/paths.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import type { PaperClaim } from './experiment.js';
import { TOP_K } from './top-k.js';
import { trainingTest, variantName, type StageGroup } from './training-test.js';
import { partsAhead } from './verdicts.js';

const { ks } = TOP_K;
const [FEWEST, ...MORE] = ks;
/** RL steps of the main comparison. */
const MAIN_STEPS = 200;

/** The main comparison's runs, but with a number of passages drawn for each step. */
const drawnRuns = (settings: Pick<PolicyRun, 'steps' | 'nearMisses'> = {}): PolicyRun[] =>
  budgetRuns().map((run) => ({ ...run, ...settings, topKs: ks }));

const group = (training: string, runs: readonly PolicyRun[], step: number): StageGroup => ({
  training,
  step,
  stages: ks.flatMap((topK) => runs.map((run) => ({ run, step, topK }))),
});

const SPEC = {
  title: 'passages per query among near misses',
  nearMisses: true,
  pairs: [
    ...BUDGET_METHODS.flatMap((method) =>
      MORE.map((k) => [variantName(method, k), variantName(method, FEWEST)] as const),
    ),
    ...ks.map((k) => [variantName('parallelsearch', k), variantName('search-r1', k)] as const),
  ],
};

/** After a quarter of the main comparison's steps. */
export const PASSAGES = trainingTest({
  ...SPEC,
  name: 'passages',
  folder: PASSAGES_TEST,
  label: 'passages',
  groups: () => [
    group('near_misses', drawnRuns({ steps: 50, nearMisses: true }), 50),
    group('main_near_misses', budgetRuns(), MAIN_STEPS),
  ],
});

/** The same runs, continued to as many steps as the main comparison has. */
export const LONGER_PASSAGES = trainingTest({
  ...SPEC,
  name: 'passages-200',
  folder: LONGER_PASSAGES_TEST,
  label: 'longerPassages',
  groups: () => [
    group('near_misses', drawnRuns({ nearMisses: true }), MAIN_STEPS),
    group('main_near_misses', budgetRuns(), MAIN_STEPS),
  ],
});

/** Without near misses: Figure 6 after RL with as many passages as it compares. */
export const DRAWN_PASSAGES = trainingTest({
  ...SPEC,
  name: 'drawn-passages',
  title: 'passages per query after RL with numbers drawn for each step',
  nearMisses: false,
  folder: DRAWN_PASSAGES_TEST,
  label: 'drawnPassages',
  groups: () => [
    group('drawn_passages', drawnRuns(), MAIN_STEPS),
    group('main', budgetRuns(), MAIN_STEPS),
  ],
});

const parallelSearch = { test: 'passages-200', subset: 'all', against: 'parallelsearch' };
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
