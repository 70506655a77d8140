/** Greedy answers of a policy as complete trajectories with their scores, in the layout of training's `trajectories.jsonl`. */
import { rolloutConfigOf } from '../../methods/index.js';
import { questionShape, type Question, type QuestionShape } from '../../data/question.js';
import { coverage } from '../../rewards/coverage.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import { methodTitle } from '../../methods/index.js';
import type { Policy } from '../../policy/policy.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { scoreRollout, type Reward, type RewardComponents } from '../../rewards/reward.js';
import { rolloutFromTrajectory } from '../../rewards/rollout.js';
import type { Trajectory } from '../../rollout/trajectory.js';
import { executedSearches } from '../../text/response.js';
import type { PolicyRun } from '../runs.js';

/** A line of `trajectories.jsonl`. There is no advantage: a policy answers each question once, so that nothing is a group. */
export interface TrajectoryLine extends Trajectory {
  /** Who answered, as the viewer shows it: the method with the model. */
  method: string;
  run: PolicyRun;
  shape: QuestionShape;
  coverage: number;
  rewards: RewardComponents;
}

/** A run's name for readers, such as `ParallelSearch (instruct)`. */
export const policyTitle = ({ method, model }: PolicyRun): string => `${methodTitle(method)} (${model})`;

/** Adds to a trajectory who answered and what it is worth. */
export function scoredLine(
  trajectory: Trajectory,
  question: Question,
  { run, rewards }: { run: PolicyRun; rewards: readonly Reward[] },
): TrajectoryLine {
  const shape = questionShape(question.metadata.graph ?? []);
  return {
    ...{ method: policyTitle(run), run },
    ...trajectory,
    shape,
    coverage: coverage(question, executedSearches(trajectory.segments)),
    rewards: scoreRollout(rewards, rolloutFromTrajectory(trajectory, question)).components,
  };
}

export interface RecordOptions {
  run: PolicyRun;
  rewards: readonly Reward[];
  /** Questions answered side by side. */
  batchSize: number;
  /** @param done questions answered so far */
  onBatch?: (done: number) => void;
}

/** Lines in the order of the questions, which must have ids of their own and graphs. */
export async function recordTrajectories(
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  { run, rewards, batchSize, onBatch }: RecordOptions,
): Promise<TrajectoryLine[]> {
  const found = new Map<string, Trajectory>();
  await evaluatePolicy(policy, retriever, questions, {
    rollout: rolloutConfigOf(run.method),
    batchSize,
    onBatch: (done, trajectories) => {
      for (const trajectory of trajectories) found.set(trajectory.questionId, trajectory);
      onBatch?.(done);
    },
  });
  return questions.map((question) => scoredLine(found.get(question.id)!, question, { run, rewards }));
}
