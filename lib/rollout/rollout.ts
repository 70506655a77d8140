/**
 * Algorithm 1: generate until a search or an answer, search all sub-queries at once, append what came back, go on. Rows run
 * side by side, a turn at a time, so that the sub-queries of all rollouts of a turn go out together.
 *
 * Two points of the authors' code that Algorithm 1 leaves open: after the last search turn one more generation may answer,
 * and a search in it is not executed; a turn without a valid action costs a turn.
 */
import type { Question } from '../data/question.js';
import type { Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import type { Retriever } from '../retrieval/retriever.js';
import { searchAll, type SearchCache, type SearchOutcome } from '../retrieval/search.js';
import { buildPrompt, type PromptName } from '../text/prompts.js';
import { INVALID_ACTION_NOTICE, nextAction, printInformation, STOP_STRINGS } from '../text/tags.js';
import type { FinishReason, SearchResult, SearchTurn, Segment, Trajectory } from './trajectory.js';

export interface RolloutOptions {
  prompt: PromptName;
  promptForm: 'short' | 'full';
  /** B: turns in which a search is executed. */
  maxSearchTurns: number;
  /** Passages a sub-query. */
  topK: number;
  /** Whether `##` separates sub-queries; off, a search is one query, as in Search-R1. */
  splitQueries: boolean;
  /** Sub-queries of one turn beyond this are dropped. */
  maxSubQueries: number;
  /** New tokens of one turn. */
  maxNewTokens: number;
  temperature: number;
  topP: number;
  /** Milliseconds that a retrieval may take. */
  retrievalTimeoutMs: number;
  /** Answers of the retriever kept across calls. */
  cache?: SearchCache;
  signal?: AbortSignal;
}

/** Where a question's rollout has got to. */
interface Row {
  question: Question;
  random: Random;
  segments: Segment[];
  tokenIds: number[];
  searchTurns: SearchTurn[];
  modelCalls: number;
  finish: FinishReason | null;
}

export interface RolloutStats {
  retrievalsRequested: number;
  retrievalsFetched: number;
  retrievalsFailed: number;
}

function append(row: Row, segment: Segment): void {
  row.segments.push(segment);
  row.tokenIds.push(...segment.tokenIds);
}

function startRow(question: Question, random: Random, policy: Policy, options: RolloutOptions): Row {
  const text = buildPrompt(options.prompt, question.question, { form: options.promptForm });
  const row: Row = {
    question,
    random,
    segments: [],
    tokenIds: [],
    searchTurns: [],
    modelCalls: 0,
    finish: null,
  };
  append(row, { kind: 'prompt', tokenIds: policy.tokenizer.encode(text), text });
  return row;
}

/** One generation of every row that has not finished; rows without room for it finish with `length`. */
async function generateTurn(rows: readonly Row[], policy: Policy, options: RolloutOptions): Promise<Row[]> {
  const roomy = rows.filter((row) => row.tokenIds.length + options.maxNewTokens < policy.maxLength);
  rows.filter((row) => !roomy.includes(row)).forEach((row) => (row.finish = 'length'));
  const generations = await policy.generate(
    roomy.map((row) => row.tokenIds),
    {
      temperature: options.temperature,
      topP: options.topP,
      maxNewTokens: options.maxNewTokens,
      stop: STOP_STRINGS,
      randoms: roomy.map((row) => row.random),
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

/** The sub-queries of a row's newest search, or null when its action is another. */
function searchOf(row: Row, options: RolloutOptions): string[] | null {
  const action = nextAction(newestText(row));
  if (action.kind !== 'search') return null;
  return options.splitQueries ? action.queries.slice(0, options.maxSubQueries) : [action.queries.join(' ')];
}

function toSearchResult(outcome: SearchOutcome): SearchResult {
  if (outcome.status === 'failed') return outcome;
  const passages = outcome.passages.map(({ passage, score }) => ({
    id: passage.id,
    title: passage.title,
    score,
  }));
  return { status: 'ok', passages };
}

/** Appends what came back for a row's sub-queries. */
function appendInformation(
  row: Row,
  queries: string[],
  outcomes: readonly SearchOutcome[],
  policy: Policy,
): void {
  const text = printInformation(
    outcomes.map((outcome) =>
      outcome.status === 'failed'
        ? outcome
        : {
            status: 'ok',
            passages: outcome.passages.map(({ passage: { title, text } }) => ({ title, text })),
          },
    ),
  );
  row.searchTurns.push({ queries, results: outcomes.map(toSearchResult) });
  append(row, { kind: 'information', tokenIds: policy.tokenizer.encode(text), text });
}

function appendNotice(row: Row, policy: Policy): void {
  append(row, {
    kind: 'notice',
    tokenIds: policy.tokenizer.encode(INVALID_ACTION_NOTICE),
    text: INVALID_ACTION_NOTICE,
  });
}

/** Executes every row's action: all sub-queries of all rows in one concurrent search. */
async function act(
  rows: readonly Row[],
  policy: Policy,
  retriever: Retriever,
  options: RolloutOptions,
  stats: RolloutStats,
): Promise<void> {
  const searches = rows.map((row) => searchOf(row, options));
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
    if (search) appendInformation(row, search, found.outcomes.slice(next, (next += search.length)), policy);
    else if (nextAction(newestText(row)).kind === 'answer') row.finish = 'answer';
    else appendNotice(row, policy);
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
  options: RolloutOptions & { randoms: readonly Random[] },
): Promise<{ trajectories: Trajectory[]; stats: RolloutStats }> {
  if (options.randoms.length !== questions.length) {
    throw new RangeError(
      `Expected ${questions.length} generators, one a question, but got ${options.randoms.length}.`,
    );
  }
  const stats = { retrievalsRequested: 0, retrievalsFetched: 0, retrievalsFailed: 0 };
  const rows = questions.map((question, i) => startRow(question, options.randoms[i], policy, options));
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
