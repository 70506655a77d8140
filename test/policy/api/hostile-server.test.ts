/** A policy's server with hostile answers: each is rejected, and the others continue. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChatPolicy } from '../../../lib/policy/api/openai/chat.js';
import { openCompletionsPolicy } from '../../../lib/policy/api/openai/completions.js';
import { createRandom } from '../../../lib/random.js';
import { rollOut } from '../../../lib/rollout/rollout.js';
import { temporaryFolder } from '../../folder.js';
import { echoRetriever } from '../../retrieval/passages.js';
import { say } from './chat-stand-in.js';
import { OPTIONS } from '../../rollout/play.js';
import { QUESTIONS, TOKENIZER, TOKENIZER_JSON } from '../../training/tiny.js';

const folder = temporaryFolder();
const MAX_NEW_TOKENS = 20;
const ANSWER = '<answer>x</answer>';
const ids = TOKENIZER.encode(ANSWER);
/** Log-probabilities of tokens. */
const logprobs = (numTokens: number, value = -1) => ({
  token_logprobs: Array<number>(numTokens).fill(value),
});
const written = { text: ANSWER, token_ids: ids, finish_reason: 'stop' };
const choice = { ...written, logprobs: logprobs(ids.length) };
const withChoice = (more: object): string => JSON.stringify({ choices: [{ ...choice, ...more }] });
const withIds = (token_ids: number[]): string => withChoice({ token_ids, logprobs: null });
const ones = (count: number): number[] => Array<number>(count).fill(1);

/** Sent as if compressed. */
const BROKEN = 'not packed';

/** Bodies with status 200, and text of the error. */
const HOSTILE: Record<string, [body: string | Uint8Array, refusal: RegExp]> = {
  'a text of 1.8 MB': [withChoice({ text: 'x'.repeat(1_800_000) }), /at most \d+ bytes/],
  'a million ids': [withChoice({ token_ids: ones(1_000_000) }), /at most \d+ bytes/],
  'more ids than asked for': [withIds(ids.concat(ones(MAX_NEW_TOKENS))), /at most 20 token ids/],
  'an id outside the vocabulary': [withIds([99_999]), /99999/],
  'a negative id': [withIds([-1]), /-1/],
  'a fractional id': [withChoice({ token_ids: [0.5] }), /token_ids\[0\]/],
  'an id as a string': [withChoice({ token_ids: ['1'] }), /token_ids\[0\]/],
  'no ids': [withChoice({ token_ids: null }), /token ids/],
  'too few log-probabilities': [withChoice({ logprobs: logprobs(1) }), /log-probab.* got 1/],
  'too many log-probabilities': [withChoice({ logprobs: logprobs(2 * ids.length) }), /log-probab/],
  'log-probabilities above 0': [
    withChoice({ logprobs: logprobs(ids.length, 5) }),
    /most 0.* got 5/,
  ],
  'an aborted reply': [withChoice({ finish_reason: 'abort' }), /abort/],
  'an error with status 200': ['{"error": {"message": "overloaded"}}', /error: overloaded/],
  'an error after a part of a reply': [
    JSON.stringify({ choices: [choice], error: { message: 'crashed' } }),
    /error: crashed/,
  ],
  'no text': [withChoice({ text: null }), /text/],
  'a list as text': [withChoice({ text: [] }), /text/],
  'no choice': ['{"choices": []}', /choices/],
  'two choices': [JSON.stringify({ choices: [choice, choice] }), /choices/],
  'an empty object': ['{}', /choices/],
  'a list': ['[]', /object/],
  null: ['null', /object/],
  nothing: ['', /JSON/],
  'an HTML page': ['<!doctype html><title>Sign in</title>', /JSON/],
  'a truncated answer': [withChoice({}).slice(0, -5), /JSON/],
  'a hundred thousand brackets': ['['.repeat(50_000), /JSON/],
  'bytes that are not UTF-8': [Uint8Array.of(0x7b, 0xff, 0xfe), /JSON/],
  '64 MB, compressed': [gzipSync(Buffer.alloc(1 << 26, ' ')), /at most \d+ bytes/],
  'invalid gzip data': [BROKEN, /decompressed/],
};

const MODELS = '{"data": [{"id": "m", "max_model_len": 100000}]}';
let models = MODELS;
let url: string;
let hostile: string | Uint8Array | undefined;
const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/v1/models') return void response.end(models);
  const body = (await json(request)) as { prompt?: number[]; messages?: object[] };
  const asked = body.prompt ? TOKENIZER.decode(body.prompt) : JSON.stringify(body.messages);
  if (hostile === undefined || !asked.includes(QUESTIONS[0].question))
    return void response.end(withChoice({ message: say(ANSWER) }));
  if (hostile[0] === 0x1f || hostile === BROKEN) response.setHeader('content-encoding', 'gzip');
  response.end(hostile);
}

beforeAll(async () => {
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(TOKENIZER_JSON));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => void server.close());

const run = async (policy: Parameters<typeof rollOut>[0]) => {
  const questions = QUESTIONS.slice(0, 2);
  const { trajectories } = await rollOut(policy, echoRetriever(), questions, {
    ...OPTIONS,
    maxNewTokens: MAX_NEW_TOKENS,
    promptForm: 'reply' in policy ? policy.promptForm : 'short',
    randoms: questions.map(({ id }) => createRandom(id)),
  });
  return trajectories;
};

describe.each(Object.entries(HOSTILE))('a server that answers with %s', (_, [body, refusal]) => {
  it('is rejected with the reason while others continue', async () => {
    hostile = undefined;
    const policy = await openCompletionsPolicy(url, { retries: 0, tokenizer: folder });
    hostile = body;
    const [bad, good] = await run(policy);
    expect(bad).toMatchObject({ finish: 'refused', answer: null });
    expect(bad.refusal).toMatch(refusal);
    expect(bad.refusal!.length).toBeLessThan(1000);
    expect(good).toMatchObject({ finish: 'answer', answer: 'x' });
  });
});

it.each([
  '{"data": [{"id": "m", "max_model_len": 0}]}',
  '{"data": [{"id": "m", "max_model_len": "100"}]}',
  '{"error": {"message": "starting"}}',
])('an invalid list of models is rejected with the reason: %s', async (body) => {
  models = body;
  const opened = openCompletionsPolicy(url, { retries: 0, tokenizer: folder });
  await expect(opened).rejects.toThrow(/list of models from .*, but .*(max_model_len|starting)/s);
  models = MODELS;
});

it.each([
  'a text of 1.8 MB',
  'an aborted reply',
  'an error with status 200',
  'an error after a part of a reply',
  'no choice',
  'two choices',
  'an HTML page',
  'nothing',
  'a truncated answer',
])('a chat server that answers with %s is rejected, too', async (name) => {
  hostile = undefined;
  const policy = await openChatPolicy(url, { retries: 0, promptForm: 'chat' });
  [hostile] = HOSTILE[name];
  const [bad, good] = await run(policy);
  expect(bad).toMatchObject({ finish: 'refused', answer: null });
  expect(good).toMatchObject({ finish: 'answer', answer: 'x' });
});
