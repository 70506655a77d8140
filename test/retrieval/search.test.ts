import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RetrievedPassage } from '../../lib/retrieval/retriever.js';
import { isTimedOutSearch, searchAll, type SearchOutcome } from '../../lib/retrieval/search.js';
import { echoRetriever } from './passages.js';

const ids = (outcomes: SearchOutcome[]) =>
  outcomes.map((outcome) => (outcome.status === 'ok' ? outcome.passages[0].passage.id : 'failed'));

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => void process.on('unhandledRejection', note));
afterEach(async () => {
  await delay(5);
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

const someQueries = fc.array(fc.constantFrom('a', 'b', ' b', 'c ', 'c', 'bad', 'd', 'e', ''), {
  maxLength: 20,
});
const settings = fc.record({
  topK: fc.constant(1),
  batchSize: fc.integer({ min: 1, max: 5 }),
  maxConcurrency: fc.integer({ min: 1, max: 4 }),
});

describe('searchAll', () => {
  it('keeps the order, fetches duplicates once, and only fails bad queries', async () => {
    await fc.assert(
      fc.asyncProperty(someQueries, settings, async (queries, options) => {
        const retriever = echoRetriever((batch) => {
          if (batch.includes('bad')) throw new Error('bad query');
        });
        const outcomes = await searchAll(retriever, queries, options);
        const wanted = queries.map((query) => query.trim());
        const fails = (query: string) => query === 'bad' || query === '';
        expect(ids(outcomes)).toEqual(wanted.map((query) => (fails(query) ? 'failed' : query)));
        expect(new Set(retriever.calls.flat())).toEqual(new Set(wanted.filter(Boolean)));
        const sent = retriever.calls.filter((batch) => !batch.includes('bad')).flat();
        expect(new Set(sent).size).toBe(sent.length);
        expect(retriever.calls.every((batch) => batch.length <= options.batchSize)).toBe(true);
      }),
    );
  });
  it('uses the allowed concurrency and never exceeds it', async () => {
    let [running, most] = [0, 0];
    const retriever = echoRetriever(async () => {
      most = Math.max(most, ++running);
      await delay(2);
      running--;
    });
    const queries = Array.from({ length: 12 }, (_, i) => `q${i}`);
    await searchAll(retriever, queries, { topK: 1, batchSize: 1, maxConcurrency: 3 });
    expect(most).toBe(3);
  });
  it('retries a failed batch query by query and reports reasons', async () => {
    const retriever = echoRetriever((batch) => {
      if (batch.includes('bad')) throw new Error('bad query');
    });
    const outcomes = await searchAll(retriever, ['a', 'bad', 'b'], { topK: 1 });
    expect(retriever.calls).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
    expect(outcomes[1]).toEqual({ status: 'failed', reason: 'bad query' });
  });
  it('fails a late request without a retry, even if the retriever ignores its signal', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const retriever = echoRetriever(([query]) =>
      query === 'slow' ? new Promise(() => {}) : undefined,
    );
    const search = searchAll(retriever, ['slow', 'a'], { topK: 1, batchSize: 1, timeoutMs: 20 });
    await vi.advanceTimersByTimeAsync(100);
    const outcomes = await search;
    expect(outcomes[0]).toEqual({
      status: 'failed',
      reason: 'Expected passages within 20 ms, but got none.',
      isTimeout: true,
    });
    expect(ids(outcomes)).toEqual(['failed', 'a']);
    expect(retriever.calls).toHaveLength(2);
  });
  it('aborts the retriever on timeout', async () => {
    const reasons: unknown[] = [];
    const retriever = echoRetriever(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal!.addEventListener('abort', () => {
            reasons.push((signal!.reason as Error).name);
            reject(signal!.reason as Error);
          });
        }),
    );
    const outcomes = await searchAll(retriever, ['a', 'b'], { topK: 1, timeoutMs: 10 });
    expect(ids(outcomes)).toEqual(['failed', 'failed']);
    expect(reasons).toEqual(['TimeoutError']);
  });
  it('aborts all requests at the deadline of the search, and sends no more', async () => {
    const aborted: string[] = [];
    const retriever = echoRetriever(([query], signal) => {
      if (query === 'a') return;
      signal!.addEventListener('abort', () => aborted.push(query));
      return new Promise(() => {}); // ignores its signal
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const options = { topK: 1, batchSize: 1, maxConcurrency: 2, deadlineMs: 20 };
    const search = searchAll(retriever, ['a', 'b', 'c', 'd', 'b '], options);
    await vi.advanceTimersByTimeAsync(100);
    const outcomes = await search;
    expect(outcomes.map(isTimedOutSearch)).toEqual([false, true, true, true, true]);
    expect(ids(outcomes)).toEqual(['a', ...Array.from({ length: 4 }, () => 'failed')]);
    expect(aborted).toEqual(['b', 'c']);
    expect(retriever.calls).toEqual([['a'], ['b'], ['c']]);
  });
  it('rejects with the reason when aborted before or during the search', async () => {
    const retriever = echoRetriever(() => delay(100));
    const stopped = new Error('stopped');
    const signal = AbortSignal.abort(stopped);
    await expect(searchAll(retriever, ['a'], { topK: 1, signal })).rejects.toBe(stopped);
    expect(retriever.calls).toEqual([]);
    const controller = new AbortController();
    const options = { topK: 1, batchSize: 1, maxConcurrency: 2, signal: controller.signal };
    const search = searchAll(retriever, ['a', 'b', 'c', 'd'], options);
    setTimeout(() => controller.abort(stopped), 10);
    await expect(search).rejects.toBe(stopped);
    await delay(10);
    expect(retriever.calls).toEqual([['a'], ['b']]);
  });
  it.each([
    [[], 'Expected 1 lists of passages, but got 0.'],
    [null, 'Expected 1 lists of passages, but got null.'],
    [[undefined], 'but got undefined.'],
    [[[{ id: 'p', title: 't', text: 'x' }]], 'but got {"id":"p","title":"t","text":"x"}.'],
    [[[{ passage: { id: 'p', text: 'x' }, score: 1 }]], 'but got {"passage":{"id":"p"'],
  ])('fails queries if the retriever returns %j', async (lists, reason) => {
    const retrieve = async () => lists as unknown as RetrievedPassage[][];
    const outcomes = await searchAll({ name: 'own', retrieve }, ['a'], { topK: 1 });
    expect(outcomes).toMatchObject([
      { status: 'failed', reason: expect.stringContaining(reason) as string },
    ]);
  });
  it('caches answers across calls by topK, but not failures', async () => {
    let working = false;
    const retriever = echoRetriever(() => {
      if (!working) throw new Error('down');
    });
    const cache = new Map<string, RetrievedPassage[]>();
    const search = (topK: number) => searchAll(retriever, ['a', 'a '], { topK, cache });
    expect(ids(await search(1))).toEqual(['failed', 'failed']);
    working = true;
    for (const [topK, numCalls] of [
      [1, 2],
      [1, 2],
      [2, 3],
    ]) {
      expect(ids(await search(topK))).toEqual(['a', 'a']);
      expect(retriever.calls).toHaveLength(numCalls);
    }
  });
  it.each([{ topK: 0 }, { deadlineMs: 0.5 }, { batchSize: 0 }])('rejects %j', async (option) => {
    const search = searchAll(echoRetriever(), ['a'], { topK: 1, ...option });
    await expect(search).rejects.toThrow(Object.keys(option)[0]);
  });
});
