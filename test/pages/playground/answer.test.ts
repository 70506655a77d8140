/** A question told event by event, with the delays that the page can set. */
import { describe, expect, it } from 'vitest';
import { rolloutConfigOf } from '../../../lib/methods/index.js';
import {
  answerQuestion,
  createTextStream,
  delayRetriever,
  type AnswerEvent,
  type AskOptions,
} from '../../../lib/pages/playground/answer.js';
import { trainBpe } from '../../../lib/text/bpe.js';
import { createTokenizer } from '../../../lib/text/tokenizer.js';
import { echoRetriever } from '../../retrieval/passages.js';
import { scriptedPolicy } from '../../rollout/scripted-policy.js';

const SEARCH = '<think> a </think><search> X ## Y </search>';
const ANSWER = '<think> b </think><answer> gold </answer>';

async function events(options: Partial<AskOptions> = {}): Promise<AnswerEvent[]> {
  const told: AnswerEvent[] = [];
  await answerQuestion(
    'who?',
    { policy: scriptedPolicy({ 'who?': [SEARCH, ANSWER] }), retriever: echoRetriever() },
    { rollout: rolloutConfigOf('parallelsearch'), delayMs: 0, tokensPerSecond: 0, ...options },
    (event) => told.push(event),
  );
  return told;
}

describe('answerQuestion', () => {
  it('tells tokens, segments with what was searched, and the end', async () => {
    const told = await events();
    const texts = told.map((event) => (event.kind === 'token' ? event.text : ''));
    expect(texts.join('')).toBe(SEARCH + ANSWER);
    const segments = told.filter((event) => event.kind === 'segment');
    expect(segments.map(({ segment }) => segment)).toEqual([
      'prompt',
      'policy',
      'information',
      'policy',
    ]);
    expect(segments[2].turn?.queries).toEqual(['X', 'Y']);
    expect(told.at(-1)).toMatchObject({
      kind: 'end',
      trajectory: { modelCalls: 2, finish: 'answer' },
    });
    const first = told.find((event) => event.kind === 'token');
    expect(first?.probability).toBe(1);
  });

  it('waits once a turn for the retriever, however many sub-queries it has, and keeps the pace', async () => {
    const [slow] = (await events({ delayMs: 300 })).slice(-1);
    expect(slow.elapsedMs).toBeGreaterThan(295);
    expect(slow.elapsedMs).toBeLessThan(590);
    const [paced] = (await events({ tokensPerSecond: 1000 })).slice(-1);
    expect(paced.elapsedMs).toBeGreaterThan(SEARCH.length + ANSWER.length - 5);
  });

  it('stops while it waits', async () => {
    const signal = AbortSignal.timeout(20);
    await expect(events({ delayMs: 5000, signal })).rejects.toThrow('timeout');
  });
});

describe('delayRetriever', () => {
  it('answers as the retriever does, later, and not at all once it is stopped', async () => {
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
  it('gives the text piece by piece, characters of several tokens whole', () => {
    const json = trainBpe(['no pairs'], { vocabSize: 256, minFrequency: 9, addedTokens: [] });
    const tokenizer = createTokenizer(json);
    const next = createTextStream(tokenizer);
    expect(tokenizer.encode('aé–b').map(next)).toEqual(['a', '', 'é', '', '', '–', 'b']);
  });
});
