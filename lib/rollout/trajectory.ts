/**
 * The trajectory: the one structure that rollout, rewards, training, evaluation and the
 * viewer share. Token ids are written once, by whoever made them, and never decoded and
 * encoded again.
 */
export type SegmentKind = 'prompt' | 'policy' | 'information' | 'notice';

export interface Segment {
  kind: SegmentKind;
  tokenIds: number[];
  text: string;
  /**
   * Log-probability (nats) of each token under the policy that sampled it; policy
   * segments only. Absent where a server told nothing but text: then the ids are an
   * encoding of it, good for counting and of no use for training.
   */
  logProbs?: number[];
}

/**
 * What the environment did in one search turn: the sub-queries and what came back for
 * each.
 */
export interface SearchTurn {
  queries: string[];
  results: SearchResult[];
}

export type SearchResult =
  | {
      status: 'ok';
      /** Those that the policy saw. */
      passages: { id: string; title: string; score: number }[];
      /**
       * Passages found but left out, since the context had no room for them; absent where
       * there were none.
       */
      numLeftOut?: number;
      /**
       * The best passage scores far below one that is about the query's words; absent
       * where it does not, or nobody knows.
       */
      isUnlike?: true;
    }
  | {
      status: 'failed';
      /** What the policy was told. */
      reason: string;
      /**
       * What the retriever said of it, for people: at most 200 characters of somebody
       * else's words.
       */
      detail?: string;
    };

export interface Trajectory {
  questionId: string;
  question: string;
  goldenAnswers: string[];
  segments: Segment[];
  searchTurns: SearchTurn[];
  /** What the policy answered, or null. */
  answer: string | null;
  /** Generations asked of the policy: search turns, invalid actions and the answer. */
  modelCalls: number;
  finish: 'answer' | 'budget' | 'length';
}

/**
 * 1 = the token was written by the policy and contributes to the loss; follows `segments`
 * token by token.
 */
export function lossMask(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds.map(() => (s.kind === 'policy' ? 1 : 0)));
}

/** All token ids in order, prompt included. */
export function tokenIds(trajectory: Pick<Trajectory, 'segments'>): number[] {
  return trajectory.segments.flatMap((s) => s.tokenIds);
}

/**
 * Tokens that a policy read and wrote, as servers count and charge them: every call reads
 * the whole context.
 */
export interface TokenUsage {
  read: number;
  written: number;
}

export function tokenUsage({ segments }: Pick<Trajectory, 'segments'>): TokenUsage {
  const usage = { read: 0, written: 0 };
  let context = 0;
  for (const { kind, tokenIds } of segments) {
    if (kind === 'policy') {
      usage.read += context;
      usage.written += tokenIds.length;
    }
    context += tokenIds.length;
  }
  return usage;
}

/** Text after the prompt as the policy and the environment wrote it. */
export function responseText(trajectory: Pick<Trajectory, 'segments'>): string {
  return trajectory.segments
    .filter((s) => s.kind !== 'prompt')
    .map((s) => s.text)
    .join('');
}

/**
 * A line of `trajectories.jsonl`: a trajectory with whatever is recorded beside it;
 * log-probabilities to four places.
 */
export function printTrajectory<Line extends Pick<Trajectory, 'segments'>>(line: Line): string {
  const rounded = (key: string, value: unknown): unknown =>
    key === 'logProbs' ? (value as number[]).map((x) => Math.round(x * 1e4) / 1e4) : value;
  return `${JSON.stringify(line, rounded)}\n`;
}
