/**
 * Comparisons of two chains (hybrid questions), on which ParallelSearch falls behind: is
 * it because RL has none of them, because of Eq. 4, or because no demonstration searched
 * both chains at once? Both methods are trained with a fifth of hybrids in RL, with and
 * without the decomposition reward, and from models that have seen both chains searched
 * at once. The tests, one after the other, are their own, with many hybrids.
 */
import { HYBRIDS_TEST, PAIRED_TEST } from '../io/paths.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { BUDGET_METHODS, budgetRuns } from './budget.js';
import { listRuns } from './runs.js';
import { trainingTest, type StageGroup } from './training-test.js';

/** RL steps: the main comparison's 200 take too long here. */
const STEPS = { mixed: 100, paired: 50 };
/** Share of hybrid questions in training. */
const HYBRID_SHARE = 0.2;
/** The paper's reward without r_d, so that Eq. 4 says nothing about hybrids. */
const WITHOUT_RD = { lambdaD: 0, lambdaS: 0.35 };

const mixedRuns = (): PolicyRun[] =>
  budgetRuns().map((run) => ({ ...run, steps: STEPS.mixed, hybridShare: HYBRID_SHARE }));
/** Search-R1 has no r_d to leave out. */
const runsWithoutRd = (): PolicyRun[] =>
  mixedRuns().map((run) =>
    run.method === BUDGET_METHODS[0] ? { ...run, lambdas: WITHOUT_RD } : run,
  );
const pairedRuns = (): PolicyRun[] =>
  listRuns({ methods: BUDGET_METHODS, models: ['paired'] }).map((run) => ({
    ...run,
    steps: STEPS.paired,
  }));

/** Runs that these experiments train; some of them twice in the list. */
export const hybridRuns = (): PolicyRun[] => [...mixedRuns(), ...runsWithoutRd(), ...pairedRuns()];

const group = (training: string, runs: readonly PolicyRun[], step: number): StageGroup => ({
  training,
  step,
  stages: runs.map((run) => ({ run, step })),
});
/** As in the main comparison, with its 200 steps, and with hybrids in RL. */
const mainAndMixed = () => [
  group('main', budgetRuns(), 200),
  group('mixed', mixedRuns(), STEPS.mixed),
];

export const HYBRIDS = trainingTest({
  name: 'hybrids',
  title: 'comparisons of two chains in RL',
  folder: HYBRIDS_TEST,
  label: 'hybrid',
  groups: mainAndMixed,
});

export const PAIRED = trainingTest({
  name: 'paired',
  title: 'comparisons of two chains without the decomposition reward, and in demonstrations',
  folder: PAIRED_TEST,
  label: 'paired',
  groups: () => [
    ...mainAndMixed(),
    group('mixed_without_rd', runsWithoutRd(), STEPS.mixed),
    group('paired_before_rl', pairedRuns(), 0),
    group('paired', pairedRuns(), STEPS.paired),
  ],
});
