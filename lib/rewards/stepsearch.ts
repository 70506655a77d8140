/**
 * StepSearch (Wang et al. 2025, arXiv 2505.15107; github.com/Zillwang/StepSearch,
 * `qa_step.py`). At the end: F1 of the answer plus 0.618 times the key-word match of the
 * searches, or -1 without an answer. For each search turn: information gain minus
 * redundancy,
 *
 *     gain of turn t       = mean over gold passages of max(match in t - best before, 0)
 *     redundancy of turn t = share of its passages seen before, also within t
 *
 * Departures:
 * 1. Gold passages are matched by id, so a match is 0 or 1; the code uses the cosine
 *    similarity of words. A sub-question's gold passages are alternatives: one is enough.
 * 2. The key words of a sub-question are one wording of its ideal query and keep their
 *    best match; the code keeps the latest.
 * 3. Step rewards have weight 1 as in the paper. The code adds 0.6 times the reward in
 *    place, which acts as 1.6.
 */
import { mean, sum } from 'd3-array';
import { tokenF1 } from '../text/answer-match.js';
import { outcome } from './parallelsearch.js';
import type { Reward, ScoringInput } from './reward.js';

const KEY_WORDS_WEIGHT = 0.618;

const passagesByTurn = ({ trajectory }: ScoringInput): string[][] =>
  trajectory.searchTurns.map(({ results }) =>
    results.flatMap((result) =>
      result.status === 'ok' ? result.passages.map(({ id }) => id) : [],
    ),
  );

/** The gain of each turn; `gold` has the gold passages of each sub-question, as ids. */
export function informationGains(
  turns: readonly (readonly string[])[],
  gold: readonly (readonly string[])[],
): number[] {
  const covered = new Set<number>();
  return turns.map((passages) => {
    const isNew = (part: number): boolean =>
      !covered.has(part) && gold[part].some((id) => passages.includes(id));
    const fresh = gold.flatMap((_, part) => (isNew(part) ? [part] : []));
    fresh.forEach((part) => covered.add(part));
    return gold.length === 0 ? 0 : fresh.length / gold.length;
  });
}

/** The share of each turn's passages that were already seen. */
export function redundancies(turns: readonly (readonly string[])[]): number[] {
  const seen = new Set<string>();
  return turns.map((passages) => {
    const repeated = passages.filter((id) => seen.size === seen.add(id).size);
    return passages.length === 0 ? 0 : repeated.length / passages.length;
  });
}

/** The mean over key words of their best F1 with any search. */
export function keyWordMatch(searches: readonly string[], keyWords: readonly string[]): number {
  const best = keyWords.map(() => 0);
  for (const search of searches) {
    const matches = keyWords.map((words) => tokenF1(search, [words]));
    const most = matches.indexOf(Math.max(...matches));
    if (most >= 0) best[most] = Math.max(best[most], matches[most]);
  }
  return mean(best) ?? 0;
}

const questionGraph = ({ question }: ScoringInput) => question?.metadata.graph ?? [];
const turnGains = (rollout: ScoringInput): number[] =>
  informationGains(
    passagesByTurn(rollout),
    questionGraph(rollout).map(({ evidence }) => evidence),
  );
const turnRedundancies = (rollout: ScoringInput): number[] => redundancies(passagesByTurn(rollout));

/** Credits answer F1 and key words to all tokens, step rewards to their turn's tokens. */
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
      const keyWords = questionGraph(rollout).map(({ query }) => query);
      return rollout.answer === null ? 0 : keyWordMatch(rollout.searchTurns.flat(), keyWords);
    },
  },
  {
    name: 'steps',
    score: (rollout) => {
      const redundancies = turnRedundancies(rollout);
      const isScored = rollout.answer !== null && questionGraph(rollout).length > 0;
      return {
        value: 0,
        turns: turnGains(rollout).map((gain, t) => (isScored ? gain - redundancies[t] : 0)),
      };
    },
  },
  // The two parts of the step reward are recorded as metrics.
  { name: 'information_gain', weight: 0, score: (rollout) => sum(turnGains(rollout)) },
  { name: 'redundancy', weight: 0, score: (rollout) => sum(turnRedundancies(rollout)) },
];
