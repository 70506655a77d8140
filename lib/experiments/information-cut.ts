/**
 * What a turn shows: ParallelSearch trained with half of the limit of information, which
 * is cut in one of three ways. Search-R1's turns are shorter than either limit, so its
 * runs are the main comparison's.
 */
import { CUT_TEST } from '../io/paths.js';
import { INFORMATION_CUTS } from '../rollout/options.js';
import type { PolicyRun } from '../training/policy-runs.js';
import { budgetRuns } from './budget.js';
import { trainingTest } from './training-test.js';

/** RL steps, as in the main comparison. */
const STEPS = 200;

const PARALLEL = 'parallelsearch';

const groupOf = (training: string, runs: readonly PolicyRun[]) => ({
  training,
  step: STEPS,
  stages: runs.map((run) => ({ run, step: STEPS })),
});

export const CUTS = trainingTest({
  name: 'information-cut',
  title: 'half of the information per turn, cut in three ways',
  folder: CUT_TEST,
  label: 'cut',
  groups: () => [
    ...INFORMATION_CUTS.map((halvedBy) =>
      groupOf(
        `cut_${halvedBy}`,
        budgetRuns().map((run) => (run.method === PARALLEL ? { ...run, halvedBy } : run)),
      ),
    ),
    groupOf('main', budgetRuns()),
  ],
});
