import { describe, expect, it } from 'vitest';
import { textPolicy, toolPolicy } from '../../lib/policy/chat-policy.js';
import { createSearchAgent, type AgentEvent } from '../../lib/rollout/search-agent.js';
import { call, say } from '../policy/api/chat-stand-in.js';
import { library } from './play.js';
import { scriptedPolicy } from './scripted-policy.js';

const twoTurns = () =>
  toolPolicy(async (messages, { onText }) => {
    await onText?.('...');
    const searches = { ...call({ queries: ['X', 'Y'] }), content: 'Both.' };
    return { message: messages.length === 1 ? searches : say('gold') };
  });

async function collect(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('createSearchAgent', () => {
  it('gives thoughts, searches, passages and the answer in order', async () => {
    const agent = createSearchAgent({ policy: twoTurns(), retriever: library() });
    const events = await collect(agent.ask('who?'));
    expect(events.filter(({ type }) => type !== 'text')).toMatchObject([
      { type: 'thought', text: 'Both.' },
      { type: 'search', queries: ['X', 'Y'] },
      { type: 'passages', query: 'X', passages: [{ title: 'X', text: 'All about X.', score: 2 }] },
      { type: 'passages', query: 'Y', passages: [{ title: 'Y' }] },
      { type: 'answer', answer: 'gold', trajectory: { modelCalls: 2 } },
    ]);
    expect(events[0]).toEqual({ type: 'text', text: '...' });
  });

  it('accepts a policy with token ids, also with a short context', async () => {
    const policy = scriptedPolicy({ 'who?': ['<think> a </think><answer> b </answer>'] }, 1600);
    const agent = createSearchAgent({ policy, retriever: library() });
    expect((await collect(agent.ask('who?'))).at(-1)).toMatchObject({ answer: 'b' });
  });

  it('reports why a search failed', async () => {
    const retriever = { name: 'broken', retrieve: () => Promise.reject(new Error('no index')) };
    const agent = createSearchAgent({ policy: twoTurns(), retriever });
    const failed = { type: 'passages', query: 'X', passages: [], error: 'no index' };
    expect(await collect(agent.ask('who?'))).toContainEqual(failed);
  });

  it('rejects with the policy’s error and the signal’s reason', async () => {
    const broken = textPolicy(() => Promise.reject(new Error('no key')));
    const agent = createSearchAgent({ policy: broken, retriever: library() });
    await expect(collect(agent.ask('who?'))).rejects.toThrow('no key');
    const signal = AbortSignal.abort(new Error('enough'));
    const other = createSearchAgent({ policy: twoTurns(), retriever: library() });
    await expect(collect(other.ask('who?', { signal }))).rejects.toThrow('enough');
  });

  it('searches for parsed arguments of a call', async () => {
    const called = { name: 'search', arguments: { queries: ['X'] } };
    const searches = { tool_calls: [{ id: 'a', function: called }] };
    const policy = toolPolicy(async ({ length }) => ({
      message: length === 1 ? searches : say('gold'),
    }));
    const events = await collect(createSearchAgent({ policy, retriever: library() }).ask('who?'));
    expect(events).toContainEqual({ type: 'search', queries: ['X'] });
  });

  it('rejects what is no reply', async () => {
    const none = async () => undefined as never;
    for (const policy of [textPolicy(none), toolPolicy(none)]) {
      const agent = createSearchAgent({ policy, retriever: library() });
      await expect(collect(agent.ask('who?'))).rejects.toThrow('but got undefined');
    }
  });

  it('stops when its reader stops, and limits concurrent answers', async () => {
    let [active, most] = [0, 0];
    const write: Parameters<typeof textPolicy>[0] = async (_, { signal }) => {
      most = Math.max(most, ++active);
      await new Promise((resolve) => setTimeout(resolve, 5));
      active--;
      signal!.throwIfAborted();
      return '<think> a </think><search> X </search>';
    };
    const parts = { policy: textPolicy(write, { maxConcurrency: 100 }), retriever: library() };
    const options = { maxConcurrency: 2, rollout: { maxSearchTurns: 2 } };
    const agent = createSearchAgent({ ...parts, ...options });
    for await (const event of agent.ask('who?')) if (event.type === 'search') break;
    await Promise.all(['a?', 'b?', 'c?'].map((question) => collect(agent.ask(question))));
    expect(most).toBeLessThanOrEqual(2);
  });
});
