/** The course of a training, seen on dev questions. */
import { mean } from 'd3-array';
import type { Question } from '../data/question.js';
import { answerQuestions } from '../evaluation/evaluate.js';
import type { TrainConfig } from '../training/config.js';
import { loadLocalPolicy } from '../policy/model-folder.js';
import { presetRewards } from '../rewards/presets.js';
import { scoreRollout, scoringInput } from '../rewards/reward.js';
import type { Retriever } from '../retrieval/retriever.js';

const BATCH_SIZE = 48;

/**
 * A point of the dev curve: what the adapter after so many steps gets, greedily; after
 * none, the model itself.
 */
export interface DevPoint {
  step: number;
  reward: number;
  outcome: number;
  /** Share of the parallelizable questions that are decomposed. */
  decomposition: number;
  modelCalls: number;
}

/**
 * Answers questions with an adapter and scores the answers by the rewards that it was
 * trained with.
 */
export async function tryAdapter(
  {
    config,
    model,
    adapter,
    step,
  }: { config: TrainConfig; model: string; adapter?: string; step: number },
  questions: readonly Question[],
  { retriever, batchSize = BATCH_SIZE }: { retriever: Retriever; batchSize?: number },
): Promise<DevPoint> {
  const policy = await loadLocalPolicy(model, { adapter });
  const { preset, ...overrides } = config.rewards;
  const rewards = presetRewards(preset, overrides);
  const points = await answerQuestions(policy, retriever, questions, {
    rollout: config.rollout,
    batchSize,
    keep: (question, trajectory) => {
      const rollout = scoringInput(trajectory, question);
      const { components } = scoreRollout(rewards, rollout);
      const isDecomposed = rollout.searchTurns.some((queries) => queries.length > 1);
      return {
        reward: components.total,
        outcome: components.outcome,
        modelCalls: trajectory.modelCalls,
        decomposed: rollout.questionType === 'parallelizable' ? Number(isDecomposed) : undefined,
      };
    },
  });
  policy.dispose();
  return {
    step,
    reward: mean(points, ({ reward }) => reward)!,
    outcome: mean(points, ({ outcome }) => outcome)!,
    decomposition: mean(points, ({ decomposed }) => decomposed) ?? 0,
    modelCalls: mean(points, ({ modelCalls }) => modelCalls)!,
  };
}
