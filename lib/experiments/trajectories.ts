/**
 * Trajectories to read: a fixed sample of the questions, answered greedily by both
 * methods and by what stands between them, Search-R1's weights under ParallelSearch's
 * prompt. For the viewer, not for a table: its figures are of a sample.
 */
import { type Question, questionShape, type QuestionShape } from '../data/question.js';
import { configHash } from '../io/hash.js';
import type { Provenance } from '../io/provenance.js';
import { methodTitle } from '../methods/index.js';
import { coverage } from '../rewards/coverage.js';
import { type RewardPresetName, rewardsOf } from '../rewards/presets.js';
import { type RewardComponents, scoreRollout } from '../rewards/reward.js';
import { rolloutFromTrajectory } from '../rewards/rollout.js';
import { printTrajectory, type Trajectory } from '../rollout/trajectory.js';
import { executedSearches } from '../text/response.js';
import {
  answerSample,
  drawOf,
  evaluationHash,
  type SampleOptions,
  stratifiedSample,
} from './answers.js';
import { computation, type Experiment, type Job } from './experiment.js';
import { provenanceOf, requireResults } from './results.js';
import { isTrained, type PolicyRun, runName } from '../methods/checkpoints.js';

const SEED = 1;
export const TRAJECTORY_RUNS: readonly PolicyRun[] = [
  ...['parallelsearch', 'search-r1', 'search-r1-parallel-prompt', 'untrained:parallel'].map(
    (method) => ({ method, model: 'instruct' as const, warmUp: SEED, seed: SEED }),
  ),
  ...['parallelsearch', 'search-r1'].map((method) => ({
    method,
    model: 'base' as const,
    warmUp: SEED,
    seed: SEED,
  })),
];
export const TRAJECTORY_SAMPLE: SampleOptions = { oneOf: 12, seed: 'trajectories' };
/**
 * The rewards that every trajectory is given, whatever its policy was trained for: only
 * so can they be compared.
 */
export const TRAJECTORY_REWARDS: RewardPresetName = 'paper';

/** Seconds of a run on one core, roughly: for an estimate and nothing else. */
const ROUGH_SECONDS = 40;

/**
 * An answer in the layout of training's `trajectories.jsonl`. There is no advantage: a
 * policy answers each question once, so that nothing is a group.
 */
export interface TrajectoryLine extends Trajectory {
  /** Who answered, as the viewer shows it: the method with the model. */
  method: string;
  run: PolicyRun;
  shape: QuestionShape;
  coverage: number;
  rewards: RewardComponents;
}

/** What a run's policy has answered. */
interface Recorded {
  /** In the order of the sample. */
  lines: TrajectoryLine[];
}

/** A run's name for readers, such as `ParallelSearch (instruct)`. */
export const policyTitle = ({ method, model }: PolicyRun): string =>
  `${methodTitle(method)} (${model})`;

/** Adds to a trajectory who answered and what it is worth. */
export const scoredLine = (
  run: PolicyRun,
  question: Question,
  trajectory: Trajectory,
): TrajectoryLine => ({
  method: policyTitle(run),
  run,
  ...trajectory,
  shape: questionShape(question.metadata.graph ?? []),
  coverage: coverage(question, executedSearches(trajectory.segments)),
  rewards: scoreRollout(rewardsOf(TRAJECTORY_REWARDS), rolloutFromTrajectory(trajectory, question))
    .components,
});

const trajectoryJobs = (): Promise<Job<PolicyRun>[]> =>
  Promise.all(
    TRAJECTORY_RUNS.filter((run) => isTrained(run)).map(async (run) => ({
      key: `trajectories/${runName(run)}`,
      hash: configHash({
        sample: TRAJECTORY_SAMPLE,
        preset: TRAJECTORY_REWARDS,
        retriever: 'bm25',
        evaluation: await evaluationHash(run),
      }),
      input: run,
      seconds: ROUGH_SECONDS,
    })),
  );

/** The experiment behind `reports/trajectories.html`. */
export const trajectories: Experiment = {
  name: 'trajectories',
  title: 'trajectories of a sample of the questions, to read',
  computation: computation({
    jobs: trajectoryJobs,
    work: async (run: PolicyRun, context): Promise<Recorded> => {
      const questions = stratifiedSample(context.world.questions, TRAJECTORY_SAMPLE);
      const lines = await answerSample(run, context, {
        questions,
        // With log-probabilities to four places, as in a file of trajectories.
        keep: (question, trajectory) =>
          JSON.parse(printTrajectory(scoredLine(run, question, trajectory))) as TrajectoryLine,
      });
      return { lines };
    },
  }),
};

export interface Trajectories {
  /** Question by question, so that those to be compared stand together. */
  lines: TrajectoryLine[];
  provenance: Provenance;
}

/** @throws Error naming the command that records them, where they are missing */
export async function loadTrajectories(folder?: string): Promise<Trajectories> {
  const done = await requireResults<PolicyRun, Recorded>(trajectories, folder);
  const ofRuns = done.map(({ record }) => record.value.lines);
  return {
    lines: ofRuns[0].flatMap((_, question) => ofRuns.map((lines) => lines[question])),
    provenance: provenanceOf(done, { seeds: [SEED], ...(await drawOf()) }),
  };
}
