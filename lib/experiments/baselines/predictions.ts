/** Predictions about the baselines. */
import type { Predicted } from '../results/summary.js';
import { INITIAL_MODELS } from '../../training/models.js';

export const PARALLELSEARCH = 'parallelsearch';

const AVERAGE = { benchmark: 'average', subset: 'all', model: 'all', kind: 'difference' };

export const EM_GAP = { ...AVERAGE, metric: 'em' };

export const COMPARISONS = { benchmark: 'all', subset: 'parallelizable', model: 'instruct' };

const CALLS_GAP = { ...COMPARISONS, metric: 'model_calls', kind: 'difference' };

/** Written before any of these runs had answered a question. */
const PREDICTED_LATER: readonly Predicted[] = [
  {
    prediction:
      'RAG-R1, whose prompt asks for several queries and whose reward does not, needs fewer model calls than Search-R1 on parallelizable questions (instruct)',
    figure: { ...CALLS_GAP, method: 'rag-r1:grpo', against: 'search-r1' },
    holds: ({ high }) => high < 0,
  },
  {
    prediction:
      'ParallelSearch, whose reward asks for them too, needs fewer than RAG-R1 (instruct)',
    figure: { ...CALLS_GAP, method: PARALLELSEARCH, against: 'rag-r1:grpo' },
    holds: ({ high }) => high < 0,
  },
  {
    prediction:
      'RAG-R1, rewarded for right answers only, has more of them than ParallelSearch (ParallelSearch minus RAG-R1, instruct)',
    figure: { ...EM_GAP, model: 'instruct', method: PARALLELSEARCH, against: 'rag-r1:grpo' },
    holds: ({ value }) => value < 0,
  },
  {
    prediction:
      'The format reward moves Search-R1 by at most 2 points, for its answers are well formed from the start (instruct)',
    figure: { ...EM_GAP, model: 'instruct', method: 'search-r1:format', against: 'search-r1' },
    holds: ({ value }) => Math.abs(value) <= 0.02,
  },
];

/** Claims of the baselines' own papers. */
export const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'OTC needs fewer model calls than Search-R1',
    figure: { ...AVERAGE, method: 'otc', against: 'search-r1', metric: 'model_calls' },
    holds: ({ high }) => high < 0,
  },
  {
    prediction: 'OTC loses at most 2 points of exact match to Search-R1',
    figure: { ...EM_GAP, method: 'otc', against: 'search-r1' },
    holds: ({ value }) => value >= -0.02,
  },
  {
    prediction: 'ZeroSearch, tested with real search, is at most 5 points below Search-R1',
    figure: { ...EM_GAP, method: 'zerosearch', against: 'search-r1' },
    holds: ({ value }) => value >= -0.05,
  },
  ...INITIAL_MODELS.map((model): Predicted => {
    const longChains = { benchmark: 'all', subset: 'hops_3', model };
    return {
      prediction: `StepSearch is at least as good as Search-R1 on questions of three or more hops (${model})`,
      figure: { ...EM_GAP, method: 'stepsearch', against: 'search-r1', ...longChains },
      holds: ({ value }) => value >= 0,
    };
  }),
  {
    prediction: 'Search-R1 ends alike with PPO and with GRPO (PPO minus GRPO)',
    figure: { ...EM_GAP, method: 'search-r1:ppo', against: 'search-r1' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
  {
    prediction: 'ParallelSearch ends alike with GRPO and with PPO (GRPO minus PPO)',
    figure: { ...EM_GAP, method: PARALLELSEARCH, against: 'parallelsearch:ppo' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
  ...PREDICTED_LATER,
];
