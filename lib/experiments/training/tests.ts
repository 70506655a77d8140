/**
 * Training runs besides the main comparison's, each with its own fresh test: what changes
 * with other initial models, questions, rewards and passages in RL?
 */
import { rewardConstants } from '../../rewards/presets.js';
import { INFORMATION_CUTS } from '../../rollout/options.js';
import { BOTH_METHODS } from '../../training/methods.js';
import { partsAhead, type PaperClaim } from '../results/claims.js';
import type { PolicyRun } from '../running/policy-runs.js';
import { EARLY_STEP, instructRuns, listRuns, SEEDS } from '../running/runs.js';
import { TOP_K } from '../top-k.js';
import {
  trainingTest,
  variantName,
  type StageGroup,
  type TrainingTest,
} from './fresh-test-experiment.js';

const [PARALLEL, SEQUENTIAL] = BOTH_METHODS;
const { lambdaD, lambdaS } = rewardConstants('paper');

/** RL steps: of the main comparison, which takes hours, and of shorter runs. */
const STEPS = { main: 200, hasty: 100, mixed: 100, paired: 50, short: 50 };

const withFields = (
  runs: readonly PolicyRun[],
  settings: Partial<PolicyRun>,
  method?: string,
): PolicyRun[] =>
  runs.map((run) => (method && run.method !== method ? run : { ...run, ...settings }));

const group = (training: string, runs: readonly PolicyRun[], step = STEPS.main): StageGroup => ({
  training,
  step,
  stages: runs.map((run) => ({ run, step })),
});

/*
 * RL from a habit: hasty models search once, with one query for everything, and answer
 * from what they find. How many steps does each method need to learn to search enough?
 */

export const HASTY_STEPS = STEPS.hasty;
/** Steps after which the test is answered; the last adapter is the one chosen on dev. */
export const HABIT_STEPS = [0, EARLY_STEP, HASTY_STEPS] as const;
const [, ...AFTER_RL] = HABIT_STEPS;

/** Both methods from each hasty model. Default: with one seed. */
const habitRuns = (seeds?: readonly number[]): PolicyRun[] =>
  withFields(listRuns({ methods: BOTH_METHODS, models: ['hasty'], seeds }), { steps: HASTY_STEPS });

export const HABIT = trainingTest({
  name: 'habit',
  title: 'RL from models that search once and answer',
  folder: 'habit',
  label: 'habit',
  groups: () => HABIT_STEPS.map((step) => group('hasty', habitRuns(), step)),
});

/** Does another RL seed behave the same? */
const HABIT_SEEDS = trainingTest({
  name: 'habit-seeds',
  title: 'RL from models that search once and answer, with two seeds',
  folder: 'habit-seeds',
  label: 'habitSeeds',
  groups: () => AFTER_RL.map((step) => group('hasty_two_seeds', habitRuns(SEEDS), step)),
});

/*
 * Hybrid questions, on which ParallelSearch falls behind: because RL has none, because of
 * Eq. 4, or because no demonstration searched both chains at once?
 */

/** A fifth of the questions in RL are hybrid. */
const mixedRuns = (): PolicyRun[] =>
  withFields(instructRuns(), { steps: STEPS.mixed, hybridShare: 0.2 });
/** Without r_d, Eq. 4 rewards nothing for hybrids; Search-R1 has no r_d. */
const runsWithoutRd = (): PolicyRun[] =>
  withFields(mixedRuns(), { lambdas: { lambdaD: 0, lambdaS } }, PARALLEL);
/** From models that have seen both chains searched at once. */
const pairedRuns = (): PolicyRun[] =>
  withFields(listRuns({ methods: BOTH_METHODS, models: ['paired'] }), { steps: STEPS.paired });
const mainAndMixed = (): StageGroup[] => [
  group('main', instructRuns()),
  group('mixed', mixedRuns(), STEPS.mixed),
];

const HYBRIDS = trainingTest({
  name: 'hybrids',
  title: 'comparisons of two chains in RL',
  folder: 'hybrids',
  label: 'hybrid',
  groups: mainAndMixed,
});

export const PAIRED = trainingTest({
  name: 'paired',
  title: 'comparisons of two chains without the decomposition reward, and in demonstrations',
  folder: 'paired',
  label: 'paired',
  groups: () => [
    ...mainAndMixed(),
    group('mixed_without_rd', runsWithoutRd(), STEPS.mixed),
    group('paired_before_rl', pairedRuns(), 0),
    group('paired', pairedRuns(), STEPS.paired),
  ],
});

/*
 * Which reward teaches what? Search-R1 gets the search-count reward r_s in addition to
 * its outcome reward, and ParallelSearch goes without it, from hasty and instruct models.
 */

const COUNT_ONLY = 'Search-R1 with r_s';
const DECOMPOSITION_ONLY = 'ParallelSearch without r_s';

/** Runs with the rewards of their methods, and with the other rewards. */
const withVariants = (runs: readonly PolicyRun[]): PolicyRun[] =>
  runs.flatMap((run) => [
    run,
    run.method === PARALLEL
      ? { ...run, lambdas: { lambdaD, lambdaS: 0 } }
      : { ...run, lambdas: { lambdaD: 0, lambdaS }, steps: run.steps ?? STEPS.short },
  ]);

export const REWARDS = trainingTest({
  name: 'which-reward',
  title: 'the search-count reward without parallel queries, and the decomposition reward alone',
  folder: 'rewards',
  label: 'rewards',
  groups: () => [
    ...AFTER_RL.map((step) => group('hasty', withVariants(habitRuns()), step)),
    {
      training: 'instruct',
      step: STEPS.main,
      stages: withVariants(instructRuns()).map((run) => ({ run, step: run.steps ?? STEPS.main })),
    },
  ],
  pairs: [
    BOTH_METHODS,
    [COUNT_ONLY, SEQUENTIAL],
    [DECOMPOSITION_ONLY, SEQUENTIAL],
    [DECOMPOSITION_ONLY, PARALLEL],
  ],
  nameMethod: ({ method, lambdas }) => {
    if (!lambdas) return method;
    return method === PARALLEL ? DECOMPOSITION_ONLY : COUNT_ONLY;
  },
});

/*
 * Passages per query if more of them find more (Figure 6): near misses hide the facts.
 * Both methods are trained with a number of passages drawn for each step, and answer with
 * each number, as do the main comparison's runs.
 */

const { ks } = TOP_K;
const [FEWEST, ...MORE] = ks;

const drawnRuns = (settings: Partial<PolicyRun> = {}): PolicyRun[] =>
  withFields(instructRuns(), { ...settings, topKs: ks });

const byPassages = (training: string, runs: readonly PolicyRun[], step = STEPS.main) => ({
  training,
  step,
  stages: ks.flatMap((topK) => runs.map((run) => ({ run, step, topK }))),
});

const NEAR_MISS_SPEC = {
  title: 'passages per query among near misses',
  nearMisses: true,
  pairs: [
    ...BOTH_METHODS.flatMap((method) =>
      MORE.map((k) => [variantName(method, k), variantName(method, FEWEST)] as const),
    ),
    ...ks.map((k) => [variantName(PARALLEL, k), variantName(SEQUENTIAL, k)] as const),
  ],
};

export const PASSAGES = trainingTest({
  ...NEAR_MISS_SPEC,
  name: 'passages',
  folder: 'passages',
  label: 'passages',
  groups: () => [
    byPassages('near_misses', drawnRuns({ steps: STEPS.short, nearMisses: true }), STEPS.short),
    byPassages('main_near_misses', instructRuns()),
  ],
});

/** The same runs, continued to as many steps as the main comparison has. */
const LONGER_PASSAGES = trainingTest({
  ...NEAR_MISS_SPEC,
  title: `${NEAR_MISS_SPEC.title}, with as many steps as the main comparison`,
  name: 'passages-200',
  folder: 'passages-200',
  label: 'longerPassages',
  groups: () => [
    byPassages('near_misses', drawnRuns({ nearMisses: true })),
    byPassages('main_near_misses', instructRuns()),
  ],
});

/** Without near misses: Figure 6 after RL with as many passages as it compares. */
const DRAWN_PASSAGES = trainingTest({
  ...NEAR_MISS_SPEC,
  name: 'drawn-passages',
  title: 'passages per query after RL with numbers drawn for each step',
  nearMisses: false,
  folder: 'drawn-passages',
  label: 'drawnPassages',
  groups: () => [byPassages('drawn_passages', drawnRuns()), byPassages('main', instructRuns())],
});

const parallelSearch = { test: 'passages-200', subset: 'all', against: 'parallelsearch' };
const tenOverOne = { ...parallelSearch, k: 10, against_k: 1 };
/** Judged among near misses: elsewhere, there is nothing to gain. */
export const morePassages: PaperClaim = {
  id: 'top-k',
  claim: 'More passages per query help: k = 10 answers more questions than k = 1',
  paper: 'about +6 (2Wiki) and +7 (HotpotQA), Figure 6',
  tables: () => 'no point values are printed',
  cell: 'passages-answers',
  rule: 'Difference in exact match on all questions with BM25 above 0, where near misses hide facts',
  parts: partsAhead([
    ['RL among near misses', { ...tenOverOne, training: 'near_misses' }],
    ['RL without near misses', { ...tenOverOne, training: 'main_near_misses' }],
  ]),
};

/**
 * What a turn shows: ParallelSearch with half the limit on information, cut in one of
 * three ways. Search-R1's turns are shorter than either limit.
 */
const CUTS = trainingTest({
  name: 'information-cut',
  title: 'half of the information per turn, cut in three ways',
  folder: 'cut',
  label: 'cut',
  groups: () => [
    ...INFORMATION_CUTS.map((halvedBy) =>
      group(`cut_${halvedBy}`, withFields(instructRuns(), { halvedBy }, PARALLEL)),
    ),
    group('main', instructRuns()),
  ],
});

/** In the order of their draws: a prediction is judged by the first test that can. */
export const TRAINING_TESTS: readonly TrainingTest[] = [
  HABIT,
  HYBRIDS,
  PAIRED,
  REWARDS,
  PASSAGES,
  LONGER_PASSAGES,
  HABIT_SEEDS,
  CUTS,
  DRAWN_PASSAGES,
];
