/**
 * The trajectory: the one structure that rollout, rewards, training, evaluation and the
 * viewer share. Token ids are written once, by whoever made them, and never re-encoded.
 */
import type { QuestionMetadata, QuestionType } from '../data/question.js';
import type { TokenUsage } from '../policy/chat-policy.js';
import type { Message } from '../text/messages.js';
import type { TextSegment } from '../text/response.js';
import { oneLine, parseInformation } from '../text/tags.js';

export type SegmentKind = TextSegment['kind'];

export interface Segment extends TextSegment {
  /** Empty when read from a recording, or when the policy reads chat messages. */
  tokenIds: number[];
  /**
   * Log-probability (nats) of each token under the policy that sampled it; policy
   * segments only. Absent when a server returned only text: the ids are then an encoding
   * of it, good for counting but not for training.
   */
  logProbs?: number[];
  /** The segment as chat messages, when the policy reads those. */
  messages?: Message[];
  /** As the server counted; policy segments of chat messages only. */
  usage?: TokenUsage;
}

/** One search turn: the sub-queries and the result of each. */
export interface SearchTurn {
  queries: string[];
  /** One per query; empty when the recording has none. */
  results: SearchResult[];
}

export type SearchResult =
  | {
      status: 'ok';
      /** The passages that the policy saw; of one that `isCut`, only the beginning. */
      passages: { id: string; title: string; score: number; isCut?: true }[];
      /** Passages left out because turn or context had no room; absent if none. */
      numLeftOut?: number;
      /** The best score is far below what a passage about the query gets; else absent. */
      isUnlike?: true;
    }
  | {
      status: 'failed';
      /** Message shown to the policy. */
      reason: string;
      /** The retriever's error, for logs; at most 200 characters. */
      detail?: string;
      /** The retriever did not return in time; else absent. */
      isTimeout?: true;
    };

/** Shown for a result that `isUnlike` the query. */
export const UNRELATED_PASSAGES =
  'No match: these passages share only common words with the query.';

/** The value of each reward by name, before its weight, and their weighted sum. */
export type RewardComponents = Record<string, number> & { total: number };

export interface Trajectory {
  questionId: string;
  /** Empty when a recording has only the id. */
  question: string;
  goldenAnswers: string[];
  segments: Segment[];
  searchTurns: SearchTurn[];
  /** The policy's answer, or null. */
  answer: string | null;
  /** Generations: search turns, invalid actions and the answer. */
  modelCalls: number;
  /**
   * `answer`, `budget`, `length`, `refused`, or in training `timeout` (of a search); in
   * an imported transcript the engine's stop reason, or null.
   */
  finish: string | null;
  /** The most search turns; absent if the recording does not say. */
  maxSearchTurns?: number;
  /** Between sub-queries; absent: `##`, or `,` where queries label the results. */
  querySeparator?: string;
  /** Why an answer of the policy's server could not be used; else absent. */
  refusal?: string;

  /** Undefined when neither the graph nor the benchmark's type determines it. */
  questionType?: QuestionType;
  /** Share of the independent sub-questions asked; absent without a graph. */
  subQuestionRecall?: number;
  rewards?: RewardComponents;
  /** One value per search turn, when a reward gives turn-level values. */
  turnRewards?: number[];
  advantage?: number;
  /** One per search turn, when a reward gives turn-level values. */
  turnAdvantages?: number[];

  method?: string;
  step?: number;
  metadata?: QuestionMetadata;
  /** Why it is unclear which text of a recording without segments the policy wrote. */
  ambiguous?: string;
}

/** A trajectory in which optional fields are set, such as `With<'rewards'>`. */
export type With<Field extends keyof Trajectory> = Trajectory & Required<Pick<Trajectory, Field>>;

/** 1 = written by the policy, contributes to the loss; one entry per token. */
export function lossMask(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds.map(() => (s.kind === 'policy' ? 1 : 0)));
}

/** All token ids in order, prompt included. */
export function tokenIds(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds);
}

/** Usage over all calls, and how many of them the server did not count, if any. */
export interface TotalUsage extends TokenUsage {
  uncounted?: number;
}

/** Usage over all calls; counts token ids where the server reported none. */
export function tokenUsage({ segments }: Pick<Trajectory, 'segments'>): TotalUsage {
  const total: TotalUsage = { read: 0, written: 0 };
  let context = 0;
  for (const { kind, tokenIds, usage } of segments) {
    if (kind === 'policy' && !usage && tokenIds.length === 0)
      total.uncounted = (total.uncounted ?? 0) + 1;
    else if (kind === 'policy') {
      total.read += usage?.read ?? context;
      total.written += usage?.written ?? tokenIds.length;
    }
    context += tokenIds.length;
  }
  return total;
}

/** The text of each passage in results as the policy read it; empty if unknown. */
export function shownTexts(
  results: readonly (SearchResult | { status: 'unscored' })[],
  information: string,
): string[][] {
  const printed = parseInformation(information).map((result) =>
    result.status === 'ok' ? result.passages : [],
  );
  // A result that is cut before its first title is not among them.
  const isComplete = printed.length >= results.length;
  return results.map((result, i) =>
    result.status !== 'ok'
      ? []
      : result.passages.map(({ title }, j) => {
          const passage = isComplete
            ? printed[i][j]
            : printed.flat().find((passage) => passage.title === oneLine(title));
          return passage?.text ?? '';
        }),
  );
}

/** The text after the prompt. */
export function responseText(trajectory: Pick<Trajectory, 'segments'>): string {
  return trajectory.segments
    .filter((s) => s.kind !== 'prompt')
    .map((s) => s.text)
    .join('');
}

/** A line of `trajectories.jsonl`; log-probabilities are rounded to four decimals. */
export function formatTrajectory(trajectory: Pick<Trajectory, 'segments'>): string {
  const rounded = (key: string, value: unknown): unknown =>
    /logProbs$/i.test(key) ? (value as number[]).map((x) => Math.round(x * 1e4) / 1e4) : value;
  return `${JSON.stringify(trajectory, rounded)}\n`;
}
