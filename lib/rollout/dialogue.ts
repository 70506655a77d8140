/**
 * How a rollout and its policy exchange segments. A policy reads either token ids
 * (`token-dialogue.ts`), which are written once and never re-encoded, or chat messages
 * (`chat-dialogue.ts`). Segments keep both, so the context of a turn is the concatenation
 * of the segments before it.
 */
import type { Random } from '../random.js';
import type { Segment, Trajectory } from './trajectory.js';

export interface Row {
  index: number;
  random: Random;
  trajectory: Trajectory;
}

export interface Refused {
  refusal: string;
}

/** Makes and cuts the segments of a rollout, in the form its policy reads. */
export interface Dialogue {
  startPrompt(question: string): Segment;
  /**
   * Generates the next segment of each row: null if the context is full, or the reason if
   * the policy's answer was unusable.
   */
  generate(rows: readonly Row[]): Promise<(Segment | Refused | null)[]>;
  /** The information segment with the results of a search, one text per query. */
  formatResults(row: Row, queries: readonly string[], texts: readonly string[]): Segment;
  /** What the policy reads after an invalid action. */
  formatNotice(row: Row): Segment;
  /** The number of tokens in a segment; estimated for chat messages. */
  countTokens(segment: Segment): number;
  /** The first `maxTokens` tokens of a text. */
  cutText(text: string, maxTokens: number): string;
  /**
   * The first `maxTokens` tokens of an information segment, without repairing its tags.
   */
  cutSegment(segment: Segment, maxTokens: number): Segment;
  /** How many tokens of information fit and leave room for the next generation. */
  roomForInformation(row: Row): number;
}
