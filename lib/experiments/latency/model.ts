/**
 * How long a set of sub-queries takes: a model of three costs, in which work takes turns
 * and waiting is shared.
 */

/**
 * How sub-queries are asked: a search turn for each, one turn with a request for each, or
 * one turn with one request.
 */
export const ASKING_NAMES = ['in-turns', 'one-turn', 'one-request'] as const;
export type AskingName = (typeof ASKING_NAMES)[number];

/** A set of sub-queries and the way in which it is asked. */
export interface Asking {
  method: AskingName;
  /** Most requests on the way at a time; null where there is only ever one. */
  limit: number | 'unlimited' | null;
  numQueries: number;
}

/** What a request costs, milliseconds. */
export interface RequestCosts {
  /**
   * Asking and answering, however many queries are in the request: our own code, HTTP,
   * JSON.
   */
  callMs: number;
  /** Searching, for each query. */
  serviceMs: number;
  /** Waiting, in which nobody works. */
  delayMs: number;
}

/**
 * Wall clock of equal requests, milliseconds, of which at most `limit` are on the way
 * at a time. Each first works for `workMs`, then waits for `delayMs`; one works at a
 * time, all may wait at once. So `limit` 1 takes the sum of all, and no limit takes all
 * the work and one wait.
 */
export function requestsMs(
  numRequests: number,
  { limit, workMs, delayMs }: { limit: number; workMs: number; delayMs: number },
): number {
  const ends: number[] = [];
  let workEnd = 0;
  for (let i = 0; i < numRequests; i++) {
    const freeAt = i < limit ? 0 : ends[i - limit];
    workEnd = Math.max(workEnd, freeAt) + workMs;
    ends.push(workEnd + delayMs);
  }
  return ends.at(-1) ?? 0;
}

/** Where the predicted time goes, milliseconds; the three add up to the wall clock. */
export interface PredictedTime {
  callMs: number;
  serviceMs: number;
  /** The part of all waiting during which nothing else is done. */
  waitingMs: number;
  totalMs: number;
}

/** The time that the model gives a set of sub-queries. */
export function predictTime(
  { method, limit, numQueries }: Asking,
  costs: RequestCosts,
): PredictedTime {
  const isOne = method === 'one-request';
  const [numRequests, perRequest] = isOne ? [1, numQueries] : [numQueries, 1];
  const most = method === 'one-turn' ? (typeof limit === 'number' ? limit : Infinity) : 1;
  const workMs = costs.callMs + perRequest * costs.serviceMs;
  const totalMs = requestsMs(numRequests, { limit: most, workMs, delayMs: costs.delayMs });
  const [callMs, serviceMs] = [numRequests * costs.callMs, numQueries * costs.serviceMs];
  return { callMs, serviceMs, waitingMs: Math.max(0, totalMs - callMs - serviceMs), totalMs };
}

/**
 * A whole question, milliseconds: every search turn and the answer cost a call of the
 * model. In turns that is a call for each sub-query and one more; together it is two.
 */
export function questionMs(
  { method, numQueries }: Pick<Asking, 'method' | 'numQueries'>,
  { searchMs, generationMs }: { searchMs: number; generationMs: number },
): number {
  return modelCalls({ method, numQueries }) * generationMs + searchMs;
}

/**
 * Calls of the model for a question of independent sub-queries: one for each search turn,
 * one for the answer.
 */
export function modelCalls({ method, numQueries }: Pick<Asking, 'method' | 'numQueries'>): number {
  return (method === 'in-turns' ? numQueries : 1) + 1;
}
