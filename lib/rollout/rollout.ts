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
import { isChatPolicy, type AnyPolicy } from '../policy/chat-policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { isTimedOutSearch, searchAll, type SearchOutcome } from '../retrieval/search.js';
import { finalAnswer } from '../text/response.js';
import { nextAction, QUERY_SEPARATOR } from '../text/tags.js';
import { chatDialogue } from './chat-dialogue.js';
import type { Dialogue, Row } from './dialogue.js';
import { fitResults } from './fit-results.js';
import {
  checkRolloutOptions,
  transcriptSeparator,
  type RolloutOptions,
  type SimulatedQuery,
} from './options.js';
import { tokenDialogue } from './token-dialogue.js';
import type { Segment, Trajectory } from './trajectory.js';

type RunOptions = RolloutOptions & { randoms: readonly Random[] };

export interface RolloutStats {
  retrievalsRequested: number;
  /** Failures other than timeouts. */
  retrievalsFailed: number;
  retrievalsTimedOut: number;
  /** Seconds from the start of the batch to the end of each rollout. */
  rolloutSeconds: number[];
}

/** `finish` stays `budget` unless something else ends the rollout. */
const startTrajectory = (
  { id, question, goldenAnswers }: Question,
  options: RolloutOptions,
): Trajectory => ({
  questionId: id,
  question,
  goldenAnswers,
  segments: [],
  searchTurns: [],
  answer: null,
  modelCalls: 0,
  finish: 'budget',
  maxSearchTurns: options.maxSearchTurns,
  ...recordedSeparator(options),
});

/** Records the separator, unless readers would infer it anyway. */
function recordedSeparator(options: RolloutOptions): Pick<Trajectory, 'querySeparator'> {
  const querySeparator = transcriptSeparator(options);
  const inferred = options.informationForm === 'json' ? ',' : QUERY_SEPARATOR;
  return querySeparator === inferred ? {} : { querySeparator };
}

function append({ index, trajectory }: Row, segment: Segment, { onSegment }: RolloutOptions): void {
  trajectory.segments.push(segment);
  onSegment?.(segment, index, trajectory.searchTurns);
}

/**
 * Generates one turn for each row. A row without room for it finishes with `length`, a
 * row whose reply was unusable with `refused`. Returns the other rows.
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

/** The sub-queries to run for a policy's text, or null if its action is not a search. */
export function parseQueries(
  policyText: string,
  options: Pick<RolloutOptions, 'splitQueries' | 'maxSubQueries' | 'promptForm' | 'querySeparator'>,
): string[] | null {
  const action = nextAction(policyText, transcriptSeparator(options));
  if (action.kind !== 'search') return null;
  return options.splitQueries
    ? action.queries.slice(0, options.maxSubQueries)
    : [action.queries.join(' ')];
}

type Search = (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;

/** Creates the search of all turns, which updates `stats` and enforces the deadline. */
function createSearch(
  retriever: Retriever,
  { search, topK, retrievalTimeoutMs: timeoutMs, cache, signal, ...options }: RolloutOptions,
  stats: RolloutStats,
): Search {
  let leftMs = retriever.isLocal ? Infinity : (options.retrievalDeadlineMs ?? Infinity);
  const searchRetriever: Search = async (queries) => {
    const texts = queries.map(({ query }) => query);
    const deadlineMs = leftMs === Infinity ? undefined : Math.max(1, Math.round(leftMs / 2));
    const startMs = performance.now();
    const outcomes = await searchAll(retriever, texts, {
      topK,
      timeoutMs,
      deadlineMs,
      cache,
      signal,
    });
    if (outcomes.some(isTimedOutSearch))
      leftMs = Math.max(0, leftMs - (performance.now() - startMs));
    return outcomes;
  };
  return async (queries) => {
    const outcomes = await (search ?? searchRetriever)(queries);
    const numTimedOut = outcomes.filter(isTimedOutSearch).length;
    stats.retrievalsRequested += queries.length;
    stats.retrievalsFailed +=
      outcomes.filter(({ status }) => status === 'failed').length - numTimedOut;
    stats.retrievalsTimedOut += numTimedOut;
    return outcomes;
  };
}

/** Executes the action of every row, running all sub-queries in one concurrent search. */
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
    const rowOutcomes = outcomes.slice(next, (next += queries.length));
    if (options.retrievalDeadlineMs !== undefined && rowOutcomes.some(isTimedOutSearch)) {
      row.trajectory.finish = 'timeout';
      continue;
    }
    const turn = { queries, outcomes: rowOutcomes };
    const { segment, results } = fitResults(row, turn, { dialogue, retriever }, options);
    row.trajectory.searchTurns.push({ queries, results });
    append(row, segment, options);
  }
}

/**
 * Runs a rollout for each question; repeat a question to sample a group.
 * @param runOptions.randoms one generator per question
 * @throws RangeError for options out of range; the policy's errors, and the signal's
 * reason (in a notebook also on Interrupt); retriever failures become information blocks
 * instead
 */
export async function rollOut(
  policy: AnyPolicy,
  retriever: Retriever,
  questions: readonly Question[],
  runOptions: RunOptions,
): Promise<{ trajectories: Trajectory[]; stats: RolloutStats }> {
  checkRolloutOptions(runOptions);
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
  const dialogue = isChatPolicy(policy)
    ? chatDialogue(policy, options)
    : tokenDialogue(policy, options);
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
