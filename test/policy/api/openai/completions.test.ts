import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { serveLocally } from '../../../../lib/io/local-server.js';
import { endpointUrl, trimEndpoint } from '../../../../lib/policy/api/openai/server.js';
import { CHECKPOINTS } from '../../../../lib/io/paths.js';
import { openCompletionsPolicy } from '../../../../lib/policy/api/openai/completions.js';
import type { OpenAiOptions } from '../../../../lib/policy/api/openai/server.js';
import { loadLocalPolicy } from '../../../../lib/policy/folders/model-folder.js';
import type { Policy, SamplingOptions } from '../../../../lib/policy/policy.js';
import { createRandom } from '../../../../lib/random.js';
import { useBackend } from '../../../../lib/tensor/backend.js';
import { STOP_STRINGS } from '../../../../lib/text/tags.js';
import { readFixture } from '../../../fixtures/read.js';
import { temporaryFolder } from '../../../folder.js';
import { closing, freePort } from '../../../servers.js';
import { CHARACTERS, scriptedPolicy } from '../../../rollout/scripted-policy.js';
import { startVllmStandIn, type CompletionRequest } from '../vllm-stand-in.js';

interface Exchange {
  path: string;
  body?: CompletionRequest & { prompt: number[] };
  status: number;
  answer: {
    choices: {
      text: string;
      token_ids: number[];
      finish_reason: string;
      stop_reason: string | null;
    }[];
  };
}

const folder = join(CHECKPOINTS, 'instruct-1');

const sampling = (
  contexts: readonly unknown[],
  more: Partial<SamplingOptions> = {},
): SamplingOptions => ({
  temperature: 0,
  topP: 1,
  maxNewTokens: 60,
  stop: STOP_STRINGS,
  randoms: contexts.map((_, i) => createRandom(i)),
  ...more,
});

await useBackend('wasm');
const local = await loadLocalPolicy(folder);

describe('a recorded answer of vLLM', () => {
  const exchanges = readFixture<Exchange[]>('completions/vllm.json');
  const completions = exchanges.flatMap(({ body, status, answer }) =>
    body && status === 200 ? [{ ...body, choice: answer.choices[0] }] : [],
  );
  const greedy = completions.filter(
    ({ temperature, max_tokens: n, stop }) => temperature === 0 && n === 60 && stop?.length,
  );
  const contexts = greedy.map(({ prompt }) => prompt);

  /** A server that replays recorded answers. */
  async function openRecorded(): Promise<Policy> {
    const server = closing(
      await serveLocally(0, async (request) => {
        const body = request.method === 'POST' ? await json(request as never) : undefined;
        const match = exchanges.find(
          (exchange) =>
            `/v1${exchange.path}` === request.url && isDeepStrictEqual(exchange.body, body),
        );
        if (!match) return Response.json({ asked: body }, { status: 501 });
        return new Response(JSON.stringify(match.answer).replaceAll('MODEL', folder), {
          status: match.status,
        });
      }),
    );
    return openCompletionsPolicy(`${server.url}v1/`);
  }

  it('matches the tokens, texts and log-probs of the same weights here', async () => {
    const policy = await openRecorded();
    expect(policy).toMatchObject({ name: 'instruct-1', maxLength: 1024, isConcurrent: true });
    expect(policy.note).toMatch(/^policy: instruct-1 at http:.*\/v1, by token ids$/);
    const remote = await policy.generate(contexts, sampling(contexts));
    const expectedRows = await local.generate(contexts, sampling(contexts));
    expect(remote).toHaveLength(4);
    for (const [i, { logProbs, ...generation }] of remote.entries()) {
      const { logProbs: expected, ...rest } = expectedRows[i];
      expect(generation).toEqual(rest);
      logProbs!.forEach((value, t) => expect(value).toBeCloseTo(expected![t], 3));
    }
  });

  it('ends at the maximum number of tokens', async () => {
    const short = await answerOf(await openRecorded(), contexts[0], { maxNewTokens: 5 });
    expect(short).toMatchObject({
      finish: 'length',
      tokenIds: greedy[0].choice.token_ids.slice(0, 5),
    });
  });

  it('is sampled with one seed per row', async () => {
    const two = contexts.slice(0, 2);
    const policy = await openRecorded();
    const sampled = await policy.generate(two, sampling(two, { temperature: 1, topP: 0.9 }));
    const recorded = completions.filter(({ temperature }) => temperature === 1);
    const ids = recorded.map(({ choice }) => choice.token_ids);
    expect(sampled.map(({ tokenIds }) => tokenIds)).toEqual(ids);
    expect(new Set(recorded.map(({ seed }) => seed)).size).toBe(2);
  });

  it("passes on the server's reason for an error", async () => {
    const policy = await openRecorded();
    const long = Array.from({ length: 1100 }, () => 2);
    const { refusal } = await answerOf(policy, long);
    expect(refusal).toContain('maximum context length is 1024');
  });

  it("equals the stand-in's answer", async () => {
    const server = closing(await startVllmStandIn(local, { model: 'instruct-1', root: folder }));
    for (const { choice, ...body } of completions.filter(({ temperature }) => temperature === 0)) {
      const response = await fetch(`${server.api}/completions`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      const { choices } = (await response.json()) as Exchange['answer'];
      const { text, token_ids, finish_reason, stop_reason } = choice;
      expect(choices[0]).toMatchObject({ text, token_ids, finish_reason, stop_reason });
    }
  });
});

/** A policy over a stand-in, without delays before retries. */
async function openStandIn(
  policy: Policy,
  standIn: Partial<Parameters<typeof startVllmStandIn>[1]> = {},
  options: OpenAiOptions = {},
) {
  const server = closing(await startVllmStandIn(policy, { model: 'm', root: folder, ...standIn }));
  return { server, policy: await openCompletionsPolicy(server.api, { backOffMs: 1, ...options }) };
}
const CONTEXT = local.tokenizer.encode('Question: Who?\n');
/** The policy's answer to one context. */
const answerOf = async (policy: Policy, context = CONTEXT, more: Partial<SamplingOptions> = {}) =>
  (await policy.generate([context], sampling([context], more)))[0];
const SAID = '<think> a </think><search> b </search>';
/** Always answers the same, in the small model's tokens. */
const saying = (text: string): Policy => ({
  ...scriptedPolicy({}),
  tokenizer: local.tokenizer,
  maxLength: 1000,
  generate: async (contexts) =>
    contexts.map(() => {
      const tokenIds = local.tokenizer.encode(text);
      return { tokenIds, text, logProbs: tokenIds.map(() => -1), finish: 'stop' };
    }),
});

describe('a server without token ids', () => {
  const other = temporaryFolder();
  const openTextOnly = (
    isTextOnly: 'keeps stop' | 'cuts stop',
    { text = SAID, tokenizer = folder } = {},
  ) => openStandIn(saying(text), { isTextOnly }, { tokenizer });

  it.each(['keeps stop', 'cuts stop'] as const)('gives text and %s', async (isTextOnly) => {
    const { server, policy } = await openTextOnly(isTextOnly);
    expect(policy).toMatchObject({
      maxLength: 1024,
      note: expect.stringContaining('by text only') as string,
    });
    server.requests.splice(0);
    expect(await answerOf(policy)).toEqual({
      tokenIds: local.tokenizer.encode(SAID),
      text: SAID,
      finish: 'stop',
    });
    expect(server.requests).toEqual([
      {
        model: 'm',
        prompt: 'Question: Who?\n',
        max_tokens: 60,
        temperature: 0,
        top_p: 1,
        stop: STOP_STRINGS,
      },
    ]);
  });

  it('receives names of special tokens, escaped if quoted in passages', async () => {
    const { server, policy } = await openTextOnly('keeps stop');
    const { tokenizer } = local;
    const passage = tokenizer.encode('It is <eos>, not <pad>.');
    await answerOf(policy, [...tokenizer.encode('Who?'), tokenizer.tokenId('<eos>')!, ...passage]);
    expect(server.requests.at(-1)!.prompt).toBe('Who?<eos>It is < eos>, not < pad>.');
  });

  it.each([
    [true, 'Who?'],
    // As SmolLM2's, which only its chat template writes.
    [undefined, '<eos>Who?'],
  ])('receives the begin token unless servers add it: %j', async (isAdded, prompt) => {
    for (const file of ['tokenizer.json', 'config.json'])
      await copyFile(join(folder, file), join(other, file));
    const config = { bos_token: '<eos>', add_bos_token: isAdded };
    await writeFile(join(other, 'tokenizer_config.json'), JSON.stringify(config));
    const { server, policy } = await openTextOnly('keeps stop', { tokenizer: other });
    const { tokenizer } = local;
    await answerOf(policy, [tokenizer.tokenId('<eos>')!, ...tokenizer.encode('Who?')]);
    expect(server.requests.at(-1)!.prompt).toBe(prompt);
  });

  it('gets no stop text appended if none was cut', async () => {
    const text = '<think> a </think> I do not know';
    const { policy } = await openTextOnly('cuts stop', { text });
    expect((await answerOf(policy)).text).toBe(text);
  });

  it('may leave end tokens in the text', async () => {
    const text = '<answer> Oslo</s>';
    const { policy } = await openTextOnly('keeps stop', { text });
    expect((await answerOf(policy)).text).toBe('<answer> Oslo</answer>');
  });
});

describe('retries and limits', () => {
  /** Fails with a status for the first requests. */
  const failing = (status: number, times: number, headers = {}) => {
    let [asked, left] = [0, times];
    return () =>
      asked++ > 0 && left-- > 0 ? new Response('busy', { status, headers }) : undefined;
  };

  it.each([429, 503, 529])('retries after status %d', async (status) => {
    const { server, policy } = await openStandIn(saying(SAID), { instead: failing(status, 2) });
    expect((await answerOf(policy)).text).toBe(SAID);
    expect(server.requests).toHaveLength(4);
  });

  it('gives up after the last retry, and rejects a request on which the server fails', async () => {
    const ask = async (status: number): Promise<[number, string?]> => {
      const busy = { instead: failing(status, 99) };
      const { server, policy } = await openStandIn(saying(SAID), busy, { retries: 3 });
      const { refusal } = await answerOf(policy).catch((error: Error) => {
        return { refusal: `all: ${error.message}` };
      });
      return [server.requests.length - 1, refusal?.replace(/Expected .*, but /, '')];
    };
    expect(await ask(503)).toEqual([4, 'all: got 503: busy']);
    expect(await ask(402)).toEqual([1, 'all: got 402: busy']);
    expect(await ask(500)).toEqual([3, 'got 500: busy']);
    expect(await ask(400)).toEqual([1, 'got 400: busy']);
  });

  it('gives up on timeout and on abort', async () => {
    let isOpen = false;
    const never = () => (isOpen ? new Promise<never>(() => undefined) : void (isOpen = true));
    const limits = { timeoutMs: 100, retries: 1 };
    const { policy } = await openStandIn(saying(SAID), { instead: never }, limits);
    await expect(answerOf(policy)).rejects.toThrow('within 100 ms');
    isOpen = false;
    const patient = (await openStandIn(saying(SAID), { instead: never })).policy;
    const controller = new AbortController();
    const waiting = answerOf(patient, CONTEXT, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(waiting).rejects.toThrow('enough');
    isOpen = true;
    const signal = AbortSignal.timeout(50);
    const opening = openStandIn(saying(SAID), { instead: never }, { signal });
    await expect(opening).rejects.toThrow(/timeout/);
  });
});

it('limits concurrent requests', async () => {
  // Answers once three requests are waiting, independent of their timing.
  const waiting: (() => void)[] = [];
  const instead = async ({ max_tokens: length }: CompletionRequest): Promise<undefined> => {
    const isProbe = length === 1;
    if (isProbe) return;
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 3) waiting.splice(0).forEach((answer) => answer());
    });
  };
  const { server, policy } = await openStandIn(saying(SAID), { instead }, { maxConcurrency: 3 });
  const contexts = Array.from({ length: 12 }, () => CONTEXT);
  await policy.generate(contexts, sampling(contexts));
  expect(server.mostAtATime()).toBe(3);
});

it('rejects missing or mismatched models and tokenizers', async () => {
  const away = openCompletionsPolicy(`http://127.0.0.1:${await freePort()}/v1`);
  await expect(away).rejects.toThrow(/running/);
  const open = (standIn: object, options: OpenAiOptions = {}) =>
    openStandIn(saying(SAID), standIn, options);
  const other = open({}, { model: 'other', tokenizer: folder });
  await expect(other).rejects.toThrow('`other` does not exist');
  const remedy = 'm or /none. Name the folder with its tokenizer.json with --tokenizer';
  await expect(open({ root: '/none' })).rejects.toThrow(remedy);
  const server = await serveLocally(0, async () =>
    Response.json({ data: [{ id: 'a' }, { id: 'b' }] }),
  );
  await expect(openCompletionsPolicy(`${closing(server).url}v1`)).rejects.toThrow('a, b');
  const { policy } = await openStandIn({
    ...saying(SAID),
    tokenizer: CHARACTERS,
    generate: async () => [{ tokenIds: [300, 301], text: 'other words', finish: 'stop' as const }],
  });
  await expect(answerOf(policy)).rejects.toThrow(folder);
});

it.each([
  ['http://x/v1/', 'http://x/v1/models'],
  ['http://x/v1/chat/completions', 'http://x/v1/models'],
  ['http://x/v1/completions/?a=b', 'http://x/v1/models?a=b'],
  ['http://x/v1?path=/models', 'http://x/v1/models?path=/models'],
  ['http://x/v1?path=/a/', 'http://x/v1/models?path=/a/'],
])('puts paths of the API before the query: %s', (address, url) => {
  expect(endpointUrl(trimEndpoint(address), '/models')).toBe(url);
});
