/**
 * Trajectories to read: a fixed sample of the test questions, answered greedily by both methods and by what stands between
 * them, Search-R1's weights under ParallelSearch's prompt. For the viewer, not for a table: its figures are of a sample.
 */
import { configHash } from '../../io/hash.js';
import type { Provenance } from '../../io/provenance.js';
import { rewardsOf, type RewardPresetName } from '../../rewards/presets.js';
import { printTrajectory } from '../../rollout/trajectory.js';
import { evaluationBatchSize, evaluationHash } from '../answers.js';
import { computation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { stratifiedSample, type SampleOptions } from '../question-sample.js';
import { provenanceOf, requireResults } from '../results.js';
import { loadPolicy, runName, type PolicyRun } from '../runs.js';
import { recordTrajectories, type TrajectoryLine } from './answers.js';

const SEED = 1;
export const TRAJECTORY_RUNS: readonly PolicyRun[] = [
  { method: 'parallelsearch', model: 'instruct', seed: SEED },
  { method: 'search-r1', model: 'instruct', seed: SEED },
  { method: 'search-r1-parallel-prompt', model: 'instruct', seed: SEED },
  { method: 'parallelsearch', model: 'base', seed: SEED },
  { method: 'search-r1', model: 'base', seed: SEED },
];
export const TRAJECTORY_SAMPLE: SampleOptions = { oneOf: 6, seed: 'trajectories' };
/** The rewards that every trajectory is given, whatever its policy was trained for: only so can they be compared. */
export const TRAJECTORY_REWARDS: RewardPresetName = 'paper';

/** Seconds of a run on one core, roughly: for an estimate and nothing else. */
const ROUGH_SECONDS = 40;

/** What a run's policy has answered. */
interface Recorded {
  /** In the order of the sample. */
  lines: TrajectoryLine[];
}

const trajectoryJobs = (): Promise<Job<PolicyRun>[]> =>
  Promise.all(
    TRAJECTORY_RUNS.map(async (run) => ({
      key: `trajectories/${runName(run)}`,
      hash: configHash({
        ...{ sample: TRAJECTORY_SAMPLE, preset: TRAJECTORY_REWARDS, retriever: 'bm25' },
        evaluation: await evaluationHash(run),
      }),
      ...{ input: run, seconds: ROUGH_SECONDS },
    })),
  );

async function recordRun(run: PolicyRun, { backend, world, onFraction }: WorkContext): Promise<Recorded> {
  const questions = stratifiedSample(world.questions, TRAJECTORY_SAMPLE);
  const policy = await loadPolicy(run);
  const lines = await recordTrajectories(policy, world.retriever, questions, {
    ...{ run, rewards: rewardsOf(TRAJECTORY_REWARDS), batchSize: evaluationBatchSize(backend) },
    onBatch: (done) => onFraction(done / questions.length),
  });
  policy.dispose();
  // With log-probabilities to four places, as in a file of trajectories.
  return { lines: lines.map((line) => JSON.parse(printTrajectory(line)) as TrajectoryLine) };
}

/** The experiment behind `reports/trajectories.html`. */
export const trajectories: Experiment = {
  name: 'trajectories',
  title: 'trajectories of a sample of the test questions, to read',
  computation: computation({ jobs: trajectoryJobs, work: recordRun }),
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
    provenance: provenanceOf(done, { seeds: [SEED] }),
  };
}
