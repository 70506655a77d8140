import { describe, expect, it, vi } from 'vitest';
import { resolveRollout } from '../../lib/training/methods.js';
import {
  answerQuestion,
  createTextStream,
  delayRetriever,
  unknownNamesWarning,
  type AnswerEvent,
  type AskOptions,
} from '../../lib/rollout/answer-question.js';
import { trainBpe } from '../../tools/warm-up/tokenizer.js';
import { createTokenizer } from '../../lib/text/tokenizer.js';
import { echoRetriever } from '../retrieval/passages.js';
import { scriptedPolicy } from './scripted-policy.js';

const SEARCH = '<think> a </think><search> X ## Y </search>';
const ANSWER = '<think> b </think><answer> gold </answer>';

async function events(options: Partial<AskOptions> = {}): Promise<AnswerEvent[]> {
  const seen: AnswerEvent[] = [];
  await answerQuestion(
    'who?',
    { policy: scriptedPolicy({ 'who?': [SEARCH, ANSWER] }), retriever: echoRetriever() },
    { rollout: resolveRollout('parallelsearch', 'small-world'), ...options },
    (event) => seen.push(event),
  );
  return seen;
}

describe('answerQuestion', () => {
  it('reports tokens, segments with their searches, and the end', async () => {
    const seen = await events();
    const texts = seen.map((event) => (event.kind === 'token' ? event.text : ''));
    expect(texts.join('')).toBe(SEARCH + ANSWER);
    const segments = seen.filter((event) => event.kind === 'segment');
    expect(segments.map(({ segment }) => segment)).toEqual([
      'prompt',
      'policy',
      'information',
      'policy',
    ]);
    expect(segments[1].queries).toEqual(['X', 'Y']);
    expect(segments[2].turn?.queries).toEqual(['X', 'Y']);
    expect(seen.at(-1)).toMatchObject({
      kind: 'end',
      trajectory: { modelCalls: 2, finish: 'answer' },
    });
    const first = seen.find((event) => event.kind === 'token');
    expect(first?.probability).toBe(1);
  });

  it('delays each search turn once, whatever its number of sub-queries, and keeps the pace', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const elapsedMs = async (options: Partial<AskOptions>): Promise<number> => {
      const seen = events(options);
      await vi.advanceTimersByTimeAsync(10_000);
      return (await seen).at(-1)!.elapsedMs;
    };
    expect(await elapsedMs({ delayMs: 300 })).toBe(300);
    expect(await elapsedMs({ tokensPerSecond: 1000 })).toBe(SEARCH.length + ANSWER.length);
  });

  it('can be aborted while waiting', async () => {
    const signal = AbortSignal.timeout(20);
    await expect(events({ delayMs: 5000, signal })).rejects.toThrow('timeout');
  });
});

describe('unknownNamesWarning', () => {
  const passages = ['Red River\nThe film was made by Ann Lee.', 'René Roy\nRené Roy sang.'];

  it.each([
    ['Did Ann Lee make Red River?', []],
    ['Did Rene Roy make RED River?', []],
    ['Who made Titanic?', ['“Titanic”']],
    ['Did Ann Roy?', ['“Ann Roy”']],
    ['Is Ann from Paris or Rome, Paris?', ['“Paris”', '“Rome”']],
  ])('names what no passage mentions: %j', (question, names) => {
    expect(unknownNamesWarning(question, passages).match(/“[^”]+”/g) ?? []).toEqual(names);
  });
});

describe('delayRetriever', () => {
  it('gives the same results later, and rejects when aborted', async () => {
    const retriever = echoRetriever();
    const delayed = delayRetriever(retriever, 20);
    const start = performance.now();
    expect(await delayed.retrieve(['x'], { topK: 1 })).toEqual(
      await retriever.retrieve(['x'], { topK: 1 }),
    );
    expect(performance.now() - start).toBeGreaterThan(15);
    const signal = AbortSignal.abort(new Error('no'));
    await expect(delayed.retrieve(['x'], { topK: 1, signal })).rejects.toThrow('no');
  });
});

describe('createTextStream', () => {
  it('never splits a character', () => {
    const json = trainBpe(['no pairs'], { vocabSize: 256, minFrequency: 9, addedTokens: [] });
    const tokenizer = createTokenizer(json);
    const next = createTextStream(tokenizer);
    expect(tokenizer.encode('aé–b').map(next)).toEqual(['a', '', 'é', '', '', '–', 'b']);
  });
});
