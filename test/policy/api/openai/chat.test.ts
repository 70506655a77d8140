import { describe, expect, it, vi } from 'vitest';
import {
  ContextFullError,
  ReplyError,
  type ReplyOptions,
} from '../../../../lib/policy/chat-policy.js';
import { openChatPolicy, type OpenAiChatOptions } from '../../../../lib/policy/api/openai/chat.js';
import { openRemotePolicy } from '../../../../lib/policy/api/remote.js';
import { searchTool } from '../../../../lib/text/messages.js';
import { STOP_STRINGS } from '../../../../lib/text/tags.js';
import { closing } from '../../../servers.js';
import { call, refuse, say, startChatStandIn } from '../chat-stand-in.js';

type StandIn = Awaited<ReturnType<typeof startChatStandIn>>;
let server: StandIn;

async function start(...args: Parameters<typeof startChatStandIn>): Promise<StandIn> {
  return (server = closing(await startChatStandIn(...args)));
}
/** A server whose model sees the probe. */
const startUnknown = (reply: Parameters<typeof startChatStandIn>[0]) =>
  start(reply, { seesProbe: true });
const open = (more: OpenAiChatOptions = {}) =>
  openChatPolicy(server.api, { retries: 2, backOffMs: 1, ...more });

const OPTIONS: ReplyOptions = {
  temperature: 0,
  topP: 1,
  maxNewTokens: 20,
  stop: [],
  tools: [searchTool({ splitQueries: true })],
  parallelToolCalls: true,
};
const QUESTION = [{ role: 'user' as const, content: 'Who?' }];

describe('openChatPolicy', () => {
  it('sends tools and returns calls with usage', async () => {
    await start(() => call({ queries: ['a', 'b'] }));
    const policy = await open({ token: 'secret' });
    expect(policy).toMatchObject({ name: 'scripted', promptForm: 'tools' });
    expect(await policy.reply(QUESTION, OPTIONS)).toEqual({
      message: call({ queries: ['a', 'b'] }),
      usage: { read: 10, written: 2 },
    });
    expect(server.requests.at(-1)).toMatchObject({
      model: 'scripted',
      messages: QUESTION,
      tools: OPTIONS.tools,
      parallel_tool_calls: true,
      max_tokens: 20,
    });
    expect(new Set(server.tokens)).toEqual(new Set(['Bearer secret']));
  });

  it.each([
    ['a call', call({ queries: ['a', 'b'] }, { query: 'c' })],
    ['text', say('It is Rome, of course. Überall')],
  ])('streams the same message: %s', async (_, message) => {
    await start(() => message);
    const policy = await open();
    const parts: string[] = [];
    const onText = (text: string) => void parts.push(text);
    const streamed = await policy.reply(QUESTION, { ...OPTIONS, onText });
    expect(streamed).toEqual(await policy.reply(QUESTION, OPTIONS));
    expect(parts.join('')).toBe(message.content ?? '');
  });

  it('asks for the whole reply if the server rejects a stream', async () => {
    const message = say('Rome');
    const refused = { message: 'Unknown parameter: stream_options' };
    await start(({ stream: isStreamed }) => (isStreamed ? refuse(400, refused) : message));
    const policy = await open();
    const onText = vi.fn<(text: string) => void>();
    expect((await policy.reply(QUESTION, { ...OPTIONS, onText })).message).toEqual(message);
    expect(onText.mock.calls).toEqual([['Rome']]);
  });

  it('uses tags if the server rejects tools, and restores the stop text', async () => {
    const refused = { message: '"auto" tool choice requires --enable-auto-tool-choice' };
    const written = '<think> a </think><search> b ';
    await startUnknown(({ tools }) => (tools ? refuse(400, refused) : say(written)));
    const policy = await open();
    expect(policy.promptForm).toBe('chat');
    const { message } = await policy.reply(QUESTION, { ...OPTIONS, tools: [], stop: STOP_STRINGS });
    expect(message.content).toBe('<think> a </think><search> b </search>');
    await expect(open({ promptForm: 'tools' })).rejects.toThrow('enable-auto-tool-choice');
  });

  it('uses tags if the server accepts tools but ignores them', async () => {
    await startUnknown(() => say('Paris'));
    expect((await open()).promptForm).toBe('chat');
    expect(server.requests[0]).toMatchObject({ tool_choice: 'required' });
    expect((await open({ promptForm: 'tools' })).promptForm).toBe('tools');
  });

  it('uses tags if the prompt is as long without tools', async () => {
    const usage = { prompt_tokens: 37, completion_tokens: 2 };
    await startUnknown(({ tools }) =>
      Response.json({ choices: [{ message: tools ? call({ query: 'a' }) : say('b') }], usage }),
    );
    expect((await open()).promptForm).toBe('chat');
    usage.prompt_tokens = 0; // not counted
    expect((await open()).promptForm).toBe('tools');
  });

  it('names the function if the server rejects tool_choice required', async () => {
    await startUnknown((request) =>
      (request as { tool_choice?: unknown }).tool_choice === 'required'
        ? refuse(500, { message: 'string indices must be integers' })
        : call({ query: 'a' }),
    );
    expect((await open()).promptForm).toBe('tools');
    expect(server.requests.at(-3)).toMatchObject({ tool_choice: { function: { name: 'search' } } });
  });

  it('omits tool_choice if the server rejects it', async () => {
    const refused = () => refuse(400, { param: 'tool_choice', message: 'Unsupported.' });
    await startUnknown((request) => ('tool_choice' in request ? refused() : say('Paris')));
    expect((await open()).promptForm).toBe('tools');
  });

  it('omits parameters that the model rejects', async () => {
    await startUnknown((request) => {
      if ('max_tokens' in request)
        return refuse(400, { param: 'max_tokens', message: 'Use max_completion_tokens.' });
      if ('temperature' in request)
        return refuse(400, { param: 'temperature', message: 'Unsupported value.' });
      return call({ query: 'a' });
    });
    const policy = await open();
    expect(policy.note).toContain('temperature');
    await policy.reply(QUESTION, OPTIONS);
    expect(server.requests.at(-1)).toMatchObject({ max_completion_tokens: 20, top_p: 1 });
    expect(server.requests.at(-1)).not.toHaveProperty('temperature');
  });

  // As Azure, Anthropic, Gemini, Mistral, xAI and DeepSeek write it.
  it.each([
    ['parallel_tool_calls', 'Unrecognized request argument supplied: parallel_tool_calls'],
    ['top_p', '`temperature` and `top_p` cannot both be specified for this model.'],
    ['parallel_tool_calls', 'Unknown name "parallel_tool_calls": Cannot find field.'],
    ['seed', '[{"type":"extra_forbidden","loc":["body","seed"]}]'],
    ['stop', 'Model grok-4 does not support parameter stop.'],
    ['tool_choice', 'deepseek-reasoner does not support this tool_choice'],
  ])('finds the parameter %s in: %s', async (name, message) => {
    await startUnknown((request) =>
      name in request ? refuse(400, { message }) : call({ query: 'a' }),
    );
    const policy = await open();
    expect(policy.promptForm).toBe('tools');
    await policy.reply(QUESTION, { ...OPTIONS, temperature: 1, seed: 7 });
    expect(server.requests.at(-1)).not.toHaveProperty(name);
    expect(server.requests.at(-1)).toHaveProperty('temperature');
  });

  it('uses tags if the server only accepts tools with a required call, as vLLM', async () => {
    const refused = { message: '"auto" tool choice requires --enable-auto-tool-choice' };
    await startUnknown((request) =>
      'tools' in request && !('tool_choice' in request)
        ? refuse(400, refused)
        : call({ query: 'a' }),
    );
    expect((await open()).promptForm).toBe('chat');
    await expect(open({ promptForm: 'tools' })).rejects.toThrow('auto-tool-choice');
  });

  // Groq: "property 'reasoning_content' is unsupported" (github.com/janhq/jan/issues/8136).
  it.each(['reasoning', 'reasoning_content'])('sends thoughts back as %s', async (name) => {
    const written = { ...call({ query: 'a' }), [name]: 'First a.' };
    await start(() => written);
    const policy = await open();
    const { message } = await policy.reply(QUESTION, OPTIONS);
    expect(message.reasoning_content).toBe('First a.');
    await policy.reply([...QUESTION, message], OPTIONS);
    expect(server.requests.at(-1)!.messages.at(-1)).toEqual(written);
  });

  // https://docs.mistral.ai/capabilities/reasoning/
  it('reads the chunks of Mistral, whole or streamed, and sends them back', async () => {
    const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
    const chunks = [thinking('First a.'), { type: 'text', text: 'Rome' }];
    const delta = (content: unknown) => choose({ delta: { content } });
    await start(({ stream: isStreamed }) =>
      isStreamed
        ? stream(
            delta([thinking('First ')]),
            delta([thinking('a.')]),
            delta([{ type: 'reference', reference_ids: [1] }]),
            delta('Ro'),
            delta([{ type: 'text', text: 'me' }]),
            choose({ finish_reason: 'stop' }),
          )
        : Response.json({ choices: [{ message: { role: 'assistant', content: chunks } }] }),
    );
    const policy = await open();
    const parts: string[] = [];
    const onText = (text: string) => void parts.push(text);
    const { message } = await policy.reply(QUESTION, { ...OPTIONS, onText });
    expect(message).toEqual({ ...say('Rome'), reasoning_content: 'First a.' });
    expect((await policy.reply(QUESTION, OPTIONS)).message).toEqual(message);
    expect(parts.join('')).toBe('<think> First a. </think>\nRome');
    await policy.reply([...QUESTION, message], OPTIONS);
    expect(server.requests.at(-1)!.messages.at(-1)).toEqual({ role: 'assistant', content: chunks });
    const called = { ...call({ query: 'a' }), content: '', reasoning_content: 'First a.' };
    await policy.reply([...QUESTION, called], OPTIONS);
    expect(server.requests.at(-1)!.messages.at(-1)).toEqual({
      ...call({ query: 'a' }),
      content: chunks.slice(0, 1),
    });
  });

  it('tells a full context from other errors', async () => {
    let code = 'context_length_exceeded';
    await start(() => refuse(400, { code, message: 'No.' }));
    const policy = await open();
    await expect(policy.reply(QUESTION, OPTIONS)).rejects.toThrow(ContextFullError);
    code = 'invalid';
    await expect(policy.reply(QUESTION, OPTIONS)).rejects.not.toThrow(ContextFullError);
  });

  // As LiteLLM, Anthropic, vLLM, TGI, Gemini and Qwen write it.
  it.each([
    'litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException',
    'prompt is too long: 250000 tokens > 200000 maximum',
    'The decoder prompt (length 5001) is longer than the maximum model length of 4096.',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Range of input length should be [1, 98304]',
  ])('recognises a full context: %s', async (error) => {
    await start(() => Response.json({ error }, { status: 400 }));
    const policy = await open();
    await expect(policy.reply(QUESTION, OPTIONS)).rejects.toThrow(ContextFullError);
  });

  const stream = (...events: object[]) =>
    new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const choose = (choice: object) => ({ choices: [{ delta: {}, ...choice }] });

  it('separates streamed calls with the same index', async () => {
    const message = call({ query: 'a' }, { query: 'b' });
    const calls = message.tool_calls!.map((one) => ({ index: 0, ...one }));
    const deltas = calls.map((one) => choose({ delta: { tool_calls: [one] } }));
    await start(() => stream(...deltas, choose({ finish_reason: 'tool_calls' })));
    const reply = (await open()).reply(QUESTION, { ...OPTIONS, onText: () => undefined });
    expect((await reply).message).toEqual(message);
    // As Gemini sends them.
    const nameless = calls.map((one) => choose({ delta: { tool_calls: [{ ...one, id: '' }] } }));
    await start(() => stream(...nameless, choose({ finish_reason: 'stop' })));
    const numbered = (await open()).reply(QUESTION, { ...OPTIONS, onText: () => undefined });
    const renamed = message.tool_calls!.map((one, i) => ({ ...one, id: `call-${i}` }));
    expect((await numbered).message.tool_calls).toEqual(renamed);
  });

  it('takes a repeated name once, and last parts without delta or choices', async () => {
    const message = call({ query: 'a' });
    const [{ id, function: called }] = message.tool_calls!;
    const parts = ['', called.arguments].map((json) =>
      choose({
        delta: { tool_calls: [{ index: 0, id, function: { name: 'search', arguments: json } }] },
      }),
    );
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const end = [choose({ delta: null, finish_reason: 'tool_calls' }), { choices: null, usage }];
    await start(() => stream(...parts, ...end));
    const reply = (await open()).reply(QUESTION, { ...OPTIONS, onText: () => undefined });
    expect(await reply).toEqual({ message, usage: { read: 5, written: 2 } });
  });

  it.each([
    // The examples of xAI's documentation and of OpenAI's, which counts thoughts.
    [
      { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
      { read: 32, written: 103 },
    ],
    [
      { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
      { read: 19, written: 10 },
    ],
    [
      { prompt_tokens: 19, completion_tokens: 10, total_tokens: null },
      { read: 19, written: 10 },
    ],
    [
      { prompt_tokens: 19, completion_tokens: 10, total_tokens: 0 },
      { read: 19, written: 10 },
    ],
  ])('counts thoughts as written: %o', async (usage, counted) => {
    await start(() => Response.json({ choices: [{ message: say('Rome') }], usage }));
    expect((await (await open()).reply(QUESTION, OPTIONS)).usage).toEqual(counted);
  });

  it("rejects a reply with the error of OpenRouter's provider", async () => {
    const choice = { message: say(''), finish_reason: null, error: { code: 502, message: 'down' } };
    await start(() => Response.json({ choices: [choice] }));
    const reply = (await open()).reply(QUESTION, OPTIONS);
    await expect(reply).rejects.toThrow(
      new ReplyError('Expected a complete reply, but got an error: down'),
    );
  });

  it.each([
    ['llama-3', 'policy: gpt-9 (its answers name llama-3) at '],
    ['gpt-9', 'policy: gpt-9 at '],
    [undefined, 'policy: gpt-9 at '],
  ])('names the model that answers if it is another: %s', async (name, note) => {
    await startUnknown(() => Response.json({ model: name, choices: [{ message: say('Rome') }] }));
    expect((await open({ model: 'gpt-9' })).note).toContain(note);
  });

  it('reads thoughts from the field that has them', async () => {
    const message = { ...say('Rome'), reasoning_content: '', reasoning: 'Italy' };
    await start(() => Response.json({ choices: [{ message }] }));
    const { message: read } = await (await open()).reply(QUESTION, OPTIONS);
    expect(read.reasoning_content).toBe('Italy');
  });

  it.each(['<|im_end|>', '<|eot_id|>\n', '</s>', '<end_of_turn>', '<|im_end|><|endoftext|>'])(
    'leaves out end tokens that the server left in the text: %j',
    async (end) => {
      await start(() => Response.json({ choices: [{ message: say(`Rome${end}`) }] }));
      const { message } = await (await open()).reply(QUESTION, OPTIONS);
      expect(message.content).toBe('Rome');
    },
  );

  it('reads a refusal from its own field', async () => {
    const deltas = ["I can't ", 'help.'].map((refusal) => choose({ delta: { refusal } }));
    await start(() => stream(...deltas, choose({ finish_reason: 'stop' })));
    const parts: string[] = [];
    const onText = (text: string) => void parts.push(text);
    const { message } = await (await open()).reply(QUESTION, { ...OPTIONS, onText });
    expect(message.content).toBe("I can't help.");
    expect(parts).toEqual(["I can't ", 'help.']);
    const whole = { ...say(''), refusal: 'No.' };
    await start(() => Response.json({ choices: [{ message: whole }] }));
    expect((await (await open()).reply(QUESTION, OPTIONS)).message.content).toBe('No.');
  });

  it.each([
    { prompt_tokens: -5, completion_tokens: 2 },
    { prompt_tokens: 0, completion_tokens: 0 },
    { prompt_tokens: 5, completion_tokens: 1e300 },
  ])('omits impossible usage: %j', async (usage) => {
    await start(() => Response.json({ choices: [{ message: say('Rome') }], usage }));
    expect(await (await open()).reply(QUESTION, OPTIONS)).not.toHaveProperty('usage');
  });

  const text = choose({ delta: { content: 'Ro' } });
  const called = (json: string) =>
    choose({ delta: { tool_calls: [{ function: { name: 'search', arguments: json } }] } });
  const whole = { choices: [{ message: say('Rome'), finish_reason: 'stop' }] };
  it.each([
    ['an unfinished stream', stream(text), /no end/],
    ['an error in a stream', stream(text, { error: { message: 'crashed' } }), /crashed/],
    ['an error of another form', stream(text, { object: 'error', message: 'crashed' }), /crashed/],
    [
      'an error in a detail',
      stream(text, { detail: 'crashed' }, choose({ finish_reason: 'stop' })),
      /crashed/,
    ],
    ['other JSON in place of a stream', Response.json({ time: 12 }), /got: .*12/],
    [
      'a stream without a reply',
      stream({ time: 12 }, { choices: [{ finish_reason: 'stop' }] }),
      /got none/,
    ],
    ['lost tool calls', stream(choose({ finish_reason: 'tool_calls' })), /sent none/],
    ['half an answer', stream(text, choose({ finish_reason: 'length' })), /maxNewTokens/],
    ['no text within the token limit', stream(choose({ finish_reason: 'length' })), /maxNewTokens/],
    ['half a tool call', stream(called('{"que'), choose({ finish_reason: 'length' })), /maxNewTok/],
    [
      'a tool call without arguments within the token limit',
      stream(called(''), choose({ finish_reason: 'length' })),
      /maxNewTokens/,
    ],
    [
      'half an answer of Mistral',
      stream(text, choose({ finish_reason: 'model_length' })),
      /model_/,
    ],
    ['half an answer of Gemini', stream(text, choose({ finish_reason: 'MAX_TOKENS' })), /MAX_T/],
    [
      'a reply that ended for another reason',
      stream(text, choose({ finish_reason: 'SAFETY' })),
      /SAF/,
    ],
    ['a withheld reply', stream(choose({ finish_reason: 'content_filter' })), /withheld/],
    [
      'a reply withheld in mid-stream',
      stream(text, choose({ finish_reason: 'content_filter' })),
      /withheld/,
    ],
  ])('rejects %s', async (_, response, reason) => {
    await start(() => response);
    const reply = (await open()).reply(QUESTION, { ...OPTIONS, onText: () => undefined });
    const error: unknown = await reply.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ReplyError);
    expect((error as Error).message).toMatch(reason);
  });

  it.each([{ error: 'busy' }, { object: 'error', message: 'busy' }, { detail: 'busy' }])(
    'names an error with status 200: %j',
    async (body) => {
      await start(() => Response.json(body));
      await expect((await open()).reply(QUESTION, OPTIONS)).rejects.toThrow(/error: busy/);
    },
  );

  it('warns once of tool calls in the text, and reads arguments that are an object', async () => {
    const warnings = vi.spyOn(console, 'error').mockReturnValue();
    await start(() => say('<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>'));
    const policy = await open();
    for (let i = 0; i < 2; i++) await policy.reply(QUESTION, OPTIONS);
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('--tool-call-parser')]]);
    warnings.mockRestore();
    const called = { name: 'search', arguments: { query: 'a' } };
    const message = { content: null, tool_calls: [{ id: '1', function: called }] };
    await start(() => Response.json({ choices: [{ message }] }));
    const [{ function: read }] = (await (await open()).reply(QUESTION, OPTIONS)).message
      .tool_calls!;
    expect(read).toEqual({ name: 'search', arguments: '{"query":"a"}' });
  });

  // vllm-project/vllm#19222: without a mark after the thoughts, all text counts as thoughts.
  it('warns once of replies that have only thoughts', async () => {
    const warnings = vi.spyOn(console, 'error').mockReturnValue();
    const message = { content: null, reasoning_content: '<answer>Rome</answer>' };
    await start(() => Response.json({ choices: [{ message, finish_reason: 'stop' }] }));
    const policy = await open();
    for (let i = 0; i < 2; i++) await policy.reply(QUESTION, OPTIONS);
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('--reasoning-parser')]]);
    warnings.mockRestore();
  });

  it('rejects one reply if the server fails on its prompt, and all if it fails', async () => {
    for (const [status, isOne] of Object.entries({
      400: true,
      500: true,
      402: false,
      404: false,
    })) {
      await start(() => refuse(Number(status), { message: 'Content Exists Risk' }));
      const reply = (await open()).reply(QUESTION, OPTIONS).catch((error: unknown) => error);
      expect((await reply) instanceof ReplyError, status).toBe(isOne);
    }
  });

  it('accepts a whole message in place of a stream', async () => {
    await start(() => Response.json(whole));
    const parts: string[] = [];
    const onText = (text: string) => void parts.push(text);
    const { message } = await (await open()).reply(QUESTION, { ...OPTIONS, onText });
    expect([message.content, ...parts]).toEqual(['Rome', 'Rome']);
  });

  it('accepts a message cut off after its answer or call, or within tags', async () => {
    const cut = (content: string) => ({
      choices: [{ message: say(content), finish_reason: 'length' }],
    });
    const replyTo = async (content: string, more: Partial<ReplyOptions>) => {
      await start(() => Response.json(cut(content)));
      return (await (await open()).reply(QUESTION, { ...OPTIONS, ...more })).message.content;
    };
    const answered = '<answer> Rome </answer> beca';
    expect(await replyTo(answered, {})).toBe(answered);
    expect(await replyTo('<think> Ro', { tools: [] })).toBe('<think> Ro');
    const calls = call({ query: 'a' });
    const choices = [{ message: calls, finish_reason: 'length' }];
    await start(() => Response.json({ choices }));
    expect((await (await open()).reply(QUESTION, OPTIONS)).message).toEqual(calls);
  });

  it.each([
    [401, /POLICY_TOKEN/],
    [404, /\/v1.*--model/],
  ])('suggests a remedy for status %d', async (status, remedy) => {
    await startUnknown(() => refuse(status, { message: 'No.' }));
    await expect(open()).rejects.toThrow(remedy);
  });

  it('retries a busy server', async () => {
    let tries = 0;
    await start(() => (++tries < 3 ? refuse(429, {}) : say('Rome')));
    expect((await (await open()).reply(QUESTION, OPTIONS)).message.content).toBe('Rome');
  });

  it('stops when aborted', async () => {
    await start(() => new Promise(() => undefined));
    const policy = await open();
    const signal = AbortSignal.timeout(50);
    await expect(policy.reply(QUESTION, { ...OPTIONS, signal })).rejects.toThrow(/timeout/);
    await startUnknown(() => new Promise(() => undefined));
    await expect(open({ signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
  });

  it('sends a password in the address as a header and never shows it', async () => {
    await startUnknown(() => refuse(500, { message: 'broken' }));
    const address = server.api.replace('http://', 'http://me:secret@');
    const opened = openChatPolicy(address, { retries: 0 });
    const error = (await opened.catch((reason: unknown) => reason)) as Error;
    expect(error.message).toContain('500');
    expect(error.message).not.toContain('secret');
    expect(server.tokens[0]).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
  });

  it("accepts an endpoint's address, and names the other API", async () => {
    await start(() => say('Rome'));
    for (const path of ['/chat/completions', '/completions/', '/models'])
      expect((await openChatPolicy(server.api + path, { retries: 0 })).name).toBe('scripted');
    const azure = await openChatPolicy(`${server.api}/chat/completions?api-version=1`, {
      retries: 0,
    });
    expect(azure.note).toContain(`${server.api}?..., `);
    const other = openRemotePolicy(`${server.api}/chat/completions`);
    await expect(other).rejects.toThrow(`Expected chat:${server.api} for`);
  });

  it('opens addresses that begin with chat:', async () => {
    await start(() => say('yes'));
    const policy = await openRemotePolicy(`chat:${server.api}`, { promptForm: 'full' });
    expect(policy).toMatchObject({ promptForm: 'chat' });
    await expect(async () => openRemotePolicy('chat:localhost:1/v1')).rejects.toThrow(/https:/);
  });
});
