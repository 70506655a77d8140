import { describe, expect, it } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import { rolloutConfigOf } from '../../lib/methods/index.js';
import { createRandom } from '../../lib/random.js';
import type { RetrievedPassage, Retriever } from '../../lib/retrieval/retriever.js';
import { rollOut, type RolloutOptions } from '../../lib/rollout/rollout.js';
import { lossMask, responseText, tokenIds, type Trajectory } from '../../lib/rollout/trajectory.js';
import { buildPrompt, PROMPTS } from '../../lib/text/prompts.js';
import {
  INVALID_ACTION_NOTICE,
  INVALID_ACTION_NOTICE_FULL,
  printInformation,
  STOP_STRINGS,
} from '../../lib/text/tags.js';
import type { Tokenizer } from '../../lib/text/tokenizer.js';
import { echoRetriever, makePassage } from '../retrieval/passages.js';
import { CHARACTERS, scriptedPolicy, type ScriptedPolicy } from './scripted-policy.js';

const OPTIONS: RolloutOptions = {
  ...{ ...rolloutConfigOf('parallelsearch'), maxSearchTurns: 4, maxNewTokens: 50 },
  ...{ maxInformationTokens: 10_000, topP: 0.9, retrievalTimeoutMs: 1000, temperature: 0.7 },
};
const ask = (text: string): Question => ({
  ...{ id: `id of ${text}`, question: text, goldenAnswers: ['gold'], metadata: {} },
});

/** Query "x" finds the passage "x", whose text says so. */
function library(): Retriever & { calls: string[][] } {
  const calls: string[][] = [];
  return {
    name: 'library',
    calls,
    retrieve: async (queries) => {
      calls.push([...queries]);
      return queries.map((query) => [
        { passage: makePassage(query, `${query}\nAll about ${query}.`), score: 2 },
      ]);
    },
  };
}
const found = (...titles: string[]): string =>
  printInformation(
    titles.map((title) => ({ status: 'ok', passages: [{ title, text: `All about ${title}.` }] })),
  );

interface Played {
  trajectories: Trajectory[];
  stats: { retrievalsRequested: number; retrievalsFetched: number; retrievalsFailed: number };
  policy: ScriptedPolicy;
}
async function play(
  scripts: Record<string, readonly string[]>,
  more: Partial<RolloutOptions> & { retriever?: Retriever; maxLength?: number } = {},
): Promise<Played> {
  const { retriever = library(), maxLength, ...options } = more;
  const policy = scriptedPolicy(scripts, maxLength);
  const questions = Object.keys(scripts).map(ask);
  const randoms = questions.map(({ id }) => createRandom(id));
  return { ...(await rollOut(policy, retriever, questions, { ...OPTIONS, ...options, randoms })), policy };
}
async function playOne(
  ...[script, more]: [readonly string[], Parameters<typeof play>[1]?]
): Promise<Trajectory> {
  return (await play({ 'who?': script }, more)).trajectories[0];
}
const kinds = (trajectory: Trajectory): string[] => trajectory.segments.map(({ kind }) => kind);

const SEARCH = '<think> a </think><search> X ## Y </search>';
const ANSWER = '<think> b </think><answer> gold </answer>';

describe('Algorithm 1', () => {
  it('searches, appends what came back in the order of the sub-queries, and stops at the answer', async () => {
    const trajectory = await playOne([SEARCH, ANSWER]);
    expect(trajectory.segments.map(({ kind, text }) => [kind, text])).toEqual([
      ['prompt', buildPrompt('parallel', 'who?', { form: 'short' })],
      ['policy', SEARCH],
      ['information', found('X', 'Y')],
      ['policy', ANSWER],
    ]);
    expect(trajectory.searchTurns).toEqual([
      {
        queries: ['X', 'Y'],
        results: ['X', 'Y'].map((id) => ({ status: 'ok', passages: [{ id, title: id, score: 2 }] })),
      },
    ]);
    expect(trajectory).toMatchObject({
      questionId: 'id of who?',
      question: 'who?',
      answer: 'gold',
      modelCalls: 2,
      finish: 'answer',
    });
    expect(responseText(trajectory)).toBe(SEARCH + found('X', 'Y') + ANSWER);
  });

  it('says which searches have found nothing that is like them', async () => {
    // The best passage of each query scores 2: less than a tenth of 21, and not less than that of 20.
    const fullScore = (query: string): number => (query === 'X' ? 21 : 20);
    const { trajectories } = await play(
      { 'who?': [SEARCH, ANSWER] },
      { retriever: { ...library(), fullScore } },
    );
    const results = trajectories[0].searchTurns[0].results;
    expect(results.map((result) => result.status === 'ok' && result.isUnlike)).toEqual([true, undefined]);
    const nothing: Retriever = { name: 'nothing', retrieve: async () => [[], []], fullScore };
    const { searchTurns } = await playOne([SEARCH, ANSWER], { retriever: nothing });
    expect(searchTurns[0].results).toEqual(Array(2).fill({ status: 'ok', passages: [] }));
  });

  it('tells every token and every segment as it comes, by the place of the question', async () => {
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

  it('gives the policy everything so far, and its options', async () => {
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

  it.each<[string, Partial<RolloutOptions>, string[]]>([
    ['takes a search as one query when splitting is off', { splitQueries: false }, ['X Y Z']],
    ['drops sub-queries beyond maxSubQueries', { maxSubQueries: 2 }, ['X', 'Y']],
  ])('%s', async (_, options, queries) => {
    const { segments, searchTurns } = await playOne(['<search> X ## Y ## Z </search>', ANSWER], options);
    expect(searchTurns[0].queries).toEqual(queries);
    expect(segments[2].text).toBe(found(...queries));
  });

  it.each<[maxSearchTurns: number, script: string[], turns: number, finish: string]>([
    [2, [SEARCH], 2, 'budget'],
    [1, [SEARCH, ANSWER], 1, 'answer'],
    [0, [ANSWER], 0, 'answer'],
  ])('generates once more after %d search turns, and does not execute a search in it', async (...row) => {
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
    'says so after an action that is none, which costs a turn: %s',
    async (nonsense) => {
      const trajectory = await playOne([nonsense, SEARCH, ANSWER], { maxSearchTurns: 2 });
      expect(kinds(trajectory)).toEqual(['prompt', 'policy', 'notice', 'policy', 'information', 'policy']);
      expect(trajectory.segments[2].text).toBe(INVALID_ACTION_NOTICE);
      expect(trajectory).toMatchObject({ modelCalls: 3, finish: 'answer' });
      expect((await playOne([nonsense], { maxSearchTurns: 2 })).finish).toBe('budget');
    },
  );

  it('speaks the words of the full prompts throughout, where they are asked for', async () => {
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

  it('asks in the form of a chat where that is asked for, and names a policy that has no template', async () => {
    const chat = (text: string) => ({
      text: `[user] ${text}`,
      tokenIds: CHARACTERS.encode(`[user] ${text}`),
    });
    const policy = scriptedPolicy({ 'who?': [ANSWER] });
    const options: Parameters<typeof rollOut>[3] = {
      ...OPTIONS,
      promptForm: 'chat',
      randoms: [createRandom(1)],
    };
    const roll = (tokenizer: Tokenizer) =>
      rollOut({ ...policy, tokenizer }, library(), [ask('who?')], options);
    const { trajectories } = await roll({ ...CHARACTERS, encodeChat: chat });
    expect(trajectories[0].segments[0]).toEqual({
      kind: 'prompt',
      ...chat(buildPrompt('parallel', 'who?', { form: 'chat' })),
    });
    await expect(roll(CHARACTERS)).rejects.toThrow(
      'Expected scripted to have a chat template, but it has none. Use --prompt-form full.',
    );
  });

  it('ends a row that has no room for another turn with `length`, and goes on with the others', async () => {
    const prompt = buildPrompt('parallel', 'who?', { form: 'short' }).length;
    const turn = SEARCH.length + found('X', 'Y').length;
    const scripts = { 'who?': [SEARCH], 'why?': [ANSWER] };
    const { trajectories, policy } = await play(scripts, { maxLength: prompt + turn + OPTIONS.maxNewTokens });
    expect(trajectories.map(({ finish }) => finish)).toEqual(['length', 'answer']);
    expect(kinds(trajectories[0])).toEqual(['prompt', 'policy', 'information']);
    expect(policy.calls[0]).toHaveLength(2);
    expect(policy.calls).toHaveLength(1);
    const roomier = await play(scripts, { maxLength: prompt + turn + OPTIONS.maxNewTokens + 1 });
    expect(roomier.trajectories[0].modelCalls).toBe(2);
  });
});

describe('many rows', () => {
  const SCRIPTS = {
    'a?': [SEARCH, '<search> X ## Z </search>', ANSWER],
    'b?': ['<search> Y ## W </search>', ANSWER],
    'c?': [ANSWER],
    'd?': ['nonsense', SEARCH, ANSWER],
  };

  it('go a turn at a time: all sub-queries of a turn in one search, duplicates fetched once', async () => {
    const retriever = library();
    const { trajectories, stats, policy } = await play(SCRIPTS, { retriever });
    expect(retriever.calls).toEqual([
      ['X', 'Y', 'W'],
      ['X', 'Z', 'Y'],
    ]);
    expect(stats).toEqual({ retrievalsRequested: 8, retrievalsFetched: 6, retrievalsFailed: 0 });
    expect(policy.calls.map((call) => call.length)).toEqual([4, 3, 2]);
    expect(trajectories.map(({ question }) => question)).toEqual(Object.keys(SCRIPTS));
    expect(trajectories[1].segments[2].text).toBe(found('Y', 'W'));
    expect(trajectories[3].segments[4].text).toBe(found('X', 'Y'));
    expect(trajectories.map(({ modelCalls }) => modelCalls)).toEqual([3, 2, 1, 3]);
  });

  it('give a row what it would get alone', async () => {
    const { trajectories } = await play(SCRIPTS);
    for (const [i, [question, script]] of Object.entries(SCRIPTS).entries()) {
      expect((await play({ [question]: script })).trajectories[0]).toEqual(trajectories[i]);
    }
  });

  it('keep answers of the retriever across calls in the cache they are given', async () => {
    const [retriever, cache] = [library(), new Map<string, RetrievedPassage[]>()];
    await play(SCRIPTS, { retriever, cache });
    const { stats } = await play(SCRIPTS, { retriever, cache });
    expect(retriever.calls.flat()).toEqual(['X', 'Y', 'W', 'Z']);
    expect(stats).toEqual({ retrievalsRequested: 8, retrievalsFetched: 0, retrievalsFailed: 0 });
  });

  it('are searched for by who plays the search engine, where there is one', async () => {
    const retriever = library();
    const search: RolloutOptions['search'] = async (asked) =>
      asked.map(({ query, question }) =>
        query === 'X'
          ? { status: 'failed', reason: `nothing on ${question.question}` }
          : { status: 'ok', passages: [{ passage: makePassage('w', `${query}\nWritten.`), score: 0 }] },
      );
    const { trajectories, stats } = await play(SCRIPTS, { retriever, search });
    expect(retriever.calls).toEqual([]);
    expect(stats).toEqual({ retrievalsRequested: 8, retrievalsFetched: 8, retrievalsFailed: 3 });
    expect(trajectories[1].segments[2].text).toContain('Written.');
    expect(trajectories[0].searchTurns[0].results).toEqual([
      { status: 'failed', reason: 'the search engine gave no answer.', detail: 'nothing on a?' },
      { status: 'ok', passages: [{ id: 'w', title: 'Y', score: 0 }] },
    ]);
  });

  it('keep their own generator, however many of the others have finished', async () => {
    const { policy } = await play(SCRIPTS);
    const statesOf = (call: number): number[][] =>
      policy.options[call].randoms.map((random) => random.state());
    const fresh = (question: string): number[] => createRandom(`id of ${question}`).state();
    expect(statesOf(1)).toEqual(['a?', 'b?', 'd?'].map(fresh));
    expect(statesOf(2)).toEqual(['a?', 'd?'].map(fresh));
  });

  it('need a generator each, and may be none', async () => {
    const options = { ...OPTIONS, randoms: [createRandom(1)] };
    await expect(rollOut(scriptedPolicy({}), library(), [ask('a?'), ask('b?')], options)).rejects.toThrow(
      'Expected 2 generators, one a question, but got 1.',
    );
    expect((await play({})).trajectories).toEqual([]);
  });
});

describe('a retriever that fails', () => {
  it('becomes a line of the information block, and is counted', async () => {
    const retriever = echoRetriever((queries) => {
      if (queries.includes('X')) throw new Error(`the\u0000\u0001 index ${'is gone '.repeat(50)}`);
    });
    const { trajectories, stats } = await play({ 'who?': [SEARCH, ANSWER] }, { retriever });
    const [{ segments, searchTurns, finish }] = trajectories;
    expect(segments[2].kind).toBe('information');
    expect(segments[2].text).toContain(
      'Retrieval failed: the search engine gave no answer.\nDoc 1(Title: Y)',
    );
    const failed = {
      ...{ status: 'failed', reason: 'the search engine gave no answer.' },
      detail: `the  index ${'is gone '.repeat(50)}`.slice(0, 200),
    };
    expect(searchTurns[0].results).toEqual([failed, expect.objectContaining({ status: 'ok' })]);
    expect(JSON.stringify(segments)).not.toContain('is gone');
    expect(stats).toEqual({ retrievalsRequested: 2, retrievalsFetched: 2, retrievalsFailed: 1 });
    expect(finish).toBe('answer');
  });
});

describe('an abort', () => {
  it('ends the rollout with its reason', async () => {
    const controller = new AbortController();
    const retriever = echoRetriever(() => controller.abort(new Error('enough')));
    await expect(
      play({ 'who?': [SEARCH, ANSWER] }, { retriever, signal: controller.signal }),
    ).rejects.toThrow('enough');
  });
});

describe('a trajectory', () => {
  it('holds ids as their writers wrote them, a loss mask of 1 on those of the policy, and their log-probabilities', async () => {
    const trajectory = await playOne(['nonsense', SEARCH, ANSWER]);
    expect(kinds(trajectory)).toEqual(['prompt', 'policy', 'notice', 'policy', 'information', 'policy']);
    const mask = lossMask(trajectory);
    let at = 0;
    for (const { kind, text, tokenIds: ids, logProbs } of trajectory.segments) {
      expect(ids).toEqual(CHARACTERS.encode(text));
      expect(mask.slice(at, (at += ids.length))).toEqual(ids.map(() => (kind === 'policy' ? 1 : 0)));
      expect(logProbs?.length).toBe(kind === 'policy' ? ids.length : undefined);
    }
    expect(mask).toHaveLength(at);
    expect(CHARACTERS.decode(tokenIds(trajectory))).toBe(
      trajectory.segments[0].text + responseText(trajectory),
    );
  });

  it("never encodes the policy's text again", async () => {
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

describe('passages for which the context has no room', () => {
  /** Query "x" finds x1 to x4, the best first. */
  const generous: Retriever = {
    name: 'generous',
    retrieve: async (queries, { topK }) =>
      queries.map((query) =>
        [1, 2, 3, 4].slice(0, topK).map((rank) => ({
          passage: makePassage(`${query}${rank}`, `${query}${rank}\nAll about ${query}${rank}.`),
          score: 5 - rank,
        })),
      ),
  };
  const passagesOf = (...titles: string[]) => ({
    status: 'ok' as const,
    passages: titles.map((title) => ({ title, text: `All about ${title}.` })),
  });
  const two = printInformation([passagesOf('X1', 'X2'), passagesOf('Y1', 'Y2')]);
  const prompt = buildPrompt('parallel', 'who?', { form: 'short' });
  // Three turns may follow, and the next text of the policy.
  const enoughForTwo = prompt.length + SEARCH.length + two.length + 3 * 10 + OPTIONS.maxNewTokens + 1;
  const search = async (maxLength: number, reservePerTurn?: number) => {
    const options = { retriever: generous, topK: 4, maxLength, reservePerTurn };
    const trajectory = await playOne([SEARCH, ANSWER], options);
    const shown = trajectory.searchTurns[0].results.map((result) =>
      result.status === 'ok' ? [result.passages.length, result.numLeftOut] : [],
    );
    return { ...trajectory, shown };
  };

  it.each([
    ['from the lowest ranks on, alike for every sub-query', enoughForTwo, 10, [2, 2]],
    ['at the first token that is too much', enoughForTwo - 1, 10, [1, 3]],
    ['but for the first of a sub-query', prompt.length + SEARCH.length + 60, 10, [1, 3]],
  ])('are left out and counted: %s', async (_, maxLength, reservePerTurn, shown) => {
    expect((await search(maxLength, reservePerTurn)).shown).toEqual([shown, shown]);
  });

  it('are left out beyond what one turn may bring', async () => {
    const show = async (maxInformationTokens: number) => {
      const options = { retriever: generous, topK: 4, maxLength: 10_000, maxInformationTokens };
      const { searchTurns } = await playOne([SEARCH, ANSWER], options);
      return searchTurns[0].results.map((result) => (result.status === 'ok' ? result.passages.length : 0));
    };
    expect(await show(two.length)).toEqual([2, 2]);
    expect(await show(two.length - 1)).toEqual([1, 1]);
    expect(await show(1)).toEqual([1, 1]);
  });

  it('are shown all the same where nothing is kept free, and end the rollout', async () => {
    const { segments, finish } = await search(enoughForTwo, 10);
    expect([segments[2].text, finish]).toEqual([two, 'answer']);
    const unreserved = await search(enoughForTwo);
    expect([unreserved.shown[0], unreserved.finish]).toEqual([[4, undefined], 'length']);
  });
});
