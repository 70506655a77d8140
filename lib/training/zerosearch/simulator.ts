/**
 * Training of the policy that plays the search engine in ZeroSearch (Sun et al. 2025,
 * arXiv 2505.04588, Sec. 3.2): the initial model answers questions with the real search
 * engine; what came back for a query is imitated, as useful documents where it states
 * what the query asks for and as noisy ones where it does not.
 *
 * Departures: there, all answers are sampled first and learned from afterwards; here step
 * by step, which is the same but for the order, since it is always the initial model that
 * is sampled. There, the documents of a right answer are useful and those of a wrong one
 * noisy, as here without a graph: small policies answer too few questions to learn from
 * those alone. For the same reason what states it stands first.
 */
import { sort } from 'd3-array';
import type { Passage, Question } from '../../data/question.js';
import { parseInformation } from '../../text/tags.js';
import { CANDIDATES, imitation, isRight } from '../imitation.js';
import { OnPolicyTrainer, type Algorithm } from '../on-policy.js';
import { groupsOf, type RewardedTrajectory } from '../rollouts.js';
import type { Sequence } from '../sequences.js';
import { encodePieces } from '../supervised.js';
import type { TrainingTask } from '../trainer.js';
import { areTrue, documentsPrompt, printDocuments } from './documents.js';

type PrintedPassage = Pick<Passage, 'title' | 'text'>;

/**
 * Each query that was answered in a trajectory, with the documents that the policy was
 * shown.
 */
function searchesOf({ segments, searchTurns }: RewardedTrajectory) {
  const shown = segments.filter(({ kind }) => kind === 'information');
  return searchTurns.flatMap(({ queries }, turn) => {
    const results = parseInformation(shown[turn].text);
    return queries.flatMap((query, i) => {
      const result = results[i];
      return result?.status === 'ok' && result.passages.length > 0
        ? [{ query, passages: result.passages }]
        : [];
    });
  });
}

const simulator = ({ model: { tokenizer }, config }: TrainingTask): Algorithm<Sequence> => {
  const rowsOf = (one: RewardedTrajectory, question: Question): Sequence[] =>
    searchesOf(one).map(({ query, passages }) => {
      const isTrue = (some: readonly PrintedPassage[]): boolean | null =>
        areTrue(query, some, question);
      const kind = (isTrue(passages) ?? isRight(one)) ? 'useful' : 'noisy';
      const prompt = documentsPrompt(kind, query, question, config.rollout.promptForm);
      const ordered = sort(passages, (passage) => Number(!isTrue([passage])));
      const pieces = [
        { text: prompt, weight: 0 },
        { text: printDocuments(ordered), weight: 1 },
      ];
      return encodePieces(pieces, tokenizer);
    });
  return {
    ...imitation,
    name: 'zerosearch-simulator',
    groupSize: CANDIDATES,
    samplesInitial: true,
    assess: (rewarded, { questions, groupSize }) =>
      Promise.resolve({
        trajectories: rewarded.map((one) => ({ ...one, advantage: 1 })),
        rows: groupsOf(rewarded, groupSize).flatMap((group, g) =>
          group.flatMap((one) => rowsOf(one, questions[g])),
        ),
      }),
  };
};

export const createSimulatorTraining = (task: TrainingTask): OnPolicyTrainer<Sequence> =>
  new OnPolicyTrainer(task, simulator(task));
