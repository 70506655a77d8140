/** A server with OpenAI's chat completions API and a scripted model. */
import { json } from 'node:stream/consumers';
import { serveLocally, type LocalServer } from '../../../lib/io/local-server.js';
import type { AssistantMessage, Message, Tool } from '../../../lib/text/messages.js';

export interface ChatRequest {
  model: string;
  messages: Message[];
  tools?: Tool[];
  parallel_tool_calls?: boolean;
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  stop?: string[];
  stream?: boolean;
}

export const say = (content: string): AssistantMessage => ({ role: 'assistant', content });

/** A message with one call of `search` per item. */
export const call = (...calls: object[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map((query, i) => ({
    id: `call-${i}`,
    type: 'function',
    function: { name: 'search', arguments: JSON.stringify(query) },
  })),
});

export const refuse = (status: number, error: object): Response =>
  Response.json({ error: { message: '', type: 'invalid_request_error', ...error } }, { status });

/** The server-sent events of a message, in chunks of a few characters. */
function streamOf(
  { content, reasoning_content: thought = '', tool_calls: calls = [] }: AssistantMessage,
  usage: object,
): Response {
  const partsOf = (text: string): string[] => text.match(/[^]{1,5}/g) ?? [];
  const deltas: object[] = [
    { role: 'assistant' },
    ...partsOf(thought).map((part) => ({ reasoning_content: part })),
    ...partsOf(content ?? '').map((part) => ({ content: part })),
    ...calls.flatMap(({ id, function: { name, arguments: args } }, index) => [
      { tool_calls: [{ index, id, function: { name, arguments: '' } }] },
      ...partsOf(args).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]),
  ];
  const events = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] },
    { choices: [], usage },
  ];
  const data = [...events.map((event) => JSON.stringify(event)), '[DONE]'];
  const headers = { 'content-type': 'text/event-stream' };
  return new Response(data.map((line) => `data: ${line}\n\n`).join(''), { headers });
}

/** Whether a conversation is the client's startup probe. */
export const isProbe = ([first]: readonly Message[]): boolean =>
  first.content === 'Search for the capital of France.';

/**
 * @param reply the model's message, or a response in its place; the client's probe is
 * answered with a call unless `seesProbe`
 */
export async function startChatStandIn(
  reply: (request: ChatRequest) => AssistantMessage | Response | Promise<AssistantMessage>,
  { model = 'scripted', seesProbe = false } = {},
): Promise<LocalServer & { api: string; requests: ChatRequest[]; tokens: string[] }> {
  const requests: ChatRequest[] = [];
  const tokens: string[] = [];
  const server = await serveLocally(0, async (request) => {
    tokens.push(request.headers.authorization ?? '');
    if (request.method === 'GET') return Response.json({ data: [{ id: model }] });
    const body = (await json(request as never)) as ChatRequest;
    requests.push(body);
    const usage = { prompt_tokens: body.tools ? 10 : 8, completion_tokens: 2 };
    const isScripted = seesProbe || !isProbe(body.messages);
    const answer = isScripted ? await reply(body) : call({ query: 'capital' });
    if (answer instanceof Response) return answer;
    if (body.stream) return streamOf(answer, usage);
    const choice = { index: 0, message: answer, finish_reason: 'stop' };
    return Response.json({ choices: [choice], usage });
  });
  return Object.assign(server, { api: `${server.url}v1`, requests, tokens });
}
