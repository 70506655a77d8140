import { sum } from 'd3-array';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  aloneMs,
  SCHEDULES,
  simulateRollouts,
  type Cluster,
  type RolloutShape,
} from '../../lib/experiments/scale/simulation.js';

const CLUSTER: Cluster = {
  engine: { stepMs: (rows) => 9 + rows, readMs: (tokens) => tokens },
  replicas: 1,
  inFlight: 2,
  promptTokens: 5,
  search: { requestMs: 3, serviceMs: 20, servers: 2 },
  foundTokens: (subQueries) => 10 * subQueries,
};
const ANSWER = { written: 2, subQueries: 0 };
const SHORT: RolloutShape = [{ written: 4, subQueries: 1 }, ANSWER];
const LONG: RolloutShape = [{ written: 10, subQueries: 3 }, ANSWER];

describe('simulated rollouts, computed by hand', () => {
  it('with one rollout: it reads, writes, searches, reads and answers', () => {
    // 5 of the prompt, 10 steps of 10, three sub-queries for two servers, 3 of the
    // request, 30 to read, 2 steps of 10.
    const expected = { readingMs: 35, decodingMs: 120, searchingMs: 43, idleMs: 0, totalMs: 198 };
    for (const schedule of SCHEDULES)
      expect(simulateRollouts([LONG], CLUSTER, schedule)).toEqual(expected);
    expect(aloneMs(LONG, CLUSTER)).toBe(198);
  });

  it('turn by turn: the short one waits for the long one, and both for the slowest search', () => {
    // Both prompts 10; 4 steps of 11, 6 of 10. Four sub-queries for two servers 40,
    // request 3. 40 to read, 2 steps of 11.
    const expected = { readingMs: 50, decodingMs: 126, searchingMs: 43, idleMs: 0, totalMs: 219 };
    expect(simulateRollouts([SHORT, LONG], CLUSTER, 'turn by turn')).toEqual(expected);
  });

  it('overlapping: the short one searches, reads and answers while the long one writes', () => {
    // 10, 4 of 11 = 54: the short one searches until 77, the long one has 2.3 of its 6
    // steps; 10 to read until 87. 2 of 11 until 109: the short one is done. The long one
    // has 1.7 steps of 10 left, until 126; searches 43, reads 30, writes 20.
    const { totalMs, searchingMs } = simulateRollouts([SHORT, LONG], CLUSTER, 'overlapping');
    expect(totalMs).toBeCloseTo(126 + 43 + 30 + 20, 9);
    expect(searchingMs).toBeCloseTo(43, 9);
  });

  it('with two engines: one is idle while the other still writes, and they share searches', () => {
    const two = { ...CLUSTER, replicas: 2 };
    // The second engine: 5, 100, search 43, 30, 20. The first: 5, 40, 23, 10, 20 = 98,
    // then idle until 105, then searches are under way.
    const time = simulateRollouts([SHORT, LONG], two, 'overlapping');
    expect(time.totalMs).toBeCloseTo(198, 9);
    expect(time.idleMs).toBeCloseTo((7 + 50) / 2, 9);
  });

  it('in batches of the maximum number in flight', () => {
    const one = simulateRollouts([LONG], CLUSTER, 'turn by turn').totalMs;
    const single = { ...CLUSTER, inFlight: 1 };
    for (const schedule of SCHEDULES) {
      const { totalMs } = simulateRollouts([LONG, LONG, LONG], single, schedule);
      expect(totalMs).toBeCloseTo(3 * one, 9);
    }
  });
});

const upTo = (max: number) => fc.integer({ min: 1, max });
const calls = fc.array(fc.record({ written: upTo(60), subQueries: upTo(5) }), { maxLength: 4 });
const shape = calls.map((searching) => [...searching, ANSWER]);
const drawn = {
  rollouts: fc.array(shape, { minLength: 1, maxLength: 30 }),
  replicas: upTo(3),
  inFlight: upTo(8),
  schedule: fc.constantFrom(...SCHEDULES),
};

it('parts add up to the total, which is at least the time of the longest rollout alone', () => {
  fc.assert(
    fc.property(fc.record(drawn), ({ rollouts, schedule, ...size }) => {
      const cluster = { ...CLUSTER, ...size };
      const { totalMs, ...parts } = simulateRollouts(rollouts, cluster, schedule);
      expect(sum(Object.values(parts))).toBeCloseTo(totalMs, 6);
      const longest = Math.max(...rollouts.map((one) => aloneMs(one, cluster)));
      expect(totalMs).toBeGreaterThan(longest - 1e-6);
    }),
  );
});
