import { describe, expect, it } from 'vitest';
import { comparableSeconds, type TimedRun } from '../../lib/experiments/timing.js';
import { result } from '../evaluation/synthetic.js';

function timedRun(seed: number, fields: Partial<TimedRun>, seconds?: number): TimedRun {
  const { method: _, start: _start, seed: _seed, ...measurement } = result({ questionId: 'q' });
  return {
    ...{ run: { method: 'parallelsearch', start: 'base', seed }, hash: 'h', backend: 'wasm', seconds: 9 },
    ...{
      isRecorded: false,
      measurements: [seconds === undefined ? measurement : { ...measurement, seconds }],
    },
    ...fields,
  };
}

const secondsOf = (runs: readonly TimedRun[]) => runs.map(({ measurements }) => measurements[0].seconds);
const recorded = { isRecorded: true, backend: 'native' };

describe('comparableSeconds', () => {
  it('keeps what was measured here on one backend', async () => {
    const { runs, timing } = await comparableSeconds(
      [timedRun(1, {}, 0.1), timedRun(2, {}, 0.2)],
      async () => null,
    );
    expect(secondsOf(runs)).toEqual([0.1, 0.2]);
    expect(timing).toEqual({ source: 'evaluated here', backend: 'wasm' });
  });

  it('takes the seconds of all from the records where some are recorded', async () => {
    const here = timedRun(1, {}, 0.1);
    const { runs, timing } = await comparableSeconds([here, timedRun(2, recorded, 0.02)], async (run) =>
      run.run.seed === 1 ? timedRun(1, recorded, 0.01) : null,
    );
    expect(secondsOf(runs)).toEqual([0.01, 0.02]);
    expect(timing).toEqual({ source: 'recorded earlier', backend: 'native' });
    expect(secondsOf([here])).toEqual([0.1]);
  });

  it('leaves them out where a record is missing, has none, or the backends differ', async () => {
    const mixed = [timedRun(1, {}, 0.1), timedRun(2, recorded, 0.02)];
    const cases = [
      await comparableSeconds(mixed, async () => null),
      await comparableSeconds(mixed, async () => timedRun(1, recorded)),
      await comparableSeconds(
        [timedRun(1, {}, 0.1), timedRun(2, { backend: 'native' }, 0.1)],
        async () => null,
      ),
    ];
    for (const { runs, timing } of cases) {
      expect(secondsOf(runs)).toEqual([undefined, undefined]);
      expect(timing.source).toMatch(/^none/);
    }
  });
});
