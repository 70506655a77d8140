/**
 * The two rows of Search-R1 (Jin et al. 2025, arXiv 2503.09516, Table 2) that learn by
 * supervision. Both are trained a step at a time on the questions that reinforcement
 * would draw, with cross-entropy over the tokens of the answer side.
 *
 * - Supervised fine-tuning (`sft`): gold answers, without search. The policy's own
 *   rollouts are only looked at.
 * - Rejection sampling (`rejection-sampling`): five rollouts of the initial model for
 *   each question; those with the right answer are imitated.
 *
 * Departure: there, all rollouts are sampled first and learned from afterwards; here step
 * by step, which is the same but for the order, since it is always the initial model that
 * is sampled.
 */
import * as tf from '@tensorflow/tfjs-core';
import { lossMask, tokenIds } from '../rollout/trajectory.js';
import { buildPrompt } from '../text/prompts.js';
import { printBlock } from '../text/tags.js';
import { OnPolicyTrainer, type Algorithm } from './on-policy.js';
import type { RewardedTrajectory } from './rollouts.js';
import type { Sequence } from './sequences.js';
import { encodePieces, totalWeight } from './supervised.js';
import type { TrainingTask } from './trainer.js';

/** Cross-entropy, mean over the tokens of a mini-batch. */
export const imitation: Pick<Algorithm<Sequence>, 'metrics' | 'update'> = {
  metrics: ['loss', 'grad_norm'],
  update: async (rows, { config, trained, learningRate }) => {
    const numTokens = totalWeight(rows);
    const step = { learningRate, maxGradNorm: config.grpo.maxGradNorm };
    const { loss, gradNorm } = await trained.update(rows, step, (logProbs) =>
      tf.mul<tf.Scalar>(tf.sum(logProbs), -1 / numTokens),
    );
    return { loss, grad_norm: gradNorm };
  },
};

export const isRight = ({ rewards }: RewardedTrajectory): boolean => rewards.outcome === 1;

/** Search-R1's candidates of a question. */
export const CANDIDATES = 5;

const rejectionSampling: Algorithm<Sequence> = {
  ...imitation,
  name: 'rejection-sampling',
  groupSize: CANDIDATES,
  samplesInitial: true,
  assess: (rewarded) =>
    Promise.resolve({
      // What is imitated weighs 1, the rest nothing.
      trajectories: rewarded.map((one) => ({ ...one, advantage: Number(isRight(one)) })),
      rows: rewarded
        .filter(isRight)
        .map((right) => ({ tokenIds: tokenIds(right), lossMask: lossMask(right) })),
    }),
};

const supervisedFineTuning = ({ model: { tokenizer } }: TrainingTask): Algorithm<Sequence> => ({
  ...imitation,
  name: 'sft',
  groupSize: 1,
  assess: (rewarded, { questions, config: { rollout } }) =>
    Promise.resolve({
      trajectories: rewarded.map((one) => ({ ...one, advantage: 1 })),
      rows: questions.map(({ question, goldenAnswers: [answer] }) =>
        encodePieces(
          [
            {
              text: buildPrompt(rollout.prompt, question, { form: rollout.promptForm }),
              weight: 0,
            },
            { text: printBlock('answer', answer), weight: 1 },
          ],
          tokenizer,
        ),
      ),
    }),
});

export const createRejectionSampling = (task: TrainingTask): OnPolicyTrainer<Sequence> =>
  new OnPolicyTrainer(task, rejectionSampling);

export const createSupervisedFineTuning = (task: TrainingTask): OnPolicyTrainer<Sequence> =>
  new OnPolicyTrainer(task, supervisedFineTuning(task));
