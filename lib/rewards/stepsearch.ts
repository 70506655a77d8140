/**
 * StepSearch (Wang et al. 2025, arXiv 2505.15107; github.com/Zillwang/StepSearch,
 * `qa_step.py`). At the end: F1 of the answer plus 0.618 times how well the searches hold
 * the key words, or -1 without an answer. For each search turn: information gain minus
 * redundancy,
 *
 *     gain of turn t       = mean over gold passages of max(match in t - best match before t, 0)
 *     redundancy of turn t = share of its passages that an earlier turn brought, or it itself
 *
 * Departures: gold passages are known by their ids, so a match is 0 or 1, where the code
 * takes the cosine of their words; a sub-question has as many gold passages as state its
 * answer, of which one is enough. Key words are the ideal query of each sub-question, one
 * wording of it, and keep their best match, where the code keeps the latest. The step
 * rewards weigh 1 as in the paper; the code's 0.6 is added in place to what it scales,
 * and so acts as 1.6.
 */
import { mean, sum } from 'd3-array';
import { tokenF1 } from '../text/normalize.js';
import { outcome } from './outcome.js';
import type { Reward } from './reward.js';
import type { Rollout } from './rollout.js';

const KEY_WORDS_WEIGHT = 0.618;

/** Ids of the passages that each search turn brought. */
const passagesByTurn = ({ trajectory }: Rollout): string[][] =>
  trajectory.searchTurns.map(({ results }) =>
    results.flatMap((result) =>
      result.status === 'ok' ? result.passages.map(({ id }) => id) : [],
    ),
  );

/**
 * Information gain of each search turn, given the passages that each brought and those
 * that are enough for each part of the question.
 */
export function informationGains(
  turns: readonly (readonly string[])[],
  gold: readonly (readonly string[])[],
): number[] {
  const found = new Set<number>();
  return turns.map((passages) => {
    const isNew = (part: number): boolean =>
      !found.has(part) && gold[part].some((id) => passages.includes(id));
    const fresh = gold.flatMap((_, part) => (isNew(part) ? [part] : []));
    fresh.forEach((part) => found.add(part));
    return gold.length === 0 ? 0 : fresh.length / gold.length;
  });
}

/** Share of each search turn's passages that were there before. */
export function redundancies(turns: readonly (readonly string[])[]): number[] {
  const seen = new Set<string>();
  return turns.map((passages) => {
    const repeated = passages.filter((id) => seen.size === seen.add(id).size);
    return passages.length === 0 ? 0 : repeated.length / passages.length;
  });
}

/**
 * How well the searches hold the key words: each search counts for those that it is most
 * like, and each of these by its best F1.
 */
export function keyWordMatch(searches: readonly string[], keyWords: readonly string[]): number {
  const best = keyWords.map(() => 0);
  for (const search of searches) {
    const matches = keyWords.map((words) => tokenF1(search, [words]));
    const most = matches.indexOf(Math.max(...matches));
    if (most >= 0) best[most] = Math.max(best[most], matches[most]);
  }
  return mean(best) ?? 0;
}

const graphOf = ({ question }: Rollout) => question?.metadata.graph ?? [];
const gainsOf = (rollout: Rollout): number[] =>
  informationGains(
    passagesByTurn(rollout),
    graphOf(rollout).map(({ evidence }) => evidence),
  );
const redundanciesOf = (rollout: Rollout): number[] => redundancies(passagesByTurn(rollout));

/**
 * The rewards of StepSearch; the answer's F1 and the key words count for all tokens, the
 * steps for those of their own turn.
 */
export const stepSearch = (): Reward[] => [
  { ...outcome(), weight: 0 },
  {
    name: 'answer_f1',
    score: ({ answer, goldenAnswers }) => (answer === null ? -1 : tokenF1(answer, goldenAnswers)),
  },
  {
    name: 'key_words',
    weight: KEY_WORDS_WEIGHT,
    score: (rollout) => {
      const keyWords = graphOf(rollout).map(({ query }) => query);
      return rollout.answer === null ? 0 : keyWordMatch(rollout.searchTurns.flat(), keyWords);
    },
  },
  {
    name: 'steps',
    score: (rollout) => {
      const lost = redundanciesOf(rollout);
      const isScored = rollout.answer !== null && graphOf(rollout).length > 0;
      return {
        value: 0,
        turns: gainsOf(rollout).map((gain, t) => (isScored ? gain - lost[t] : 0)),
      };
    },
  },
  // What the steps are made of, to look at.
  { name: 'information_gain', weight: 0, score: (rollout) => sum(gainsOf(rollout)) },
  { name: 'redundancy', weight: 0, score: (rollout) => sum(redundanciesOf(rollout)) },
];
