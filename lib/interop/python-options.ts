import type { RolloutConfig } from '../rollout/options.js';
import { INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL } from '../text/tags.js';

/** A rollout's settings by their names in Python. */
export const pythonOptions = (
  rollout: Omit<RolloutConfig, 'prompt' | 'topP' | 'retrievalTimeoutMs'>,
) => ({
  max_search_turns: rollout.maxSearchTurns,
  top_k: rollout.topK,
  split_queries: rollout.splitQueries,
  max_sub_queries: rollout.maxSubQueries,
  max_new_tokens: rollout.maxNewTokens,
  max_information_tokens: rollout.maxInformationTokens,
  ...(rollout.querySeparator && { query_separator: rollout.querySeparator }),
  ...(rollout.informationCut && { information_cut: rollout.informationCut }),
  ...(rollout.informationForm && { information_form: rollout.informationForm }),
  ...(rollout.maxPassageWords && { max_passage_words: rollout.maxPassageWords }),
  notice: rollout.promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL,
});
