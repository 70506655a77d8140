/**
 * The supervised warm-up of a language model on questions with dependency graphs: it imitates an expert that searches by the graph. Half of the
 * demonstrations are under Search-R1's prompt and sequential; of the others, a share asks independent sub-questions at once. What is left is for
 * reward to teach.
 */
import type { Question } from '../../data/question.js';
import { imitation } from '../imitation.js';
import { OnPolicyTrainer, type Algorithm } from '../on-policy.js';
import type { RewardedTrajectory } from '../rollouts.js';
import type { Sequence } from '../sequences.js';
import { lossMask, tokenIds } from '../../rollout/trajectory.js';
import type { TrainingTask } from '../trainer.js';
import { createExpert } from './expert.js';

/** Share of parallelizable questions that the parallel prompt's demonstrations ask at once. */
const PARALLEL_SHARE = 0.3;

/** Whether a passage that states the answer came for every sub-question; what never came must not be recited. */
function isFounded({ searchTurns }: RewardedTrajectory, { metadata: { graph = [] } }: Question): boolean {
  const results = searchTurns.flatMap((turn) => turn.results);
  const seen = new Set(
    results.flatMap((result) => (result.status === 'ok' ? result.passages : [])).map(({ id }) => id),
  );
  return graph.every(({ evidence }) => evidence.some((id) => seen.has(id)));
}

function algorithmOf({ model, questions }: TrainingTask): Algorithm<Sequence> {
  const { tokenizer, config } = model;
  const expert = (parallelShare: number) =>
    createExpert({ tokenizer, questions, maxLength: config.maxPositionEmbeddings, parallelShare });
  const bySearchR1 = {
    policy: expert(0),
    rollout: { prompt: 'search-r1', splitQueries: false },
  };
  const mixed = { policy: expert(PARALLEL_SHARE), rollout: { prompt: 'parallel', splitQueries: true } };
  return {
    ...imitation,
    name: 'demonstrations',
    groupSize: 1,
    sampler: (step) => (step % 2 === 0 ? mixed : bySearchR1),
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
