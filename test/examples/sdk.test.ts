import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { aiSdkPolicy } from '../../examples/ai-sdk.js';
import { openAiPolicy } from '../../examples/openai-sdk.js';
import {
  createBm25Retriever,
  createPassages,
  createSearchAgent,
  type AgentEvent,
  type ChatPolicy,
} from '../../lib/index.js';
import { call, say, startChatStandIn } from '../policy/api/chat-stand-in.js';
import { closing } from '../servers.js';

const retriever = createBm25Retriever(
  createPassages({ 'Mount Ory': 'It is 3,012 m high.', 'Mount Sel': 'It is 2,440 m high.' }),
);

async function answer(policy: ChatPolicy): Promise<AgentEvent[]> {
  const agent = createSearchAgent({ policy, retriever });
  const events: AgentEvent[] = [];
  for await (const event of agent.ask('Which is higher, Mount Ory or Mount Sel?'))
    events.push(event);
  return events;
}
const search = { type: 'search', queries: ['height of Mount Ory', 'height of Mount Sel'] };

describe('examples of SDKs', () => {
  it('openai-sdk.ts searches with tool calls', async () => {
    const server = closing(
      await startChatStandIn(({ messages }) =>
        messages.length === 1
          ? call(...search.queries.map((query) => ({ query })))
          : say('<answer> Mount Ory </answer>'),
      ),
    );
    const client = new OpenAI({ baseURL: server.api, apiKey: 'none' });
    const events = await answer(openAiPolicy(client, 'scripted'));
    expect(events).toMatchObject([
      search,
      { type: 'passages', passages: [{ title: 'Mount Ory' }, {}] },
      { type: 'passages', passages: [{ title: 'Mount Sel' }, {}] },
      { type: 'answer', answer: 'Mount Ory' },
    ]);
  });

  it('ai-sdk.ts searches with tags', async () => {
    const server = closing(
      await startChatStandIn(({ messages }) =>
        say(
          messages.length === 1
            ? `<think> Both. </think><search> ${search.queries.join(' ## ')} </search>`
            : '<think> 3,012 m. </think><answer> Mount Ory </answer>',
        ),
      ),
    );
    const provider = createOpenAICompatible({ name: 'stand-in', baseURL: server.api });
    const events = await answer(aiSdkPolicy(provider('scripted')));
    expect(events).toContainEqual(search);
    expect(events.at(-1)).toMatchObject({ answer: 'Mount Ory' });
    expect(server.requests[0].stop).toContain('</search>');
  });
});
