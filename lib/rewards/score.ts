/** Scoring of recorded transcripts, one JSON object at a time. */
import type { QuestionShape } from '../data/question.js';
import { parseTranscript, type RecordedTranscript } from '../rollout/recorded.js';
import { checkTrajectoryFormat } from '../text/format.js';
import { tokenF1 } from '../text/normalize.js';
import { isDecomposed } from './decomposition.js';
import { rewardInputFromSegments } from './input.js';
import type { RewardOptions } from './options.js';
import { totalReward, type RewardComponents } from './total.js';

export { parseTranscript, shapeOfType } from '../rollout/recorded.js';
export type { RecordedTranscript } from '../rollout/recorded.js';

/** The scores of one transcript. */
export interface TranscriptScore extends RewardComponents {
  id: string;
  /** Null where the line doesn't tell it: not parallelizable and not single-hop for the rewards. */
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
}

/** Exact match, F1, format, turns and every reward component of a transcript. */
export function scoreTranscript(transcript: RecordedTranscript, options: RewardOptions): TranscriptScore {
  const input = rewardInputFromSegments(transcript.segments, transcript);
  const components = totalReward(input, options);
  const verdict = checkTrajectoryFormat(transcript.segments);
  return {
    id: transcript.id,
    shape: transcript.shape ?? null,
    answer: input.answer,
    exactMatch: components.outcome === 1 ? 1 : 0,
    f1: tokenF1(input.answer, input.goldenAnswers),
    formatOk: verdict.ok,
    formatReason: verdict.reason ?? null,
    turns: input.searchTurns.length,
    decomposed: isDecomposed(input.searchTurns, options.decomposedBy),
    ...components,
  };
}

/** Scores one line of a JSONL file; throws where the line can't be read. */
export function scoreLine(line: string, options: RewardOptions): TranscriptScore {
  return scoreTranscript(parseTranscript(JSON.parse(line)), options);
}
