import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createRandom } from '../../lib/random.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { RolloutOptions } from '../../lib/rollout/options.js';
import { rollOut, type RolloutStats } from '../../lib/rollout/rollout.js';
import { lossMask, responseText, tokenIds } from '../../lib/rollout/trajectory.js';
import { buildPrompt, PROMPTS } from '../../lib/text/prompts.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  STOP_STRINGS,
} from '../../lib/text/tags.js';
import type { Tokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { echoRetriever } from '../retrieval/passages.js';
import { OPTIONS, ask, library, found, play, playOne, kinds, SEARCH, ANSWER } from './play.js';
import { CHARACTERS, scriptedPolicy } from './scripted-policy.js';

/** Retrievals requested, failed and timed out. */
const counts = (stats: RolloutStats): number[] => [
  stats.retrievalsRequested,
  stats.retrievalsFailed,
  stats.retrievalsTimedOut,
];

describe('Algorithm 1', () => {
  it('searches, appends results in sub-query order, and stops at the answer', async () => {
    const trajectory = await playOne([SEARCH, ANSWER]);
    expect(trajectory.segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', buildPrompt('parallel', 'who?', { form: 'short' })],
      ['policy', SEARCH],
      ['information', found('X', 'Y')],
      ['policy', ANSWER],
    ]);
    const results = ['X', 'Y'].map((id) => ({
      status: 'ok',
      passages: [{ id, title: id, score: 2 }],
    }));
    expect(trajectory.searchTurns).toEqual([{ queries: ['X', 'Y'], results }]);
    expect(trajectory).toMatchObject({
      questionId: 'id of who?',
      question: 'who?',
      answer: 'gold',
      modelCalls: 2,
      finish: 'answer',
    });
    expect(responseText(trajectory)).toBe(SEARCH + found('X', 'Y') + ANSWER);
  });

  it('marks results without a similar passage', async () => {
    // The best score is 2: below a tenth of 21, but not of 20.
    const fullScore = (query: string): number => (query === 'X' ? 21 : 20);
    const resultsOf = async (retriever: Retriever) =>
      (await playOne([SEARCH, ANSWER], { retriever })).searchTurns[0].results;
    const results = await resultsOf({ ...library(), fullScore });
    const areUnlike = results.map((result) => result.status === 'ok' && result.isUnlike);
    expect(areUnlike).toEqual([true, undefined]);
    const nothing = { name: 'nothing', retrieve: async () => [[], []], fullScore };
    expect(await resultsOf(nothing)).toEqual(Array(2).fill({ status: 'ok', passages: [] }));
  });

  it("reports tokens and segments with the question's index", async () => {
    const tokens: Record<number, number[]> = { 0: [], 1: [] };
    const told: unknown[] = [];
    const { trajectories } = await play(
      { 'first?': [ANSWER], 'second?': [SEARCH, ANSWER] },
      {
        onToken: ({ row, tokenId }) => void tokens[row].push(tokenId),
        onSegment: ({ kind }, row, searchTurns) => told.push([row, kind, searchTurns.length]),
      },
    );
    for (const [row, { segments }] of trajectories.entries()) {
      const written = segments.filter(({ kind }) => kind === 'policy');
      expect(tokens[row]).toEqual(written.flatMap(({ tokenIds }) => tokenIds));
    }
    expect(told).toEqual([
      [0, 'prompt', 0],
      [1, 'prompt', 0],
      [0, 'policy', 0],
      [1, 'policy', 0],
      [1, 'information', 1],
      [1, 'policy', 1],
    ]);
  });

  it('passes the whole context and the options to the policy', async () => {
    const { policy, trajectories } = await play({ 'who?': [SEARCH, ANSWER] });
    const prompt = trajectories[0].segments[0].text;
    expect(policy.calls).toEqual([[prompt], [prompt + SEARCH + found('X', 'Y')]]);
    expect(policy.options[0]).toMatchObject({
      temperature: 0.7,
      topP: 0.9,
      maxNewTokens: 50,
      stop: STOP_STRINGS,
    });
    expect(policy.options[0].randoms).toHaveLength(1);
  });

  it.each([
    { temperature: -1 },
    { temperature: undefined },
    { topP: 2 },
    { topP: NaN },
    { maxNewTokens: 0 },
    { maxSearchTurns: -1 },
    { maxSearchTurns: NaN },
    { splitQueries: undefined },
  ])('rejects options out of range: %j', async (wrong) => {
    const [[name]] = Object.entries(wrong);
    await expect(playOne([ANSWER], wrong as Partial<RolloutOptions>)).rejects.toThrow(
      new RegExp(`Expected rollout options, but:[^]+at ${name}`),
    );
  });

  it.each<[string, Partial<RolloutOptions>, string[]]>([
    ['takes a search as one query when splitting is off', { splitQueries: false }, ['X Y Z']],
    ['drops sub-queries beyond maxSubQueries', { maxSubQueries: 2 }, ['X', 'Y']],
  ])('%s', async (_, options, queries) => {
    const { segments, searchTurns } = await playOne(
      ['<search> X ## Y ## Z </search>', ANSWER],
      options,
    );
    expect(searchTurns[0].queries).toEqual(queries);
    expect(segments[2].text).toBe(found(...queries));
  });

  it.each<[maxSearchTurns: number, script: string[], turns: number, finish: string]>([
    [2, [SEARCH], 2, 'budget'],
    [1, [SEARCH, ANSWER], 1, 'answer'],
    [0, [ANSWER], 0, 'answer'],
  ])('generates once more after %d search turns, without executing a search', async (...row) => {
    const [maxSearchTurns, script, turns, finish] = row;
    const retriever = library();
    const trajectory = await playOne(script, { maxSearchTurns, retriever });
    const searched = Array.from({ length: turns }, () => ['policy', 'information']);
    expect(kinds(trajectory)).toEqual(['prompt', ...searched.flat(), 'policy']);
    expect(trajectory).toMatchObject({ modelCalls: turns + 1, finish });
    expect(trajectory.searchTurns).toHaveLength(turns);
    expect(retriever.calls).toHaveLength(turns);
  });

  it.each(['<think> only </think>', '<search>  </search>', 'x </answer>', '<search> a </answer>'])(
    'adds a notice after an invalid action, which costs a turn: %s',
    async (nonsense) => {
      const trajectory = await playOne([nonsense, SEARCH, ANSWER], { maxSearchTurns: 2 });
      expect(kinds(trajectory).join(' ')).toBe('prompt policy notice policy information policy');
      expect(trajectory.segments[2].text).toBe(INVALID_ACTION_NOTICE);
      expect(trajectory).toMatchObject({ modelCalls: 3, finish: 'answer' });
      expect((await playOne([nonsense], { maxSearchTurns: 2 })).finish).toBe('budget');
    },
  );

  it('uses full notices with full prompts', async () => {
    const full = { promptForm: 'full', splitQueries: false } as const;
    const script = ['<think> only </think>', '<search> a ## b </search>', ANSWER];
    for (const prompt of PROMPTS.names()) {
      const { segments, searchTurns, finish } = await playOne(script, { ...full, prompt });
      expect(segments.map(({ kind, text }) => [kind, text])).toEqual([
        ['prompt', buildPrompt(prompt, 'who?', { form: 'full' })],
        ['policy', script[0]],
        ['notice', INVALID_ACTION_NOTICE_FULL],
        ['policy', script[1]],
        ['information', found('a b')],
        ['policy', ANSWER],
      ]);
      expect(searchTurns.map(({ queries }) => queries)).toEqual([['a b']]);
      expect(finish).toBe('answer');
    }
  });

  it('uses the chat template and rejects a policy without one', async () => {
    const chat = (text: string) => ({
      text: `[user] ${text}`,
      tokenIds: CHARACTERS.encode(`[user] ${text}`),
    });
    const policy = scriptedPolicy({ 'who?': [ANSWER] });
    const options = { ...OPTIONS, promptForm: 'chat' as const, randoms: [createRandom(1)] };
    const roll = (tokenizer: Tokenizer) =>
      rollOut({ ...policy, tokenizer }, library(), [ask('who?')], options);
    const { trajectories } = await roll({ ...CHARACTERS, encodeChat: chat });
    expect(trajectories[0].segments[0]).toEqual({
      kind: 'prompt',
      ...chat(buildPrompt('parallel', 'who?', { form: 'chat' })),
    });
    await expect(roll(CHARACTERS)).rejects.toThrow('chat template');
  });

  it('ends a full row with `length` and continues the others', async () => {
    const prompt = buildPrompt('parallel', 'who?', { form: 'short' }).length;
    const turn = SEARCH.length + found('X', 'Y').length;
    const scripts = { 'who?': [SEARCH], 'why?': [ANSWER] };
    const { trajectories, policy } = await play(scripts, {
      maxLength: prompt + turn + OPTIONS.maxNewTokens,
    });
    expect(trajectories.map(({ finish }) => finish)).toEqual(['length', 'answer']);
    expect(kinds(trajectories[0])).toEqual(['prompt', 'policy', 'information']);
    expect(policy.calls[0]).toHaveLength(2);
    expect(policy.calls).toHaveLength(1);
    const roomier = await play(scripts, { maxLength: prompt + turn + OPTIONS.maxNewTokens + 1 });
    expect(roomier.trajectories[0].modelCalls).toBe(2);
  });
});

describe('a retriever that fails', () => {
  it('adds a line of information and is counted', async () => {
    const retriever = echoRetriever((queries) => {
      if (queries.includes('X')) throw new Error(`the\u0000\u0001 index ${'is gone '.repeat(50)}`);
    });
    const { trajectories, stats } = await play({ 'who?': [SEARCH, ANSWER] }, { retriever });
    const [{ segments, searchTurns, finish }] = trajectories;
    const reason = 'the search engine gave no answer.';
    expect(segments[2].kind).toBe('information');
    expect(segments[2].text).toContain(`Retrieval failed: ${reason}\nDoc 1(Title: ) Y`);
    const detail = `the  index ${'is gone '.repeat(50)}`.slice(0, 200);
    const failed = { status: 'failed', reason, detail };
    expect(searchTurns[0].results).toEqual([failed, expect.objectContaining({ status: 'ok' })]);
    expect(JSON.stringify(segments)).not.toContain('is gone');
    expect(counts(stats)).toEqual([2, 1, 0]);
    expect(finish).toBe('answer');
  });
});

/**
 * Never answers queries for which `hangs` is true; `limits` are its timeouts in
 * milliseconds.
 */
function hangingRetriever(hangs: (queries: readonly string[]) => boolean) {
  const limits: number[] = [];
  const retriever = echoRetriever((queries, signal) => {
    if (!hangs(queries)) return;
    signal!.addEventListener('abort', () =>
      limits.push(Number(/within (\d+) ms/.exec((signal!.reason as Error).message)?.[1])),
    );
    return new Promise(() => {});
  });
  return { ...retriever, limits };
}

describe('a hanging retriever', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  /** The result of rollouts that take less than a minute of fake time. */
  async function elapse<T>(work: Promise<T>): Promise<T> {
    await vi.advanceTimersByTimeAsync(60_000);
    return work;
  }

  it('is reported to the policy as a failure, and in the result', async () => {
    const retriever = hangingRetriever((queries) => queries.includes('X'));
    const script = { 'who?': [SEARCH, ANSWER] };
    const played = play(script, { retriever, retrievalTimeoutMs: 10 });
    const { trajectories, stats } = await elapse(played);
    const [{ segments, searchTurns, finish }] = trajectories;
    expect(segments[2].text).toContain('Retrieval failed: the search engine gave no answer.');
    for (const result of searchTurns[0].results)
      expect(result).toMatchObject({ status: 'failed', isTimeout: true });
    expect(counts(stats)).toEqual([2, 0, 2]);
    expect(finish).toBe('answer');
  });

  it('ends the rollout with `timeout` at the deadline, and is aborted', async () => {
    // A batch fails as a whole, so each search gets its own turn here.
    const retriever = hangingRetriever((queries) => queries.includes('X'));
    const scripts = {
      'who?': ['<search> A </search>', SEARCH, ANSWER],
      'why?': [ANSWER],
      'when?': ['<search> B </search>', '<think> no action </think>', ANSWER],
    };
    const played = play(scripts, { retriever, retrievalDeadlineMs: 20 });
    const { trajectories, stats, policy } = await elapse(played);
    expect(trajectories.map(({ finish }) => finish)).toEqual(['timeout', 'answer', 'answer']);
    const [late] = trajectories;
    expect(kinds(late)).toEqual(['prompt', 'policy', 'information', 'policy']);
    expect(late).toMatchObject({ answer: null, modelCalls: 2 });
    expect(late.searchTurns).toHaveLength(1);
    expect(counts(stats)).toEqual([4, 0, 2]);
    expect(policy.calls.map(({ length }) => length)).toEqual([3, 2, 1]);
    expect(retriever.limits).toEqual([10]);
  });

  it('is given at most the deadline over all turns: each turn half of the remaining time', async () => {
    const retriever = hangingRetriever(([query]) => query.startsWith('slow'));
    const search = (query: string): string => `<search> ${query} </search>`;
    const scripts = {
      'who?': [search('slow'), ANSWER],
      'why?': [ANSWER.replace('answer', 'nothing'), search('slow, too'), ANSWER],
      'when?': [ANSWER.replace('answer', 'nothing'), 'nothing', search('quick'), ANSWER],
    };
    const { trajectories } = await elapse(play(scripts, { retriever, retrievalDeadlineMs: 64 }));
    expect(trajectories.map(({ finish }) => finish)).toEqual(['timeout', 'timeout', 'answer']);
    expect(retriever.limits).toEqual([32, 16]);
  });

  it('has no time limit if it runs in this process', async () => {
    const slow = echoRetriever(() => new Promise((resolve) => setTimeout(resolve, 30)));
    const options = { retriever: { ...slow, isLocal: true as const }, retrievalDeadlineMs: 1 };
    expect((await elapse(playOne([SEARCH, ANSWER], options))).finish).toBe('answer');
  });
});

it('stops at an abort, whose reason is thrown', async () => {
  const controller = new AbortController();
  const retriever = echoRetriever(() => controller.abort(new Error('enough')));
  const played = playOne([SEARCH, ANSWER], { retriever, signal: controller.signal });
  await expect(played).rejects.toThrow('enough');
});

describe('a trajectory', () => {
  it('has original ids, a loss mask of 1 on policy tokens, and their log-probs', async () => {
    const trajectory = await playOne(['nonsense', SEARCH, ANSWER]);
    expect(kinds(trajectory).join(' ')).toBe('prompt policy notice policy information policy');
    const mask = lossMask(trajectory);
    let at = 0;
    for (const { kind, text, tokenIds: ids, logProbs } of trajectory.segments) {
      expect(ids).toEqual(CHARACTERS.encode(text));
      expect(mask.slice(at, (at += ids.length))).toEqual(
        ids.map(() => (kind === 'policy' ? 1 : 0)),
      );
      expect(logProbs?.length).toBe(kind === 'policy' ? ids.length : undefined);
    }
    expect(mask).toHaveLength(at);
    expect(CHARACTERS.decode(tokenIds(trajectory))).toBe(
      trajectory.segments[0].text + responseText(trajectory),
    );
  });

  it("never re-encodes the policy's text", async () => {
    const written = { tokenIds: [7, 8], text: ANSWER, logProbs: [-1, -2] };
    const drifting = {
      ...scriptedPolicy({}),
      generate: async () => [{ ...written, finish: 'stop' as const }],
    };
    const options = { ...OPTIONS, randoms: [createRandom(1)] };
    const { trajectories } = await rollOut(drifting, library(), [ask('who?')], options);
    expect(trajectories[0].segments[1]).toEqual({ kind: 'policy', ...written });
  });
});
