/**
 * Supervised training: cross-entropy on the responses to the questions that RL would
 * draw, step by step.
 *
 * - `sft` (Search-R1, arXiv 2503.09516, Table 2): gold answers, without search. Rollouts
 *   of the policy are only measured.
 * - `rejection-sampling` (same table): five rollouts of the initial model per question;
 *   the correct ones are imitated.
 * - `demonstrations` (this project): warm-up of a language model on the searches of an
 *   expert that knows the dependency graphs.
 *
 * Departure: the paper samples all rollouts before training; here sampling and training
 * alternate. Only the order differs, since the initial model is sampled.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Question } from '../data/question.js';
import type { Policy } from '../policy/policy.js';
import type { RolloutConfig } from '../rollout/options.js';
import type { Segment, Trajectory } from '../rollout/trajectory.js';
import { normalizedWords } from '../text/answer-match.js';
import { buildPrompt, encodePrompt } from '../text/prompts.js';
import { formatBlock } from '../text/tags.js';
import { createExpert, type ExpertOptions } from './expert.js';
import type { Metrics } from './metrics.js';
import { isCorrect } from './rollout-groups.js';
import { toSequence, totalWeight, type Sequence } from './sequences.js';
import {
  buildTrainer,
  TrainingSession,
  assignAdvantages,
  type Step,
  type Trainer,
  type TrainingTask,
} from './trainer.js';

/** The update of all supervised trainers. */
export const imitation = ({ settings, trained }: TrainingSession) => ({
  /** Makes one optimizer step on the mean cross-entropy of the rows' trained tokens. */
  update: async (rows: readonly Sequence[], { learningRate }: Step): Promise<Metrics> => {
    const numTokens = totalWeight(rows);
    const rates = { learningRate, maxGradNorm: settings.maxGradNorm };
    const { loss, gradNorm } = await trained.update(rows, rates, (logProbs) => ({
      loss: tf.mul<tf.Scalar>(tf.sum(logProbs), -1 / numTokens),
    }));
    return { loss, grad_norm: gradNorm };
  },
  updateMetrics: ['loss', 'grad_norm'],
});

export function createSupervisedFineTuning(task: TrainingTask): Trainer {
  const { model, config } = task;
  const session = new TrainingSession(task, 'sft');
  const { prompt, promptForm: form } = config.rollout;
  const { tokenizer } = model;
  const demonstrate = ({ question, goldenAnswers: [answer] }: Question): Sequence => {
    const asked = encodePrompt(buildPrompt(prompt, question, { form }), { form, tokenizer });
    const text = formatBlock('answer', answer);
    const segments: Segment[] = [
      { kind: 'prompt', ...asked },
      { kind: 'policy', text, tokenIds: tokenizer.encode(text) },
    ];
    return toSequence({ segments });
  };
  return buildTrainer(session, {
    isOnPolicy: true,
    prepare: ({ trajectories }, { questions }) => ({
      trajectories: assignAdvantages(trajectories, () => 1),
      rows: questions.map(demonstrate),
    }),
    ...imitation(session),
  });
}

export function createRejectionSampling(task: TrainingTask): Trainer {
  const session = new TrainingSession(task, 'rejection-sampling');
  return buildTrainer(session, {
    isOnPolicy: false,
    sampling: () => ({ policy: session.trained.useInitialPolicy() }),
    prepare: ({ trajectories }) => ({
      // For the record: imitated rollouts get advantage 1, others 0.
      trajectories: assignAdvantages(trajectories, (trajectory) => Number(isCorrect(trajectory))),
      rows: trajectories.filter(isCorrect).map(toSequence),
    }),
    ...imitation(session),
  });
}

/** Share of parallelizable questions that demonstrations decompose. */
const PARALLEL_SHARE = 0.3;

type DemonstrationPolicy = { policy: Policy; rollout: Partial<RolloutConfig> };

/** An expert for each prompt that the model will see, with its rollout settings. */
export function demonstrationPolicies(
  options: Pick<ExpertOptions, 'tokenizer' | 'questions' | 'maxLength' | 'querySeparator'>,
): Record<'parallel' | 'sequential' | 'closedBook', DemonstrationPolicy> {
  const expert = (share: Pick<ExpertOptions, 'parallelShare' | 'isClosedBook'>): Policy =>
    createExpert({ ...options, ...share });
  return {
    parallel: {
      policy: expert({ parallelShare: PARALLEL_SHARE }),
      rollout: { prompt: 'parallel', splitQueries: true },
    },
    sequential: {
      policy: expert({ parallelShare: 0 }),
      rollout: { prompt: 'search-r1', splitQueries: false },
    },
    closedBook: {
      policy: expert({ parallelShare: 0, isClosedBook: true }),
      rollout: { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 },
    },
  };
}

/** Whether an expert's rollout ends with an answer that its passages support. */
export const isDemonstration = (trajectory: Trajectory, question: Question): boolean =>
  trajectory.finish === 'answer' && isGrounded(trajectory, question);

/**
 * Of five steps, two show sequential search with Search-R1's prompt, two the parallel
 * prompt, decomposing a share of questions (the rest is left to RL), and one answers
 * without search, so that the closed-book baseline has seen its prompt.
 * @throws Error if no question has a dependency graph
 */
export function createDemonstrationTrainer(task: TrainingTask): Trainer {
  const questions = task.questions.filter(({ metadata }) => metadata.graph?.length);
  if (questions.length === 0)
    throw new Error(
      `Expected training questions with dependency graphs, but none of ${task.questions.length} has one. ` +
        '`data convert` derives graphs from the annotations of HotpotQA, 2WikiMultiHopQA and MuSiQue.',
    );
  const session = new TrainingSession({ ...task, questions }, 'demonstrations');
  const { tokenizer, config } = task.model;
  const { querySeparator } = task.config.rollout;
  const maxLength = config.maxPositionEmbeddings;
  const options = { tokenizer, questions, maxLength, querySeparator };
  const { parallel, sequential, closedBook } = demonstrationPolicies(options);
  const demonstrators = [parallel, sequential, parallel, sequential, closedBook];
  return buildTrainer(session, {
    isOnPolicy: false,
    isDecaying: true,
    sampling: ({ index }) => demonstrators[index % demonstrators.length],
    prepare: ({ trajectories }, { questions }) => {
      const isUsed = trajectories.map((trajectory, i) => isDemonstration(trajectory, questions[i]));
      if (trajectories.every(({ finish }) => finish === 'length'))
        throw new Error(
          `Expected demonstrations of at most ${maxLength} tokens, the context of ${task.config.model}, but all are longer. Use a shorter prompt (--prompt-form short) or shorter passages.`,
        );
      return {
        trajectories: assignAdvantages(trajectories, (_, i) => Number(isUsed[i])),
        rows: trajectories.filter((_, i) => isUsed[i]).map(toSequence),
        metrics: { demonstrations: isUsed.filter(Boolean).length },
      };
    },
    ...imitation(session),
  });
}

/** Whether the passages contain all answers' words: nothing unseen is trained. */
function isGrounded({ segments }: Trajectory, { metadata: { graph = [] } }: Question): boolean {
  const information = segments.filter(({ kind }) => kind === 'information');
  if (information.length === 0) return true;
  const shown = new Set(
    information.flatMap(({ text }) => normalizedWords(text.replace('</information>', ''))),
  );
  return graph.every(({ answers }) =>
    answers.some((answer) => normalizedWords(answer).every((word) => shown.has(word))),
  );
}
