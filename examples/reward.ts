/**
 * A reward of one's own: the tool reward of OTC (Wang et al. 2025, arXiv 2504.14870,
 * Eq. 6), which is highest for right answers with as few searches as any right answer in
 * the group needed.
 */
import type { Reward, ScoringInput } from '../lib/index.js';
import { exactMatch } from '../lib/text/normalize.js';

const isRight = ({ answer, goldenAnswers }: ScoringInput): boolean =>
  exactMatch(answer, goldenAnswers) === 1;
const numSearches = ({ searchTurns }: ScoringInput): number => searchTurns.length;

const fewSearches: Reward = {
  name: 'few_searches',
  weight: 0.5,
  score: (rollout, group) => {
    if (!isRight(rollout)) return 0;
    const own = numSearches(rollout);
    const fewest = Math.min(...group.filter(isRight).map(numSearches));
    return fewest === 0 ? Number(own === 0) : Math.sin((own * Math.PI) / (own + fewest));
  },
};

// The one line of registration. A file's default export is used without a list: train
// --reward examples/reward.ts
export default fewSearches;
