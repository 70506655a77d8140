/**
 * Your own method: least-to-most prompting (Zhou et al. 2022, arXiv 2205.10625) with
 * search. It searches for one part of a question at a time, the easiest first, and trains
 * with Search-R1's rewards.
 */
import { METHODS, type Method } from 'parallelsearch';

export const leastToMost: Method = {
  name: 'least-to-most',
  title: 'Least-to-most',
  source: 'Zhou et al. 2022, arXiv 2205.10625',
  prompt: {
    name: 'least-to-most',
    full:
      'Answer the given question. Inside <think> and </think>, first break it down into simpler sub-questions. Then ask a search ' +
      'engine for them one by one, the easiest first, by <search> query </search>; the results come between <information> and ' +
      '</information>. At the end, answer inside <answer> and </answer>, without detailed illustrations. ',
    short: 'Answer with search, the easiest part first. ',
  },
  rollout: { prompt: 'least-to-most', splitQueries: false, maxSearchTurns: 6 },
  training: { trainer: 'grpo', rewards: 'search-r1' },
};

// Registration. In this repository, add an entry in lib/training/methods.ts.
METHODS.add(leastToMost);
