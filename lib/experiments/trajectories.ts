/**
 * Trajectories to read: a fixed sample of questions, answered greedily by both methods,
 * by Search-R1's weights with ParallelSearch's prompt, and by an untrained model.
 */
import {
  type Question,
  graphQuestionType,
  stratifiedSample,
  type SampleOptions,
} from '../data/question.js';
import { type Provenance, configHash } from '../io/provenance.js';
import { type RewardPresetName, presetRewards } from '../rewards/presets.js';
import { scoreRollout, scoringInput } from '../rewards/reward.js';
import { subQuestionRecall } from '../rewards/sub-questions.js';
import { formatTrajectory, type Trajectory, type With } from '../rollout/trajectory.js';
import { executedSearches } from '../text/response.js';
import { BOTH_METHODS, methodTitle } from '../training/methods.js';
import { defineComputation, type Experiment } from './experiment.js';
import { answerSample, listRunJobs } from './running/answers.js';
import type { PolicyRun } from './running/policy-runs.js';
import { mergeProvenance, requireResults, readQuestionProvenance } from './running/records.js';
import { listRuns } from './running/runs.js';

const SEED = 1;
const TRAJECTORY_METHODS = {
  instruct: ['parallelsearch', 'search-r1', 'search-r1-parallel-prompt', 'untrained:parallel'],
  base: BOTH_METHODS,
};
export const TRAJECTORY_RUNS: readonly PolicyRun[] = (['instruct', 'base'] as const).flatMap(
  (model) => listRuns({ methods: TRAJECTORY_METHODS[model], models: [model], initSeeds: [SEED] }),
);
export const TRAJECTORY_SAMPLE: SampleOptions = { oneOf: 12, seed: 'trajectories' };
/** All trajectories are scored alike, whatever their policy was trained on. */
export const TRAJECTORY_REWARDS: RewardPresetName = 'paper';

/** Per run on one core, for estimates only. */
const ROUGH_SECONDS = 40;

/** A line of training's `trajectories.jsonl`, without advantage: there are no groups. */
export type TrajectoryLine = With<'method' | 'rewards'> & { run: PolicyRun };

/** Lines in the order of the sample. */
type TrajectoryRecord = { lines: TrajectoryLine[] };

/** A run's title, such as `ParallelSearch (instruct)`. */
export const policyTitle = ({ method, model }: PolicyRun): string =>
  `${methodTitle(method)} (${model})`;

/** Adds the run and the rewards to a trajectory. */
export const scoredLine = (
  run: PolicyRun,
  question: Question,
  trajectory: Trajectory,
): TrajectoryLine => ({
  method: policyTitle(run),
  run,
  ...trajectory,
  questionType: graphQuestionType(question.metadata.graph ?? []),
  subQuestionRecall: subQuestionRecall(question, executedSearches(trajectory.segments)),
  rewards: scoreRollout(presetRewards(TRAJECTORY_REWARDS), scoringInput(trajectory, question))
    .components,
});

const SETTINGS = { sample: TRAJECTORY_SAMPLE, preset: TRAJECTORY_REWARDS, retriever: 'bm25' };

/** The experiment behind `reports/trajectories.html`. */
export const trajectories: Experiment = {
  name: 'trajectories',
  title: 'trajectories of sampled questions, to read',
  computation: defineComputation({
    jobs: () =>
      listRunJobs(TRAJECTORY_RUNS, {
        name: 'trajectories',
        seconds: ROUGH_SECONDS,
        hash: (evaluation) => configHash({ ...SETTINGS, evaluation }),
      }),
    work: async (run: PolicyRun, context): Promise<TrajectoryRecord> => {
      const questions = stratifiedSample(context.world.questions, TRAJECTORY_SAMPLE);
      const lines = await answerSample(run, context, {
        questions,
        // Rounds log-probs to four decimals, as in a file of trajectories.
        keep: (question, trajectory) =>
          JSON.parse(formatTrajectory(scoredLine(run, question, trajectory))) as TrajectoryLine,
      });
      return { lines };
    },
  }),
};

/**
 * Loads the recorded trajectories, question by question.
 * @throws Error with the command that records them
 */
export async function loadTrajectories(
  folder?: string,
): Promise<{ lines: TrajectoryLine[]; provenance: Provenance }> {
  const done = await requireResults<PolicyRun, TrajectoryRecord>(trajectories, folder);
  const byRun = done.map(({ job, record }) =>
    record.value.lines.map((line) => ({ ...line, run: job.input })),
  );
  return {
    lines: byRun[0].flatMap((_, question) => byRun.map((lines) => lines[question])),
    provenance: mergeProvenance(done, { seeds: [SEED], ...(await readQuestionProvenance()) }),
  };
}
