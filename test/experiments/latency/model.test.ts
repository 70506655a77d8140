import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  modelCalls,
  predictTime,
  questionMs,
  requestsMs,
} from '../../../lib/experiments/latency/measuring.js';

describe('requestsMs', () => {
  const costs = { workMs: 2, delayMs: 10 };

  it.each([
    // limit 1: 4 * (2 + 10)
    [4, 1, 48],
    // limit 2: work ends at 2, 4, 14, 16; the last wait at 26
    [4, 2, 26],
    // limit 2, odd: works end at 2, 4, 14
    [3, 2, 24],
    // limit 4: work ends at 2, 4, 6, 8
    [4, 4, 18],
    [4, Infinity, 18],
    [1, 1, 12],
    [0, 1, 0],
  ])('gives %i requests with limit %i as worked by hand', (numRequests, limit, expected) => {
    expect(requestsMs(numRequests, { limit, ...costs })).toBe(expected);
  });

  it('lets a freed slot wait for the work of others', () => {
    // work 10, wait 5, limit 2: work ends at 10, 20, 30, 40; slots are free at 15, 25,
    // 35, long before
    expect(requestsMs(4, { limit: 2, workMs: 10, delayMs: 5 })).toBe(45);
  });

  it('lies between all work with one wait and the sum of all, and falls with the limit', () => {
    const cost = fc.integer({ min: 0, max: 50 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 12 }),
        cost,
        cost,
        (n, limit, w, d) => {
          const at = (most: number): number =>
            requestsMs(n, { limit: most, workMs: w, delayMs: d });
          expect(at(1)).toBe(n * (w + d));
          expect(at(n)).toBe(n * w + d);
          expect(at(limit + 1)).toBeLessThanOrEqual(at(limit));
          expect(at(limit)).toBeGreaterThanOrEqual(at(n));
        },
      ),
    );
  });
});

describe('predictTime', () => {
  const costs = { callMs: 2, serviceMs: 1, delayMs: 50 };
  const at = (
    method: 'in-turns' | 'one-turn' | 'one-request',
    limit: number | 'unlimited' | null,
  ) => predictTime({ method, limit, numQueries: 4 }, costs);

  it('adds requests, searches and waiting up', () => {
    expect(at('in-turns', null)).toEqual({ callMs: 8, serviceMs: 4, waitingMs: 200, totalMs: 212 });
    expect(at('one-turn', 'unlimited')).toEqual({
      callMs: 8,
      serviceMs: 4,
      waitingMs: 50,
      totalMs: 62,
    });
    // work ends at 3, 6, 56, 59; the last wait at 109
    expect(at('one-turn', 2)).toEqual({ callMs: 8, serviceMs: 4, waitingMs: 97, totalMs: 109 });
    expect(at('one-request', null)).toEqual({
      callMs: 2,
      serviceMs: 4,
      waitingMs: 50,
      totalMs: 56,
    });
  });

  it('gains nothing from one turn where nobody waits', () => {
    const busy = { callMs: 2, serviceMs: 1, delayMs: 0 };
    const inTurns = predictTime({ method: 'in-turns', limit: null, numQueries: 5 }, busy);
    const oneTurn = predictTime({ method: 'one-turn', limit: 'unlimited', numQueries: 5 }, busy);
    expect(oneTurn).toEqual(inTurns);
    expect(inTurns.totalMs).toBe(15);
  });
});

describe('questionMs', () => {
  it('counts a call of the model for each turn and one for the answer', () => {
    expect(modelCalls({ method: 'in-turns', numQueries: 3 })).toBe(4);
    expect(modelCalls({ method: 'one-turn', numQueries: 3 })).toBe(2);
    expect(
      questionMs({ method: 'in-turns', numQueries: 3 }, { searchMs: 150, generationMs: 100 }),
    ).toBe(550);
    expect(
      questionMs({ method: 'one-request', numQueries: 3 }, { searchMs: 50, generationMs: 100 }),
    ).toBe(250);
  });
});
