import { afterEach, describe, expect, it, vi } from 'vitest';
import { delayRetriever, pacePolicy } from '../../../lib/pages/playground/browser/pacing.js';
import { answerQuestion } from '../../../lib/rollout/answer-question.js';
import { resolveRollout } from '../../../lib/training/methods.js';
import { echoRetriever } from '../../retrieval/passages.js';
import { scriptedPolicy } from '../../rollout/scripted-policy.js';

const SEARCH = '<think> a </think><search> X ## Y </search>';
const ANSWER = '<think> b </think><answer> gold </answer>';

/** Answers a question at a pace. */
async function answer({ delayMs = 0, tokensPerSecond = 0 }, signal?: AbortSignal) {
  const policy = pacePolicy(scriptedPolicy({ 'who?': [SEARCH, ANSWER] }), tokensPerSecond);
  const retriever = delayRetriever(echoRetriever(), delayMs);
  const rollout = resolveRollout('parallelsearch', 'small-world');
  return answerQuestion('who?', { policy, retriever }, { rollout, signal });
}

describe('pace', () => {
  afterEach(() => vi.useRealTimers());

  it('delays each search turn once for any number of sub-queries, and spaces tokens', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const elapsedMs = async (options: Parameters<typeof answer>[0]): Promise<number> => {
      const start = performance.now();
      const elapsed = answer(options).then(() => performance.now() - start);
      await vi.advanceTimersByTimeAsync(10_000);
      return elapsed;
    };
    expect(await elapsedMs({ delayMs: 300 })).toBe(300);
    expect(await elapsedMs({ tokensPerSecond: 1000 })).toBe(SEARCH.length + ANSWER.length);
  });

  it('can be aborted while waiting', async () => {
    const signal = AbortSignal.timeout(20);
    await expect(answer({ delayMs: 5000 }, signal)).rejects.toThrow('timeout');
  });

  it('does not change results', async () => {
    const retrievers = [echoRetriever(), delayRetriever(echoRetriever(), 1)];
    const found = retrievers.map((retriever) => retriever.retrieve(['x'], { topK: 1 }));
    expect(await found[1]).toEqual(await found[0]);
    expect((await answer({ tokensPerSecond: 1e6 })).answer).toBe('gold');
  });
});
