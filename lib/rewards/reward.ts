import { sum } from 'd3-array';
import { questionType, type Question, type QuestionType } from '../data/question.js';
import { errorText } from '../io/system-errors.js';
import type { RewardComponents, SearchTurn, Trajectory } from '../rollout/trajectory.js';
import {
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
  type TextSegment,
} from '../text/response.js';

/** The input of rewards: a finished trajectory and the ground truth of its question. */
export interface ScoringInput {
  /** The policy's answer, or null. */
  answer: string | null;
  goldenAnswers: readonly string[];
  formatOk: boolean;
  /** The sub-queries of each executed search turn. */
  searchTurns: readonly (readonly string[])[];
  questionType: QuestionType | undefined;
  /** All segments, and the search turns with their passages, if recorded. */
  trajectory: { segments: readonly TextSegment[]; searchTurns: readonly SearchTurn[] };
  /** The question with its dependency graph; undefined if unknown. */
  question: Question | undefined;
}

type Truth = Pick<ScoringInput, 'goldenAnswers'> & Partial<Pick<ScoringInput, 'questionType'>>;

/**
 * Derives the scoring input from segments. The answer and the sub-queries are read from
 * policy segments only. A search counts if an information segment follows: Algorithm 1
 * does not execute a search in the last generation.
 */
export function scoringInputFromSegments(
  segments: readonly TextSegment[],
  { goldenAnswers, questionType }: Truth,
  { searchTurns, querySeparator }: Partial<Pick<Trajectory, 'searchTurns' | 'querySeparator'>> = {},
): ScoringInput {
  const searches = executedSearches(segments, querySeparator);
  return {
    answer: finalAnswer(segments),
    goldenAnswers,
    formatOk: formatFault(segments, querySeparator) === null,
    searchTurns: searches,
    questionType,
    trajectory: {
      segments,
      searchTurns: searchTurns ?? searches.map((queries) => ({ queries, results: [] })),
    },
    question: undefined,
  };
}

/** Derives the scoring input from a trajectory of this project. */
export function scoringInput(
  { segments, ...recorded }: Pick<Trajectory, 'segments' | 'searchTurns' | 'querySeparator'>,
  question: Question,
): ScoringInput {
  const truth = { goldenAnswers: question.goldenAnswers, questionType: questionType(question) };
  return { ...scoringInputFromSegments(segments, truth, recorded), question };
}

/** Derives the scoring input from a recorded response without its prompt. */
export const scoringInputFromTranscript = (response: string, truth: Truth): ScoringInput =>
  scoringInputFromSegments(splitTranscript(response), truth);

/** The reward of a rollout, with additional credit for each search turn. */
export interface TurnReward {
  value: number;
  /** One value per executed search turn. */
  turns: readonly number[];
}

/** A named reward function; training maximises the weighted sum of all rewards. */
export interface Reward {
  /**
   * Name of the component in records and of the metric `rewards/NAME`. Rename a reward
   * when you change `score`: run hashes cover the name, not the function, so a run would
   * otherwise resume from a checkpoint trained on the old one.
   */
  readonly name: string;
  /** Weight in the total. Default: 1; with 0, the reward is recorded but not trained. */
  readonly weight?: number;
  /** @param group all rollouts of the question, including this one */
  score(rollout: ScoringInput, group: readonly ScoringInput[]): number | TurnReward;
}

/** @throws RangeError for a missing, repeated or reserved name, or a bad weight */
export function checkRewards(rewards: readonly Reward[]): void {
  const names = rewards.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    const weight = rewards[i].weight ?? 1;
    if (!name || name === 'total' || names.indexOf(name) !== i)
      throw new RangeError(
        `Expected each reward to have a unique name other than "total", but got "${name}".`,
      );
    if (!Number.isFinite(weight))
      throw new RangeError(
        `Expected the weight of the reward "${name}" to be a number, but got ${weight}.`,
      );
  }
}

const nameQuestion = (question: ScoringInput['question']): string =>
  question ? ` on the question ${question.id} ("${question.question}")` : '';

/** Calls a user's function, which may return anything. */
function callReward(
  reward: Reward,
  rollout: ScoringInput,
  group: readonly ScoringInput[],
): TurnReward | number | null | undefined {
  try {
    return reward.score(rollout, group);
  } catch (cause) {
    throw new Error(
      `The reward "${reward.name}" failed${nameQuestion(rollout.question)}: ${errorText(cause)}`,
      { cause },
    );
  }
}

function requireFinite(what: string, value: unknown, { question }: ScoringInput): void {
  if (Number.isFinite(value)) return;
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new RangeError(
    `Expected ${what} to be a finite number${nameQuestion(question)}, but got ${shown} (${typeof value}). Return a number, or { value, turns } of numbers.`,
  );
}

function evaluateReward(
  reward: Reward,
  rollout: ScoringInput,
  group: readonly ScoringInput[],
): TurnReward {
  const returned = callReward(reward, rollout, group);
  const isTurnReward =
    typeof returned === 'object' && returned !== null && Array.isArray(returned.turns);
  const { value, turns } = isTurnReward ? returned : { value: returned, turns: [] };
  for (const number of [value, ...turns])
    requireFinite(`the reward "${reward.name}"`, number, rollout);
  const numTurns = rollout.searchTurns.length;
  if (isTurnReward && turns.length !== numTurns) {
    throw new RangeError(
      `Expected the reward "${reward.name}" to return ${numTurns} turn values, one per search turn, but got ${turns.length}.`,
    );
  }
  return { value: value as number, turns };
}

/**
 * Scores a rollout. The total is the weighted sum of the rewards (for the paper's, Eq.
 * 7), credited to the last token.
 * @param group all rollouts of the question, including this one
 * @returns `turns`: the weighted sum of turn-level values for each search turn; null if
 * no reward has any
 * @throws RangeError naming a reward with a value that is not finite, or with the wrong
 * number of turn values; the errors of {@link checkRewards}
 */
export function scoreRollout(
  rewards: readonly Reward[],
  rollout: ScoringInput,
  group: readonly ScoringInput[] = [rollout],
): { components: RewardComponents; turns: number[] | null } {
  checkRewards(rewards);
  const scores = rewards.map((reward) => ({
    ...evaluateReward(reward, rollout, group),
    name: reward.name,
    weight: reward.weight ?? 1,
  }));
  const components = Object.fromEntries(scores.map(({ name, value }) => [name, value]));
  const total = sum(scores, ({ weight, value }) => weight * value);
  requireFinite('the weighted sum of the rewards', total, rollout);
  const withTurns = scores.filter(({ turns }) => turns.length > 0);
  const turnSums = rollout.searchTurns.map((_, t) =>
    sum(withTurns, ({ weight, turns }) => weight * turns[t]),
  );
  return { components: { ...components, total }, turns: withTurns.length > 0 ? turnSums : null };
}
