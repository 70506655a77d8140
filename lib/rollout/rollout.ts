/**
 * Algorithm 1: generate until a search or an answer, search all sub-queries at once,
 * append what came back, go on. Rows run side by side, a turn at a time, so that the
 * sub-queries of all rollouts of a turn go out together.
 *
 * Two points of the authors' code that Algorithm 1 leaves open: after the last search
 * turn one more generation may answer, and a search in it is not executed; a turn without
 * a valid action costs a turn.
 */
import type { Question } from '../data/question.js';
import type { Policy, SamplingOptions } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { RetrievedPassage, Retriever } from '../retrieval/retriever.js';
import { searchAll, type SearchCache, type SearchOutcome } from '../retrieval/search.js';
import { buildPrompt } from '../text/prompts.js';
import { finalAnswer } from '../text/response.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  printInformation,
  STOP_STRINGS,
} from '../text/tags.js';
import type { RolloutConfig } from './options.js';
import type { SearchResult, SearchTurn, Segment, Trajectory } from './trajectory.js';

/** A query with the question that it is to help with. */
export interface SimulatedQuery {
  query: string;
  question: Question;
}

export interface RolloutOptions extends RolloutConfig {
  /** 0 is greedy. */
  temperature: number;
  /** Answers of the retriever kept across calls. */
  cache?: SearchCache;
  /**
   * In place of the retriever: who plays the search engine may know each query's
   * question, ground truth included.
   */
  search?: (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;
  signal?: AbortSignal;
  /** As in {@link SamplingOptions}, with rows counted in the questions. */
  onToken?: SamplingOptions['onToken'];
  /**
   * Called with every segment once it is complete, and the search turns so far, an
   * information segment's own included.
   */
  onSegment?: (segment: Segment, row: number, searchTurns: readonly SearchTurn[]) => void;
}

type RunOptions = RolloutOptions & { randoms: readonly Random[] };

/**
 * A rollout under way; its trajectory ends by the `budget` unless it turns out otherwise.
 */
interface Row {
  /** Its place among the questions. */
  index: number;
  question: Question;
  random: Random;
  tokenIds: number[];
  trajectory: Trajectory;
}

export interface RolloutStats {
  retrievalsRequested: number;
  retrievalsFetched: number;
  retrievalsFailed: number;
}

function append(
  { index, tokenIds, trajectory }: Row,
  segment: Segment,
  { onSegment }: RolloutOptions,
): void {
  trajectory.segments.push(segment);
  tokenIds.push(...segment.tokenIds);
  onSegment?.(segment, index, trajectory.searchTurns);
}

function encodePrompt(
  question: string,
  { name, tokenizer }: Policy,
  { prompt, promptForm: form }: RunOptions,
): { text: string; tokenIds: number[] } {
  const text = buildPrompt(prompt, question, { form });
  if (form !== 'chat') return { text, tokenIds: tokenizer.encode(text) };
  if (tokenizer.encodeChat) return tokenizer.encodeChat(text);
  throw new Error(
    `Expected ${name} to have a chat template, but it has none. Use --prompt-form full.`,
  );
}

function startRow(question: Question, index: number, policy: Policy, options: RunOptions): Row {
  const trajectory: Trajectory = {
    questionId: question.id,
    question: question.question,
    goldenAnswers: question.goldenAnswers,
    segments: [],
    searchTurns: [],
    answer: null,
    modelCalls: 0,
    finish: 'budget',
  };
  const row = { index, question, random: options.randoms[index], tokenIds: [], trajectory };
  append(row, { kind: 'prompt', ...encodePrompt(question.question, policy, options) }, options);
  return row;
}

/**
 * One generation of every row that has not finished; rows without room for it finish with
 * `length`.
 */
async function generateTurn(
  rows: readonly Row[],
  policy: Policy,
  options: RolloutOptions,
): Promise<Row[]> {
  const hasRoom = (row: Row): boolean =>
    row.tokenIds.length + options.maxNewTokens < policy.maxLength;
  const roomy = rows.filter(hasRoom);
  for (const row of rows) if (!hasRoom(row)) row.trajectory.finish = 'length';
  if (roomy.length === 0) return [];
  const { onToken } = options;
  const generations = await policy.generate(
    roomy.map((row) => row.tokenIds),
    {
      temperature: options.temperature,
      topP: options.topP,
      maxNewTokens: options.maxNewTokens,
      stop: STOP_STRINGS,
      randoms: roomy.map((row) => row.random),
      signal: options.signal,
      onToken: onToken && (({ row, ...token }) => onToken({ row: roomy[row].index, ...token })),
    },
  );
  for (const [i, row] of roomy.entries()) {
    const { tokenIds, text, logProbs } = generations[i];
    append(row, { kind: 'policy', tokenIds, text, ...(logProbs && { logProbs }) }, options);
    row.trajectory.modelCalls++;
    if (nextAction(text).kind === 'answer') row.trajectory.finish = 'answer';
  }
  return roomy;
}

/**
 * The sub-queries that a policy's text has executed, or null when its action is another
 * than a search.
 */
export function searchedQueries(
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
 * A best score below this share of the full one is that of a passage which has nothing
 * but common words of the query: of invented things that a corpus knows nothing of,
 * nearly all queries are below; of the queries that it was made for, one in a hundred.
 */
const ALIKE = 0.1;

/**
 * All that the policy is told of a failed search: what a server says in its error is
 * recorded for people, and is no passage.
 */
const NO_ANSWER = { status: 'failed', reason: 'the search engine gave no answer.' } as const;

/** What is kept of an outcome of which the policy saw the `depth` best passages. */
function toSearchResult(outcome: SearchOutcome, depth: number, fullScore = 0): SearchResult {
  if (outcome.status === 'failed')
    return { ...NO_ANSWER, detail: outcome.reason.replace(/\p{C}+/gu, ' ').slice(0, 200) };
  const passages = outcome.passages
    .slice(0, depth)
    .map(({ passage: { id, title }, score }) => ({ id, title, score }));
  const numLeftOut = outcome.passages.length - passages.length;
  const isUnlike = passages.length > 0 && passages[0].score < ALIKE * fullScore;
  return {
    status: 'ok',
    passages,
    ...(numLeftOut > 0 ? { numLeftOut } : {}),
    ...(isUnlike ? { isUnlike } : {}),
  };
}

/** The block of each sub-query's `depth` best passages, or their beginnings. */
function informationOf(
  outcomes: readonly SearchOutcome[],
  depth: number,
  { maxPassageWords }: Pick<RolloutOptions, 'maxPassageWords'>,
): string {
  const shown = ({ title, text }: RetrievedPassage['passage']) => ({
    title,
    text:
      maxPassageWords === undefined
        ? text
        : text.trim().split(/\s+/).slice(0, maxPassageWords).join(' '),
  });
  return printInformation(
    outcomes.map((outcome) =>
      outcome.status === 'failed'
        ? NO_ANSWER
        : {
            status: 'ok',
            passages: outcome.passages.slice(0, depth).map(({ passage }) => shown(passage)),
          },
    ),
  );
}

/**
 * Tokens that information may take: a turn's own limit, and so that every turn to come
 * finds its reserve and the next one can be generated.
 */
function roomForInformation(
  { tokenIds, trajectory }: Row,
  policy: Policy,
  options: RolloutOptions,
): number {
  const { maxInformationTokens = Infinity, reservePerTurn } = options;
  if (reservePerTurn === undefined) return maxInformationTokens;
  const turnsLeft = options.maxSearchTurns - trajectory.modelCalls;
  const room =
    policy.maxLength - 1 - tokenIds.length - options.maxNewTokens - turnsLeft * reservePerTurn;
  return Math.min(maxInformationTokens, room);
}

/**
 * Appends what came back for a row's sub-queries: as many passages of each as there is
 * room for, and one at least.
 */
function appendInformation(
  row: Row,
  queries: string[],
  outcomes: readonly SearchOutcome[],
  { policy, retriever }: { policy: Policy; retriever: Retriever },
  options: RolloutOptions,
): void {
  const room = roomForInformation(row, policy, options);
  const print = (depth: number): Segment => {
    const text = informationOf(outcomes, depth, options);
    return { kind: 'information', tokenIds: policy.tokenizer.encode(text), text };
  };
  let depth = options.topK;
  let segment = print(depth);
  while (depth > 1 && segment.tokenIds.length > room) segment = print(--depth);
  const results = outcomes.map((outcome, i) =>
    toSearchResult(outcome, depth, retriever.fullScore?.(queries[i])),
  );
  row.trajectory.searchTurns.push({ queries, results });
  append(row, segment, options);
}

/**
 * In the words of the prompt: full for real language models, short for the small policy.
 */
function appendNotice(row: Row, policy: Policy, options: RolloutOptions): void {
  const text = options.promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL;
  append(row, { kind: 'notice', tokenIds: policy.tokenizer.encode(text), text }, options);
}

/** What the retriever, or who plays it, has for each query. */
async function searchFor(
  queries: readonly SimulatedQuery[],
  retriever: Retriever,
  { search, topK, retrievalTimeoutMs: timeoutMs, cache, signal }: RolloutOptions,
  stats: RolloutStats,
): Promise<SearchOutcome[]> {
  stats.retrievalsRequested += queries.length;
  if (search) {
    const outcomes = await search(queries);
    stats.retrievalsFetched += queries.length;
    stats.retrievalsFailed += outcomes.filter(({ status }) => status === 'failed').length;
    return outcomes;
  }
  const options = { topK, timeoutMs, cache, signal };
  const found = await searchAll(
    retriever,
    queries.map(({ query }) => query),
    options,
  );
  stats.retrievalsFetched += found.stats.fetched;
  stats.retrievalsFailed += found.stats.failed;
  return found.outcomes;
}

/**
 * Executes the action of every row that has not answered: all sub-queries of all rows in
 * one concurrent search.
 */
async function act(
  rows: readonly Row[],
  policy: Policy,
  retriever: Retriever,
  options: RolloutOptions,
  stats: RolloutStats,
): Promise<void> {
  const searches = rows.map(({ trajectory }) =>
    searchedQueries(trajectory.segments.at(-1)!.text, options),
  );
  const asked = rows.flatMap(({ question }, i) =>
    (searches[i] ?? []).map((query) => ({ query, question })),
  );
  const outcomes = await searchFor(asked, retriever, options, stats);
  let next = 0;
  for (const [i, row] of rows.entries()) {
    const queries = searches[i];
    if (!queries) appendNotice(row, policy, options);
    else
      appendInformation(
        row,
        queries,
        outcomes.slice(next, (next += queries.length)),
        { policy, retriever },
        options,
      );
  }
}

/**
 * Answers each question once; pass a question several times for a group.
 * @param randoms one generator a question
 * @throws whatever the policy throws, and the signal's reason; failures of the retriever
 * become information blocks that say so
 */
export async function rollOut(
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  options: RunOptions,
): Promise<{ trajectories: Trajectory[]; stats: RolloutStats }> {
  if (options.randoms.length !== questions.length) {
    throw new RangeError(
      `Expected ${questions.length} generators, one a question, but got ${options.randoms.length}.`,
    );
  }
  const stats = { retrievalsRequested: 0, retrievalsFetched: 0, retrievalsFailed: 0 };
  const rows = questions.map((question, i) => startRow(question, i, policy, options));
  let active = rows;
  for (let b = 0; b < options.maxSearchTurns; b++) {
    options.signal?.throwIfAborted();
    const generated = await generateTurn(active, policy, options);
    active = generated.filter(({ trajectory }) => trajectory.finish !== 'answer');
    await act(active, policy, retriever, options, stats);
  }
  await generateTurn(active, policy, options);
  for (const { trajectory } of rows) trajectory.answer = finalAnswer(trajectory.segments);
  return { trajectories: rows.map(({ trajectory }) => trajectory), stats };
}
