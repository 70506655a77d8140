/**
 * The supervised warm-up of a language model on questions with dependency graphs: it
 * imitates an expert that searches by the graph. Two of five steps are under Search-R1's
 * prompt and sequential; two are under the parallel prompt, where a share asks
 * independent sub-questions at once (what is left is for reward to teach); one answers
 * without a search, so that the model without search is no stranger to its prompt either.
 */
import type { Question } from '../../data/question.js';
import { imitation } from '../imitation.js';
import { OnPolicyTrainer, type Algorithm } from '../on-policy.js';
import type { RewardedTrajectory } from '../rollouts.js';
import type { Sequence } from '../sequences.js';
import { lossMask, tokenIds } from '../../rollout/trajectory.js';
import { normalizeAnswer } from '../../text/normalize.js';
import type { TrainingTask } from '../trainer.js';
import { createExpert, type ExpertOptions } from './expert.js';

/**
 * Share of parallelizable questions that the parallel prompt's demonstrations ask at
 * once.
 */
const PARALLEL_SHARE = 0.3;

const wordsOf = (text: string): string[] => normalizeAnswer(text).split(' ');

/**
 * Whether every word of an answer to every sub-question was shown; what never came must
 * not be recited.
 */
function isFounded(
  { segments }: RewardedTrajectory,
  { metadata: { graph = [] } }: Question,
): boolean {
  const information = segments.filter(({ kind }) => kind === 'information');
  if (information.length === 0) return true;
  const shown = new Set(
    information.flatMap(({ text }) => wordsOf(text.replace('</information>', ''))),
  );
  return graph.every(({ answers }) =>
    answers.some((answer) => wordsOf(answer).every((word) => shown.has(word))),
  );
}

function algorithmOf({ model, questions }: TrainingTask): Algorithm<Sequence> {
  const { tokenizer, config } = model;
  const expert = (options: Pick<ExpertOptions, 'parallelShare' | 'isClosedBook'>) =>
    createExpert({ tokenizer, questions, maxLength: config.maxPositionEmbeddings, ...options });
  const mixed = {
    policy: expert({ parallelShare: PARALLEL_SHARE }),
    rollout: { prompt: 'parallel', splitQueries: true },
  };
  const bySearchR1 = {
    policy: expert({ parallelShare: 0 }),
    rollout: { prompt: 'search-r1', splitQueries: false },
  };
  const closedBook = {
    policy: expert({ parallelShare: 0, isClosedBook: true }),
    rollout: { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 },
  };
  const inTurn = [mixed, bySearchR1, mixed, bySearchR1, closedBook];
  return {
    ...imitation,
    name: 'demonstrations',
    groupSize: 1,
    decays: true,
    sampler: (step) => inTurn[step % inTurn.length],
    assess: (rewarded, { questions: asked }) => {
      const isUsed = rewarded.map((one, i) => one.finish === 'answer' && isFounded(one, asked[i]));
      return Promise.resolve({
        trajectories: rewarded.map((one, i) => ({ ...one, advantage: Number(isUsed[i]) })),
        rows: rewarded
          .filter((_, i) => isUsed[i])
          .map((one) => ({ tokenIds: tokenIds(one), lossMask: lossMask(one) })),
        metrics: { demonstrations: isUsed.filter(Boolean).length },
      });
    },
  };
}

/** @throws Error where no question has a dependency graph */
export function createDemonstrationTrainer(task: TrainingTask): OnPolicyTrainer<Sequence> {
  const questions = task.questions.filter(({ metadata }) => metadata.graph?.length);
  if (questions.length === 0)
    throw new Error(
      `Expected training questions with dependency graphs, which demonstrations are made from, but none of ${task.questions.length} ` +
        'has one. `data convert` makes graphs of the annotations of HotpotQA, 2WikiMultiHopQA and MuSiQue.',
    );
  const known = { ...task, questions };
  return new OnPolicyTrainer(known, algorithmOf(known));
}
