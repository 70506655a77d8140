import { describe, expect, it, vi } from 'vitest';
import {
  ContextFullError,
  ReplyError,
  textPolicy,
  toolPolicy,
  type ChatPolicy,
  type ReplyOptions,
} from '../../lib/policy/chat-policy.js';
import type { Policy } from '../../lib/policy/policy.js';
import { createRandom } from '../../lib/random.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { RolloutOptions } from '../../lib/rollout/options.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import { formatTrajectory, tokenUsage, type Trajectory } from '../../lib/rollout/trajectory.js';
import type { AssistantMessage, Message } from '../../lib/text/messages.js';
import { formatFault } from '../../lib/text/response.js';
import { call, say } from '../policy/api/chat-stand-in.js';
import { ANSWER, ask, found, kinds, library, OPTIONS, playOne, SEARCH } from './play.js';
import { CHARACTERS, scriptedPolicy } from './scripted-policy.js';

/** `toMatchObject` treats a bare regular expression as an empty object. */
const matching = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

/** Rolls out one question with a model that returns these messages in turn. */
async function converse(
  replies: readonly AssistantMessage[],
  more: Partial<RolloutOptions> = {},
): Promise<{ trajectory: Trajectory; seen: Message[][]; calls: string[][] }> {
  const seen: Message[][] = [];
  const policy = toolPolicy(async (messages) => {
    seen.push([...messages]);
    return { message: replies[seen.length - 1], usage: { read: 10 * seen.length, written: 1 } };
  });
  const retriever = library();
  const trajectory = await rollOutOne(policy, more, retriever);
  return { trajectory, seen, calls: retriever.calls };
}

/** Rolls out one question. */
async function rollOutOne(
  policy: ChatPolicy,
  more: Partial<RolloutOptions> = {},
  retriever: Retriever = library(),
): Promise<Trajectory> {
  const { promptForm } = policy;
  const options = { ...OPTIONS, promptForm, randoms: [createRandom(1)], ...more };
  return (await rollOut(policy, retriever, [ask('who?')], options)).trajectories[0];
}

describe('a rollout with tool calls', () => {
  it('executes all calls of a message in one turn', async () => {
    const { trajectory, seen, calls } = await converse([
      call({ queries: ['X', 'Y'] }, { query: 'Z' }),
      say('It is X. <answer> gold </answer>'),
    ]);
    expect(calls).toEqual([['X', 'Y', 'Z']]);
    expect(kinds(trajectory)).toEqual(['prompt', 'policy', 'information', 'policy']);
    expect(trajectory).toMatchObject({ answer: 'gold', modelCalls: 2, finish: 'answer' });
    expect(trajectory.searchTurns.map(({ queries }) => queries)).toEqual([['X', 'Y', 'Z']]);
    expect(trajectory.segments[2].text).toBe(found('X', 'Y', 'Z'));
    expect(formatFault(trajectory.segments)).toBeNull();
    const [, assistant, ...results] = seen[1];
    expect(assistant).toMatchObject({ tool_calls: [{}, {}] });
    expect(results).toMatchObject([
      { role: 'tool', tool_call_id: 'call-0', content: matching(/X[^]*Y/) },
      { role: 'tool', tool_call_id: 'call-1', content: expect.stringContaining('Z') as string },
    ]);
    expect(tokenUsage(trajectory)).toEqual({ read: 30, written: 2 });
  });

  it('warns once of a server that drops the start of a conversation, as Ollama', async () => {
    const warnings = vi.spyOn(console, 'error').mockReturnValue();
    const read = [3974, 2051, 3000, 2051];
    const policy = toolPolicy(async () => ({
      message: read.length > 1 ? call({ query: 'X' }) : say('gold'),
      usage: { read: read.shift()!, written: 1 },
    }));
    const trajectory = await rollOutOne(policy);
    expect(trajectory).toMatchObject({ answer: 'gold', modelCalls: 4 });
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('OLLAMA_CONTEXT_LENGTH')]]);
    warnings.mockRestore();
  });

  it('offers one query at a time to Search-R1', async () => {
    const { calls, seen } = await converse([call({ query: 'X' }, { query: 'Y' }), say('gold')], {
      prompt: 'search-r1',
      splitQueries: false,
    });
    expect(calls).toEqual([['X']]);
    expect(seen[1].at(-1)).toMatchObject({
      tool_call_id: 'call-1',
      content: matching(/^Y\nNot searched/),
    });
  });

  it('replies to an invalid call and to an empty message', async () => {
    const { trajectory, seen } = await converse([call({ text: 'X' }), say(''), say('gold')]);
    expect(kinds(trajectory)).toEqual(['prompt', 'policy', 'notice', 'policy', 'notice', 'policy']);
    expect(seen[1].at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call-0' });
    expect(seen[2].at(-1)).toMatchObject({ role: 'user', content: matching(/tool `search`/) });
    expect(trajectory.answer).toBe('gold');
  });

  it('limits the queries per turn', async () => {
    const { calls, seen } = await converse([call({ queries: ['X', 'Y'] }), say('gold')], {
      maxSubQueries: 1,
    });
    expect(calls).toEqual([['X']]);
    expect(seen[1].at(-1)).toMatchObject({ content: matching(/Y\nNot searched/) });
  });

  it('drops passages over the token limit', async () => {
    const many = library();
    const two = {
      ...many,
      retrieve: async (queries: readonly string[]) => {
        const found = await many.retrieve(queries, { topK: 1 });
        return found.map(([one]) => [one, one]);
      },
    };
    const results = async (maxInformationTokens: number) => {
      const policy = toolPolicy(async (messages) => ({
        message: messages.length === 1 ? call({ query: 'X' }) : say('gold'),
      }));
      const trajectory = await rollOutOne(policy, { topK: 2, maxInformationTokens }, two);
      return trajectory.searchTurns[0].results[0];
    };
    expect(await results(1000)).toMatchObject({ passages: [{}, {}] });
    expect(await results(1)).toMatchObject({ passages: [{}], numLeftOut: 1 });
  });

  it('keeps ## in its transcript, and labels results on request', async () => {
    const { trajectory, calls, seen } = await converse(
      [call({ queries: ['Paris, France', 'Y'] }), say('gold')],
      { querySeparator: ',', informationForm: 'json' },
    );
    expect(calls).toEqual([['Paris, France', 'Y']]);
    expect(trajectory.segments[1].text).toContain('<search> Paris, France ## Y </search>');
    expect(trajectory.querySeparator).toBe('##');
    const line = parseTrajectory(JSON.parse(formatTrajectory(trajectory)));
    expect(line.querySeparator).toBe('##');
    expect(seen[1].at(-1)).toMatchObject({ content: matching(/"query": \[\s+"Paris, France"/) });
  });

  it('cuts results per query and rejects a raw cut', async () => {
    const script = [call({ queries: ['X', 'Y'] }), say('gold')];
    const limit = { maxInformationTokens: 15 };
    const { seen } = await converse(script, { ...limit, informationCut: 'query' });
    expect(seen[1].at(-1)).toMatchObject({ content: matching(/X\n.*Doc 1\([^]*Y\n.*Doc 1\(/) });
    expect((seen[1].at(-1)!.content as string).length).toBeLessThan(120);
    await expect(converse(script, { ...limit, informationCut: 'raw' })).rejects.toThrow(
      'but got raw',
    );
  });

  it('ends when the context is full', async () => {
    const policy = toolPolicy(() => Promise.reject(new ContextFullError('full')));
    const trajectory = await rollOutOne(policy);
    expect(trajectory).toMatchObject({ finish: 'length', answer: null, modelCalls: 0 });
  });

  it('is preserved by its JSON line', async () => {
    const { trajectory } = await converse([call({ queries: ['X', 'Y'] }), say('gold')]);
    const line = parseTrajectory(JSON.parse(formatTrajectory(trajectory)));
    expect(line).toMatchObject({
      answer: 'gold',
      searchTurns: trajectory.searchTurns,
      segments: trajectory.segments.map(({ kind, text }) => ({ kind, text })),
    });
  });
});

describe('a request to a chat model', () => {
  /** The reply options of both kinds of models. */
  async function optionsOf(
    more: Partial<RolloutOptions>,
  ): Promise<Record<'tags' | 'tools', ReplyOptions>> {
    const given: ReplyOptions[] = [];
    await rollOutOne(
      textPolicy(async (_, options) => (given.push(options), ANSWER)),
      more,
    );
    await rollOutOne(
      toolPolicy(async (_, options) => (given.push(options), { message: say('gold') })),
      more,
    );
    return { tags: given[0], tools: given[1] };
  }

  it('asks for tags or for calls of the search tool', async () => {
    const { tags, tools } = await optionsOf({});
    expect(tags).toMatchObject({ stop: ['</search>', '</answer>'], tools: [] });
    expect(tools).toMatchObject({ stop: ['</answer>'], parallelToolCalls: true });
    expect(tools.tools).toMatchObject([{ function: { name: 'search' } }]);
    expect(JSON.stringify(tools.tools)).toContain('"queries"');
  });

  it('allows one query at a time with Search-R1, and no search without a search turn', async () => {
    const single = await optionsOf({ prompt: 'search-r1', splitQueries: false });
    expect(single.tools.parallelToolCalls).toBe(false);
    expect(JSON.stringify(single.tools.tools)).not.toContain('"queries"');
    expect((await optionsOf({ maxSearchTurns: 0 })).tools.tools).toEqual([]);
  });

  it('has a seed only if it samples', async () => {
    const seeds = async (temperature: number) => {
      const { tags, tools } = await optionsOf({ temperature });
      return [tags.seed, tools.seed];
    };
    const seed = createRandom(1).integer(2 ** 31);
    expect(await seeds(0.5)).toEqual([seed, seed]);
    expect(await seeds(0)).toEqual([undefined, undefined]);
  });

  it('may be refused, which only ends its own rollout', async () => {
    const policy = toolPolicy(() => Promise.reject(new ReplyError('too long')));
    const refused = { finish: 'refused', refusal: 'too long', answer: null };
    expect(await rollOutOne(policy)).toMatchObject(refused);
  });
});

const generated = (text: string) => ({ tokenIds: CHARACTERS.encode(text), text, finish: 'stop' });

describe('a request to a policy with token ids', () => {
  it('is never a tool call', async () => {
    await expect(playOne([ANSWER], { promptForm: 'tools' })).rejects.toThrow('scripted');
  });

  it.each<[string, unknown, string]>([
    ['too few generations', [], 'Expected 1 generations from own, but got 0.'],
    ['nothing', undefined, 'Expected 1 generations from own, but got undefined.'],
    ['only text', [{ text: ANSWER }], 'but got tokenIds undefined and text string.'],
    ['only ids', [{ tokenIds: [7] }], 'but got tokenIds object and text undefined.'],
    [
      'text after a search',
      [generated(`${SEARCH}<information>made up</information>${ANSWER}`)],
      'Expected own to stop after </search> or </answer>, but it continued with "<information>made up',
    ],
    ['text after an answer', [generated(`${ANSWER} or so`)], 'continued with " or so"'],
    ['a long text', [generated(ANSWER + 'x'.repeat(99))], `continued with "${'x'.repeat(60)}".`],
  ])('rejects %s of a policy', async (_, generations, message) => {
    const policy = { ...scriptedPolicy({}), name: 'own', generate: async () => generations };
    const options = { ...OPTIONS, randoms: [createRandom(1)] };
    await expect(rollOut(policy as Policy, library(), [ask('who?')], options)).rejects.toThrow(
      message,
    );
  });

  it('may end with a token that holds more than the closing tag', async () => {
    const decode = (ids: readonly number[]): string =>
      ids.length === 1 ? '>\n\n' : CHARACTERS.decode(ids);
    const policy = {
      ...scriptedPolicy({ 'who?': [`${ANSWER}\n\n`] }),
      tokenizer: { ...CHARACTERS, decode },
    };
    const options = { ...OPTIONS, randoms: [createRandom(1)] };
    const { trajectories } = await rollOut(policy, library(), [ask('who?')], options);
    expect(trajectories[0]).toMatchObject({ finish: 'answer', answer: 'gold' });
  });

  it('may be refused, which only ends its own rollout', async () => {
    const scripted = scriptedPolicy({ 'who?': [ANSWER], 'why?': [ANSWER] });
    const generate: Policy['generate'] = async (...call) => {
      const [first, ...others] = await scripted.generate(...call);
      return [{ ...first, refusal: 'outside the vocabulary' }, ...others];
    };
    const policy = { ...scripted, generate };
    const randoms = [createRandom(1), createRandom(2)];
    const questions = [ask('who?'), ask('why?')];
    const { trajectories } = await rollOut(policy, library(), questions, { ...OPTIONS, randoms });
    expect(trajectories).toMatchObject([
      { finish: 'refused', refusal: 'outside the vocabulary', answer: null },
      { finish: 'answer', answer: 'gold' },
    ]);
  });
});

describe('a rollout with tags in messages', () => {
  it('receives raw-cut information', async () => {
    const seen: Message[][] = [];
    const policy = textPolicy(async (messages) => {
      seen.push([...messages]);
      return seen.length === 1 ? SEARCH : ANSWER;
    });
    const limits = { informationCut: 'raw', maxInformationTokens: 10 } as const;
    const { text } = (await rollOutOne(policy, limits)).segments[2];
    expect(text).toBe(found('X', 'Y').slice(0, 40));
    expect(seen[1].at(-1)).toEqual({ role: 'user', content: text });
  });

  it('reads the paper’s tags and answers with user messages', async () => {
    const seen: Message[][] = [];
    const replies = ['no action', `${SEARCH} and more`, ANSWER];
    const policy = textPolicy(async (messages, { stop }) => {
      expect(stop).toContain('</search>');
      seen.push([...messages]);
      return replies[seen.length - 1];
    });
    expect((await rollOutOne(policy)).answer).toBe('gold');
    expect(seen.at(-1)).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'user' },
      { role: 'assistant', content: SEARCH },
      { role: 'user', content: found('X', 'Y') },
    ]);
  });
});
