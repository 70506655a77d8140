/** Scoring of recorded transcripts. */
import type { QuestionShape } from '../data/question.js';
import type { RecordedRun } from '../rollout/recorded.js';
import { formatFault } from '../text/response.js';
import { exactMatch, tokenF1 } from '../text/normalize.js';
import { isDecomposed } from './decomposition.js';
import type { RewardOptions } from './options.js';
import { rewardsFrom } from './presets.js';
import { scoreRollout, type RewardComponents } from './reward.js';
import { rolloutFromSegments } from './rollout.js';

/** The scores of one transcript. */
export interface TranscriptScore {
  id: string;
  /**
   * Null where the line doesn't tell it: not parallelizable and not single-hop for the
   * rewards.
   */
  shape: QuestionShape | null;
  answer: string | null;
  exactMatch: 0 | 1;
  f1: number;
  formatOk: boolean;
  /** Why the format is not right, else null. */
  formatReason: string | null;
  /** Executed search turns. */
  turns: number;
  /** Decomposed in the sense of the options: in any search turn, or in the first. */
  decomposed: boolean;
  rewards: RewardComponents;
  /**
   * Why the transcript does not tell who wrote what, else null: then information in doubt
   * counts as the policy's own.
   */
  ambiguous: string | null;
}

/**
 * Exact match, F1, format, turns and every component of the reward (Eq. 3 to 7) of a
 * transcript.
 */
export function scoreTranscript(
  transcript: Pick<
    RecordedRun,
    'id' | 'goldenAnswers' | 'segments' | 'shape' | 'searchTurns' | 'ambiguous'
  >,
  options: RewardOptions,
): TranscriptScore {
  const rollout = rolloutFromSegments(transcript.segments, transcript, transcript.searchTurns);
  const { answer, goldenAnswers, searchTurns } = rollout;
  const formatReason = formatFault(transcript.segments);
  return {
    id: transcript.id,
    shape: transcript.shape ?? null,
    answer,
    exactMatch: exactMatch(answer, goldenAnswers),
    f1: tokenF1(answer, goldenAnswers),
    formatOk: formatReason === null,
    formatReason,
    turns: searchTurns.length,
    decomposed: isDecomposed(searchTurns, options.decomposedBy),
    rewards: scoreRollout(rewardsFrom(options), rollout).components,
    ambiguous: transcript.ambiguous ?? null,
  };
}
