/**
 * The trajectory: the structure that rollout, rewards, training, evaluation and viewer
 * share. Token ids are written once, by whatever produced them, and never re-encoded.
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
   * segments only. Absent if a server returned only text: the token ids are then
   * re-encoded, good for counting but not for training.
   */
  logProbs?: number[];
  /** The segment as chat messages, if the policy reads those. */
  messages?: Message[];
  /** Token counts reported by the server; policy segments of chat messages only. */
  usage?: TokenUsage;
}

/** One search turn: its sub-queries and their results. */
export interface SearchTurn {
  queries: string[];
  /** One per query; empty if the recording has none. */
  results: SearchResult[];
}

export type SearchResult =
  | {
      status: 'ok';
      /**
       * The passages that the policy saw. `isCut`: it saw only the beginning of the
       * passage.
       */
      passages: { id: string; title: string; score: number; isCut?: true }[];
      /** Number of passages that did not fit into the turn or the context, if any. */
      numLeftOut?: number;
      /** Set if the best score is far below that of a passage about the query. */
      isUnlike?: true;
    }
  | {
      status: 'failed';
      /** Message shown to the policy. */
      reason: string;
      /** The retriever's error, for logs; at most 200 characters. */
      detail?: string;
      /** Set if the retriever did not return in time. */
      isTimeout?: true;
    };

/** Displayed for a result with `isUnlike`. */
export const UNRELATED_PASSAGES =
  'No match: these passages share only common words with the query.';

/** Why a rollout ended without an answer, by `finish`. */
export const NO_ANSWER = {
  budget: 'No answer: out of turns.',
  length: 'No answer: the context is full.',
};

/** The value of each reward by name, before weighting, and their weighted sum. */
export type RewardComponents = Record<string, number> & { total: number };

export interface Trajectory {
  questionId: string;
  /** Empty if a recording has only the id. */
  question: string;
  goldenAnswers: string[];
  segments: Segment[];
  searchTurns: SearchTurn[];
  /** The policy's final answer, or null. */
  answer: string | null;
  /** Number of generations: search turns, invalid actions and the answer. */
  modelCalls: number;
  /**
   * `answer`, `budget`, `length`, `refused` or, in training, `timeout` (of a search). In
   * an imported transcript, the engine's stop reason, or null.
   */
  finish: string | null;
  /** The limit on search turns, if recorded. */
  maxSearchTurns?: number;
  /**
   * Separator of the sub-queries. Default: `##`, or `,` if results are labelled with
   * queries.
   */
  querySeparator?: string;
  /** Set if a reply of the policy's server was unusable: the reason. */
  refusal?: string;

  /** Undefined if neither the graph nor the benchmark's type determines it. */
  questionType?: QuestionType;
  /** Share of the independent sub-questions that were asked; absent without a graph. */
  subQuestionRecall?: number;
  rewards?: RewardComponents;
  /** One value per search turn, if a reward gives turn-level values. */
  turnRewards?: number[];
  advantage?: number;
  /** One value per search turn, if a reward gives turn-level values. */
  turnAdvantages?: number[];

  method?: string;
  step?: number;
  metadata?: QuestionMetadata;
  /** For a recording without segments: why it is unclear which text the policy wrote. */
  ambiguous?: string;
}

/** A trajectory whose optional fields are set: `With<'rewards'>`. */
export type With<Field extends keyof Trajectory> = Trajectory & Required<Pick<Trajectory, Field>>;

/** One entry per token: 1 = written by the policy, contributes to the loss. */
export function lossMask(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds.map(() => (s.kind === 'policy' ? 1 : 0)));
}

/** All token ids in order, including the prompt. */
export function tokenIds(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds);
}

/** Usage over all calls. `uncounted`: the number of calls without usage, if any. */
export interface TotalUsage extends TokenUsage {
  uncounted?: number;
}

/** Sums usage over all calls; token ids are counted where the server reported nothing. */
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

/** The text of each passage as the policy read it; empty if unknown. */
export function shownTexts(
  results: readonly (SearchResult | { status: 'unscored' })[],
  information: string,
): string[][] {
  const printed = parseInformation(information).map((result) =>
    result.status === 'ok' ? result.passages : [],
  );
  // Otherwise a result was cut before its first title, and nothing is printed for it.
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

/** Formats a line of `trajectories.jsonl`; rounds log-probabilities to four decimals. */
export function formatTrajectory(trajectory: Pick<Trajectory, 'segments'>): string {
  const rounded = (key: string, value: unknown): unknown =>
    /logProbs$/i.test(key) ? (value as number[]).map((x) => Math.round(x * 1e4) / 1e4) : value;
  return `${JSON.stringify(trajectory, rounded)}\n`;
}
