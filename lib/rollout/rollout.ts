/**
 * Algorithm 1: generate until a search or an answer, run all sub-queries at once, append
 * the results, repeat. Rows advance together, one turn at a time, so that the sub-queries
 * of all rollouts form one batch.
 *
 * Two details follow the authors' code, where Algorithm 1 leaves them open:
 * 1. After the last search turn one more generation may answer; a search in it is not
 *    run.
 * 2. A turn without a valid action counts as a turn.
 */
import type { Question } from '../data/question.js';
import { interruptSignal } from '../interrupt.js';
import type { AnyPolicy } from '../policy/chat-policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { isTimedOut, searchAll, type SearchOutcome } from '../retrieval/search.js';
import { finalAnswer } from '../text/response.js';
import { nextAction, type PrintedResult } from '../text/tags.js';
import { cutWords } from '../text/words.js';
import { createDialogue, type Dialogue, type Row } from './dialogue.js';
import type { RolloutOptions, SimulatedQuery } from './options.js';
import type { SearchResult, Segment, Trajectory } from './trajectory.js';

type RunOptions = RolloutOptions & { randoms: readonly Random[] };

export interface RolloutStats {
  /** Queries sent to the retriever. */
  retrievalsRequested: number;
  /** Those that failed, other than by timeout. */
  retrievalsFailed: number;
  retrievalsTimedOut: number;
  /** Seconds from the start to the end of each rollout. */
  rolloutSeconds: number[];
}

/** `finish` is `budget` until it changes. */
const startTrajectory = (
  { id, question, goldenAnswers }: Question,
  { maxSearchTurns }: RolloutOptions,
): Trajectory => ({
  questionId: id,
  question,
  goldenAnswers,
  segments: [],
  searchTurns: [],
  answer: null,
  modelCalls: 0,
  finish: 'budget',
  maxSearchTurns,
});

function append({ index, trajectory }: Row, segment: Segment, { onSegment }: RolloutOptions): void {
  trajectory.segments.push(segment);
  onSegment?.(segment, index, trajectory.searchTurns);
}

/**
 * Generates a turn for each row. Rows without room for it finish with `length`, those
 * whose answer could not be used with `refused`.
 */
async function generateTurn(
  rows: readonly Row[],
  dialogue: Dialogue,
  options: RolloutOptions,
): Promise<Row[]> {
  const segments = await dialogue.generate(rows);
  return rows.filter((row, i) => {
    const segment = segments[i];
    if (!segment) {
      row.trajectory.finish = 'length';
      return false;
    }
    if ('refusal' in segment) {
      Object.assign(row.trajectory, { finish: 'refused', refusal: segment.refusal });
      return false;
    }
    append(row, segment, options);
    row.trajectory.modelCalls++;
    if (nextAction(segment.text).kind === 'answer') row.trajectory.finish = 'answer';
    return true;
  });
}

/** The sub-queries to run for a policy's text; null if its action is not a search. */
export function parseQueries(
  policyText: string,
  options: Pick<RolloutOptions, 'splitQueries' | 'maxSubQueries'>,
): string[] | null {
  const action = nextAction(policyText);
  if (action.kind !== 'search') return null;
  return options.splitQueries
    ? action.queries.slice(0, options.maxSubQueries)
    : [action.queries.join(' ')];
}

/**
 * Below this fraction of the full score, the best passage shares only common words with
 * the query. Catches nearly all queries about things missing from the corpus, and about
 * 1 % of valid ones.
 */
const MIN_SCORE_FRACTION = 0.1;

/** Shown to the policy when a search fails; the server's own error is only recorded. */
const NO_ANSWER = { status: 'failed', reason: 'the search engine gave no answer.' } as const;

/** The record of an outcome whose `depth` best passages were shown. */
function toSearchResult(outcome: SearchOutcome, depth: number, fullScore = 0): SearchResult {
  if (outcome.status === 'failed')
    return {
      ...NO_ANSWER,
      detail: outcome.reason.replace(/\p{C}+/gu, ' ').slice(0, 200),
      ...(isTimedOut(outcome) && { isTimeout: true }),
    };
  const passages = outcome.passages
    .slice(0, depth)
    .map(({ passage: { id, title }, score }) => ({ id, title, score }));
  const numLeftOut = outcome.passages.length - passages.length;
  const isUnlike = passages.length > 0 && passages[0].score < MIN_SCORE_FRACTION * fullScore;
  return {
    status: 'ok',
    passages,
    ...(numLeftOut > 0 ? { numLeftOut } : {}),
    ...(isUnlike ? { isUnlike } : {}),
  };
}

/** The `depth` best passages of a sub-query, as the policy sees them. */
const shownResult = (
  outcome: SearchOutcome,
  depth: number,
  { maxPassageWords = Infinity }: Pick<RolloutOptions, 'maxPassageWords'>,
): PrintedResult =>
  outcome.status === 'failed'
    ? NO_ANSWER
    : {
        status: 'ok',
        passages: outcome.passages
          .slice(0, depth)
          .map(({ passage: { title, text } }) => ({
            title,
            text: cutWords(text, maxPassageWords),
          })),
      };

/** Appends the results: as many passages per query as there is room for, at least one. */
function appendInformation(
  row: Row,
  { queries, outcomes }: { queries: string[]; outcomes: readonly SearchOutcome[] },
  { dialogue, retriever }: { dialogue: Dialogue; retriever: Retriever },
  options: RolloutOptions,
): void {
  const maxTokens = dialogue.roomForInformation(row);
  const print = (depth: number): Segment =>
    dialogue.formatResults(
      row,
      queries,
      outcomes.map((outcome) => shownResult(outcome, depth, options)),
    );
  let depth = options.topK;
  let segment = print(depth);
  while (depth > 1 && dialogue.countTokens(segment) > maxTokens) segment = print(--depth);
  const results = outcomes.map((outcome, i) =>
    toSearchResult(outcome, depth, retriever.fullScore?.(queries[i])),
  );
  row.trajectory.searchTurns.push({ queries, results });
  append(row, segment, options);
}

type Search = (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;

/** The search of all turns, which counts in `stats` and keeps to the deadline. */
function createSearch(
  retriever: Retriever,
  { search, topK, retrievalTimeoutMs: timeoutMs, cache, signal, ...options }: RolloutOptions,
  stats: RolloutStats,
): Search {
  let leftMs = retriever.isLocal ? Infinity : (options.retrievalDeadlineMs ?? Infinity);
  const searchRetriever: Search = async (queries) => {
    const texts = queries.map(({ query }) => query);
    const deadlineMs = leftMs === Infinity ? undefined : Math.max(1, Math.round(leftMs / 2));
    const { outcomes, stats: counts } = await searchAll(retriever, texts, {
      topK,
      timeoutMs,
      deadlineMs,
      cache,
      signal,
    });
    if (counts.timedOut > 0) leftMs = Math.max(0, leftMs - counts.elapsedMs);
    return outcomes;
  };
  return async (queries) => {
    const outcomes = await (search ?? searchRetriever)(queries);
    const numTimedOut = outcomes.filter(isTimedOut).length;
    stats.retrievalsRequested += queries.length;
    stats.retrievalsFailed +=
      outcomes.filter(({ status }) => status === 'failed').length - numTimedOut;
    stats.retrievalsTimedOut += numTimedOut;
    return outcomes;
  };
}

/** Runs the action of every row, with all sub-queries in one concurrent search. */
async function runActions(
  rows: readonly Row[],
  { dialogue, retriever, search }: { dialogue: Dialogue; retriever: Retriever; search: Search },
  { questions, ...options }: RolloutOptions & { questions: readonly Question[] },
): Promise<void> {
  const searches = rows.map(({ trajectory }) =>
    parseQueries(trajectory.segments.at(-1)!.text, options),
  );
  const queries = rows.flatMap(({ index }, i) =>
    (searches[i] ?? []).map((query) => ({ query, question: questions[index] })),
  );
  const outcomes = await search(queries);
  let next = 0;
  for (const [i, row] of rows.entries()) {
    const queries = searches[i];
    if (!queries) {
      append(row, dialogue.formatNotice(row), options);
      continue;
    }
    const found = outcomes.slice(next, (next += queries.length));
    if (options.retrievalDeadlineMs !== undefined && found.some(isTimedOut))
      row.trajectory.finish = 'timeout';
    else appendInformation(row, { queries, outcomes: found }, { dialogue, retriever }, options);
  }
}

/**
 * Answers each question once; repeat a question for a group.
 * @param runOptions.randoms one generator per question
 * @throws the policy's errors and the signal's reason (in a notebook, also on Interrupt);
 * failures of the retriever become information blocks
 */
export async function rollOut(
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  runOptions: RunOptions,
): Promise<{ trajectories: Trajectory[]; stats: RolloutStats }> {
  const options = { ...runOptions, signal: interruptSignal(runOptions.signal) };
  if (options.randoms.length !== questions.length) {
    throw new RangeError(
      `Expected ${questions.length} generators, one per question, but got ${options.randoms.length}.`,
    );
  }
  const start = performance.now();
  const stats: RolloutStats = {
    retrievalsRequested: 0,
    retrievalsFailed: 0,
    retrievalsTimedOut: 0,
    rolloutSeconds: questions.map(() => 0),
  };
  const noteTime = (rows: readonly Row[]): void => {
    const seconds = (performance.now() - start) / 1000;
    for (const { index } of rows) stats.rolloutSeconds[index] = seconds;
  };
  const dialogue = createDialogue(policy, options);
  const search = createSearch(retriever, options, stats);
  const rows = questions.map((question, index): Row => {
    const row = {
      index,
      random: options.randoms[index],
      trajectory: startTrajectory(question, options),
    };
    append(row, dialogue.startPrompt(question.question), options);
    return row;
  });
  let active = rows;
  for (let b = 0; b < options.maxSearchTurns; b++) {
    options.signal?.throwIfAborted();
    const generated = await generateTurn(active, dialogue, options);
    noteTime(active);
    active = generated.filter(({ trajectory }) => trajectory.finish !== 'answer');
    await runActions(active, { dialogue, retriever, search }, { ...options, questions });
    noteTime(active);
    active = active.filter(({ trajectory }) => trajectory.finish !== 'timeout');
  }
  await generateTurn(active, dialogue, options);
  noteTime(active);
  for (const { trajectory } of rows) trajectory.answer = finalAnswer(trajectory.segments);
  return { trajectories: rows.map(({ trajectory }) => trajectory), stats };
}
