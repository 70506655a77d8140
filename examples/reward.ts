/**
 * Your own reward: the tool reward of OTC (Wang et al. 2025, arXiv 2504.14870, Eq. 6). It
 * is highest for a right answer with the fewest searches of all right answers in the
 * group.
 */
import { exactMatch, type Reward, type ScoringInput } from 'parallelsearch';

const isCorrect = ({ answer, goldenAnswers }: ScoringInput): boolean =>
  exactMatch(answer, goldenAnswers) === 1;
const numSearches = ({ searchTurns }: ScoringInput): number => searchTurns.length;

const fewSearches: Reward = {
  name: 'few_searches',
  weight: 0.5,
  score: (rollout, group) => {
    if (!isCorrect(rollout)) return 0;
    const n = numSearches(rollout);
    const fewest = Math.min(...group.filter(isCorrect).map(numSearches));
    return fewest === 0 ? Number(n === 0) : Math.sin((n * Math.PI) / (n + fewest));
  },
};

// No registration: `train --reward examples/reward.ts` uses the default export.
export default fewSearches;
