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

/** A query and its question. */
export interface SimulatedQuery {
  query: string;
  question: Question;
}

export interface RolloutOptions extends RolloutConfig {
  /** 0 is greedy. */
  temperature: number;
  /** Retrieval results kept across calls. */
  cache?: SearchCache;
  /** Replaces the retriever. A simulated search engine may see the ground truth. */
  search?: (queries: readonly SimulatedQuery[]) => Promise<SearchOutcome[]>;
  signal?: AbortSignal;
  /** As in {@link SamplingOptions}; `row` is the index of the question. */
  onToken?: SamplingOptions['onToken'];
  /** Called with each finished segment and the search turns so far, including its own. */
  onSegment?: (segment: Segment, row: number, searchTurns: readonly SearchTurn[]) => void;
}

type RunOptions = RolloutOptions & { randoms: readonly Random[] };

/** A running rollout; `finish` is `budget` until it changes. */
interface Row {
  /** Index of the question. */
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

/** Generates a turn for each row. Rows without room for it finish with `length`. */
async function generateTurn(
  rows: readonly Row[],
  policy: Policy,
  options: RolloutOptions,
): Promise<Row[]> {
  const hasRoom = (row: Row): boolean =>
    row.tokenIds.length + options.maxNewTokens < policy.maxLength;
  const ready = rows.filter(hasRoom);
  for (const row of rows) if (!hasRoom(row)) row.trajectory.finish = 'length';
  if (ready.length === 0) return [];
  const { onToken } = options;
  const generations = await policy.generate(
    ready.map((row) => row.tokenIds),
    {
      temperature: options.temperature,
      topP: options.topP,
      maxNewTokens: options.maxNewTokens,
      stop: STOP_STRINGS,
      randoms: ready.map((row) => row.random),
      signal: options.signal,
      onToken: onToken && (({ row, ...token }) => onToken({ row: ready[row].index, ...token })),
    },
  );
  for (const [i, row] of ready.entries()) {
    const { tokenIds, text, logProbs } = generations[i];
    append(row, { kind: 'policy', tokenIds, text, ...(logProbs && { logProbs }) }, options);
    row.trajectory.modelCalls++;
    if (nextAction(text).kind === 'answer') row.trajectory.finish = 'answer';
  }
  return ready;
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
 * A best score below this share of the full score means that a passage shares only common
 * words with the query. Nearly all queries about things unknown to a corpus are below it,
 * and about 1 % of the queries that it was made for.
 */
const MIN_SCORE_SHARE = 0.1;

/** What the policy sees of a failed search; the server's error is only recorded. */
const NO_ANSWER = { status: 'failed', reason: 'the search engine gave no answer.' } as const;

/** The record of an outcome whose `depth` best passages were shown. */
function toSearchResult(outcome: SearchOutcome, depth: number, fullScore = 0): SearchResult {
  if (outcome.status === 'failed')
    return { ...NO_ANSWER, detail: outcome.reason.replace(/\p{C}+/gu, ' ').slice(0, 200) };
  const passages = outcome.passages
    .slice(0, depth)
    .map(({ passage: { id, title }, score }) => ({ id, title, score }));
  const numLeftOut = outcome.passages.length - passages.length;
  const isUnlike = passages.length > 0 && passages[0].score < MIN_SCORE_SHARE * fullScore;
  return {
    status: 'ok',
    passages,
    ...(numLeftOut > 0 ? { numLeftOut } : {}),
    ...(isUnlike ? { isUnlike } : {}),
  };
}

/** The information block with the `depth` best passages of each sub-query. */
function printOutcomes(
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
 * Maximum tokens of information: leaves room for the reserves and the next generation.
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

/** Appends the results: as many passages per query as there is room for, at least one. */
function appendInformation(
  row: Row,
  queries: string[],
  outcomes: readonly SearchOutcome[],
  { policy, retriever }: { policy: Policy; retriever: Retriever },
  options: RolloutOptions,
): void {
  const room = roomForInformation(row, policy, options);
  const print = (depth: number): Segment => {
    const text = printOutcomes(outcomes, depth, options);
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

/** Short for the small policy, full for real language models. */
function appendNotice(row: Row, policy: Policy, options: RolloutOptions): void {
  const text = options.promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL;
  append(row, { kind: 'notice', tokenIds: policy.tokenizer.encode(text), text }, options);
}

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
  const texts = queries.map(({ query }) => query);
  const { outcomes, stats: counts } = await searchAll(retriever, texts, options);
  stats.retrievalsFetched += counts.fetched;
  stats.retrievalsFailed += counts.failed;
  return outcomes;
}

/** Runs the action of every row, with all sub-queries in one concurrent search. */
async function runActions(
  rows: readonly Row[],
  policy: Policy,
  retriever: Retriever,
  options: RolloutOptions,
  stats: RolloutStats,
): Promise<void> {
  const searches = rows.map(({ trajectory }) =>
    parseQueries(trajectory.segments.at(-1)!.text, options),
  );
  const queries = rows.flatMap(({ question }, i) =>
    (searches[i] ?? []).map((query) => ({ query, question })),
  );
  const outcomes = await searchFor(queries, retriever, options, stats);
  let next = 0;
  for (const [i, row] of rows.entries()) {
    const search = searches[i];
    if (!search) {
      appendNotice(row, policy, options);
      continue;
    }
    const results = outcomes.slice(next, (next += search.length));
    appendInformation(row, search, results, { policy, retriever }, options);
  }
}

/**
 * Answers each question once; repeat a question for a group.
 * @param options.randoms one generator per question
 * @throws the policy's errors and the signal's reason; failures of the retriever become
 * information blocks
 */
export async function rollOut(
  policy: Policy,
  retriever: Retriever,
  questions: readonly Question[],
  options: RunOptions,
): Promise<{ trajectories: Trajectory[]; stats: RolloutStats }> {
  if (options.randoms.length !== questions.length) {
    throw new RangeError(
      `Expected ${questions.length} generators, one per question, but got ${options.randoms.length}.`,
    );
  }
  const stats = { retrievalsRequested: 0, retrievalsFetched: 0, retrievalsFailed: 0 };
  const rows = questions.map((question, i) => startRow(question, i, policy, options));
  let active = rows;
  for (let b = 0; b < options.maxSearchTurns; b++) {
    options.signal?.throwIfAborted();
    const generated = await generateTurn(active, policy, options);
    active = generated.filter(({ trajectory }) => trajectory.finish !== 'answer');
    await runActions(active, policy, retriever, options, stats);
  }
  await generateTurn(active, policy, options);
  for (const { trajectory } of rows) trajectory.answer = finalAnswer(trajectory.segments);
  return { trajectories: rows.map(({ trajectory }) => trajectory), stats };
}
