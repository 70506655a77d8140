import { beforeAll, describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import { loadTiming, summariseTiming, timing } from '../../../lib/experiments/timing.js';
import { temporaryFolder } from '../../folder.js';
import { writeSyntheticTiming } from '../synthetic.js';

const folder = temporaryFolder();
beforeAll(() => writeSyntheticTiming(folder));

describe('timing', () => {
  it('times both methods against each other, from each initial model, one job at a time', async () => {
    const jobs = await timing.computation!.jobs();
    expect(jobs.map(({ key }) => key)).toEqual(
      [1, 2, 3].flatMap((warmUp) => [`timing/base-${warmUp}`, `timing/instruct-${warmUp}`]),
    );
    expect(jobs[0].input).toMatchObject([{ method: 'parallelsearch' }, { method: 'search-r1' }]);
    expect(timing.computation!.processes).toBe(1);
  });

  it('gives seconds with intervals, and their ratio', async () => {
    const timed = (await loadTiming(folder))!;
    expect(timed.provenance).toMatchObject({ backend: 'a made-up backend', warmUps: [1, 2, 3] });
    const { rows, contrasts } = summariseTiming(timed, { resamples: 50 });
    expect(new Set(rows.map(({ metric }) => metric))).toEqual(new Set(['seconds']));
    const cell = { benchmark: 'hotpotqa', subset: 'parallelizable', model: 'base' };
    expect(rows).toContainEqual(
      // One search and the answer, whatever is compared.
      expect.objectContaining({
        ...cell,
        method: 'parallelsearch',
        value: 0.02,
        low: 0.02,
        high: 0.02,
      }),
    );
    const [ratio] = matching(contrasts, { ...cell, kind: 'ratio' });
    expect(ratio).toMatchObject({ method: 'parallelsearch', against: 'search-r1' });
    expect(ratio.high).toBeLessThan(0.7);
  });
});
