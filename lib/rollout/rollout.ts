/**
 * Algorithm 1: generate until a search or an answer, search all sub-queries at once, append what came back, go on. Rows run
 * side by side, a turn at a time, so that the sub-queries of all rollouts of a turn go out together.
 *
 * Two points of the authors' code that Algorithm 1 leaves open: after the last search turn one more generation may answer,
 * and a search in it is not executed; a turn without a valid action costs a turn.
 */
import type { Question } from '../data/question.js';
import type { Policy, SamplingOptions } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { searchAll, type SearchCache, type SearchOutcome } from '../retrieval/search.js';
import { buildPrompt } from '../text/prompts.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  nextAction,
  printInformation,
  STOP_STRINGS,
} from '../text/tags.js';
import type { RolloutConfig } from './options.js';
import type { FinishReason, SearchResult, SearchTurn, Segment, Trajectory } from './trajectory.js';

export interface RolloutOptions extends RolloutConfig {
  /** 0 is greedy. */
  temperature: number;
  /** Answers of the retriever kept across calls. */
  cache?: SearchCache;
  signal?: AbortSignal;
  /** As in {@link SamplingOptions}, with rows counted in the questions. */
  onToken?: SamplingOptions['onToken'];
  /** Called with every segment once it is complete, and the search turns so far, an information segment's own included. */
  onSegment?: (segment: Segment, row: number, searchTurns: readonly SearchTurn[]) => void;
}

type RunOptions = RolloutOptions & { randoms: readonly Random[] };

/** Where a question's rollout has got to. */
interface Row {
  /** Its place among the questions. */
  index: number;
  question: Question;
  random: Random;
  segments: Segment[];
  tokenIds: number[];
  searchTurns: SearchTurn[];
  modelCalls: number;
  finish: FinishReason | null;
  onSegment: RolloutOptions['onSegment'];
}

export interface RolloutStats {
  retrievalsRequested: number;
  retrievalsFetched: number;
  retrievalsFailed: number;
}

function append(row: Row, segment: Segment): void {
  row.segments.push(segment);
  row.tokenIds.push(...segment.tokenIds);
  row.onSegment?.(segment, row.index, row.searchTurns);
}

function startRow(question: Question, index: number, policy: Policy, options: RunOptions): Row {
  const text = buildPrompt(options.prompt, question.question, { form: options.promptForm });
  const row: Row = {
    index,
    question,
    random: options.randoms[index],
    segments: [],
    tokenIds: [],
    searchTurns: [],
    modelCalls: 0,
    finish: null,
    onSegment: options.onSegment,
  };
  append(row, { kind: 'prompt', tokenIds: policy.tokenizer.encode(text), text });
  return row;
}

/** One generation of every row that has not finished; rows without room for it finish with `length`. */
async function generateTurn(rows: readonly Row[], policy: Policy, options: RolloutOptions): Promise<Row[]> {
  const roomy = rows.filter((row) => row.tokenIds.length + options.maxNewTokens < policy.maxLength);
  rows.filter((row) => !roomy.includes(row)).forEach((row) => (row.finish = 'length'));
  const { onToken } = options;
  const generations = await policy.generate(
    roomy.map((row) => row.tokenIds),
    {
      temperature: options.temperature,
      topP: options.topP,
      maxNewTokens: options.maxNewTokens,
      stop: STOP_STRINGS,
      randoms: roomy.map((row) => row.random),
      onToken: onToken && (({ row, ...token }) => onToken({ row: roomy[row].index, ...token })),
    },
  );
  roomy.forEach((row, i) => {
    const { tokenIds, text, logProbs } = generations[i];
    append(row, { kind: 'policy', tokenIds, text, logProbs });
    row.modelCalls++;
  });
  return roomy;
}

const newestText = (row: Row): string => row.segments[row.segments.length - 1].text;

/** The sub-queries that a policy's text has executed, or null when its action is another than a search. */
export function searchedQueries(
  policyText: string,
  options: Pick<RolloutOptions, 'splitQueries' | 'maxSubQueries'>,
): string[] | null {
  const action = nextAction(policyText);
  if (action.kind !== 'search') return null;
  return options.splitQueries ? action.queries.slice(0, options.maxSubQueries) : [action.queries.join(' ')];
}

/** @param depth passages that are shown, the best first */
function toSearchResult(outcome: SearchOutcome, depth: number): SearchResult {
  if (outcome.status === 'failed') return outcome;
  const passages = outcome.passages.slice(0, depth).map(({ passage, score }) => ({
    id: passage.id,
    title: passage.title,
    score,
  }));
  const numLeftOut = outcome.passages.length - passages.length;
  return { status: 'ok', passages, ...(numLeftOut > 0 ? { numLeftOut } : {}) };
}

/** The block of each sub-query's `depth` best passages. */
function informationOf(outcomes: readonly SearchOutcome[], depth: number): string {
  return printInformation(
    outcomes.map((outcome) =>
      outcome.status === 'failed'
        ? outcome
        : {
            status: 'ok',
            passages: outcome.passages
              .slice(0, depth)
              .map(({ passage: { title, text } }) => ({ title, text })),
          },
    ),
  );
}

/** Tokens that information may take, so that every turn to come finds its reserve and the next one can be generated. */
function roomForInformation(row: Row, policy: Policy, options: RolloutOptions): number {
  if (options.reservePerTurn === undefined) return Infinity;
  const turnsLeft = options.maxSearchTurns - row.modelCalls;
  return (
    policy.maxLength - 1 - row.tokenIds.length - options.maxNewTokens - turnsLeft * options.reservePerTurn
  );
}

/** Appends what came back for a row's sub-queries: as many passages of each as there is room for, and one at least. */
function appendInformation(
  row: Row,
  queries: string[],
  outcomes: readonly SearchOutcome[],
  policy: Policy,
  options: RolloutOptions,
): void {
  const room = roomForInformation(row, policy, options);
  const print = (depth: number): Segment => {
    const text = informationOf(outcomes, depth);
    return { kind: 'information', tokenIds: policy.tokenizer.encode(text), text };
  };
  let depth = options.topK;
  let segment = print(depth);
  if (segment.tokenIds.length > room) {
    depth = deepestWithin(depth - 1, (some) => print(some).tokenIds.length <= room);
    segment = print(depth);
  }
  row.searchTurns.push({ queries, results: outcomes.map((outcome) => toSearchResult(outcome, depth)) });
  append(row, segment);
}

/** The largest number up to `most` that fits, by halving; 1 where none does. */
function deepestWithin(most: number, fits: (depth: number) => boolean): number {
  let [low, high] = [1, Math.max(1, most)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** In the words of the prompt: full for real language models, short for the small policy. */
function appendNotice(row: Row, policy: Policy, { promptForm }: RolloutOptions): void {
  const text = promptForm === 'full' ? INVALID_ACTION_NOTICE_FULL : INVALID_ACTION_NOTICE;
  append(row, { kind: 'notice', tokenIds: policy.tokenizer.encode(text), text });
}

/** Executes every row's action: all sub-queries of all rows in one concurrent search. */
async function act(
  rows: readonly Row[],
  policy: Policy,
  retriever: Retriever,
  options: RolloutOptions,
  stats: RolloutStats,
): Promise<void> {
  const searches = rows.map((row) => searchedQueries(newestText(row), options));
  const queries = searches.flatMap((search) => search ?? []);
  const found = await searchAll(retriever, queries, {
    topK: options.topK,
    timeoutMs: options.retrievalTimeoutMs,
    cache: options.cache,
    signal: options.signal,
  });
  stats.retrievalsRequested += found.stats.requested;
  stats.retrievalsFetched += found.stats.fetched;
  stats.retrievalsFailed += found.stats.failed;
  let next = 0;
  rows.forEach((row, i) => {
    const search = searches[i];
    if (search)
      appendInformation(row, search, found.outcomes.slice(next, (next += search.length)), policy, options);
    else if (nextAction(newestText(row)).kind === 'answer') row.finish = 'answer';
    else appendNotice(row, policy, options);
  });
}

function finishRow(row: Row): Trajectory {
  return {
    questionId: row.question.id,
    question: row.question.question,
    goldenAnswers: row.question.goldenAnswers,
    segments: row.segments,
    searchTurns: row.searchTurns,
    modelCalls: row.modelCalls,
    finish: row.finish ?? 'budget',
  };
}

/**
 * Answers each question once; pass a question several times for a group.
 * @param randoms one generator a question
 * @throws whatever the policy throws, and the signal's reason; failures of the retriever become information blocks that say so
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
  for (let b = 0; b < options.maxSearchTurns && active.length > 0; b++) {
    options.signal?.throwIfAborted();
    const generated = await generateTurn(active, policy, options);
    await act(generated, policy, retriever, options, stats);
    active = generated.filter((row) => !row.finish);
  }
  const last = active.length > 0 ? await generateTurn(active, policy, options) : [];
  for (const row of last) if (nextAction(newestText(row)).kind === 'answer') row.finish = 'answer';
  return { trajectories: rows.map(finishRow), stats };
}
