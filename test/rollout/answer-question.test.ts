import { describe, expect, it } from 'vitest';
import { textPolicy } from '../../lib/policy/chat-policy.js';
import {
  answerQuestion,
  createTextStream,
  type AnswerEvent,
} from '../../lib/rollout/answer-question.js';
import { createTokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { resolveRollout } from '../../lib/training/methods.js';
import { trainBpe } from '../../tools/warm-up/tokenizer.js';
import { echoRetriever } from '../retrieval/passages.js';
import { scriptedPolicy } from './scripted-policy.js';

const SEARCH = '<think> a </think><search> X ## Y </search>';
const ANSWER = '<think> b </think><answer> gold </answer>';

describe('answerQuestion', () => {
  it('reports tokens and segments with their searches, and returns the trajectory', async () => {
    const seen: AnswerEvent[] = [];
    const policy = scriptedPolicy({ 'who?': [SEARCH, ANSWER] });
    const rollout = resolveRollout('parallelsearch', 'small-world');
    const options = { rollout, onEvent: (event: AnswerEvent) => seen.push(event) };
    const parts = { policy, retriever: echoRetriever() };
    const trajectory = await answerQuestion('who?', parts, options);
    expect(trajectory).toMatchObject({ modelCalls: 2, finish: 'answer' });
    const texts = seen.filter((event) => event.type === 'text');
    expect(texts.map(({ text }) => text).join('')).toBe(SEARCH + ANSWER);
    expect(texts[0].token?.probability).toBe(1);
    const segments = seen.filter((event) => event.type === 'segment');
    const kinds = segments.map(({ segment }) => segment);
    expect(kinds).toEqual(['prompt', 'policy', 'information', 'policy']);
    expect(segments.map(({ queries }) => queries)).toEqual([null, ['X', 'Y'], null, null]);
    const turns = segments.map(({ turn }) => turn?.queries ?? null);
    expect(turns).toEqual([null, null, ['X', 'Y'], null]);
  });

  it('needs no listener', async () => {
    const rollout = resolveRollout('parallelsearch', 'small-world');
    const tokens = { policy: scriptedPolicy({ 'who?': [ANSWER] }), retriever: echoRetriever() };
    expect(await answerQuestion('who?', tokens, { rollout })).toMatchObject({ answer: 'gold' });
    const chat = { ...tokens, policy: textPolicy(async () => ANSWER) };
    const options = { rollout: { ...rollout, promptForm: chat.policy.promptForm } };
    expect(await answerQuestion('who?', chat, options)).toMatchObject({ answer: 'gold' });
  });
});

describe('createTextStream', () => {
  it('never splits a character', () => {
    const json = trainBpe(['no pairs'], { vocabSize: 256, minFrequency: 9, addedTokens: [] });
    const tokenizer = createTokenizer(json);
    const next = createTextStream(tokenizer);
    expect(tokenizer.encode('aé–b').map(next)).toEqual(['a', '', 'é', '', '', '–', 'b']);
  });

  it("keeps the spaces between words with Llama 2's decoder", () => {
    const space = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
    const tokenizer = createTokenizer({
      normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, space] },
      model: {
        type: 'BPE',
        vocab: { '▁': 0, a: 1, b: 2, '▁a': 3, '▁b': 4 },
        merges: ['▁ a', '▁ b'],
      },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
    });
    const next = createTextStream(tokenizer);
    expect(tokenizer.encode('a b  ab').map(next)).toEqual(['a', ' b', ' ', ' a', 'b']);
  });
});
