import { beforeAll, describe, expect, it, vi } from 'vitest';
import { matching } from '../../../lib/evaluation/table.js';
import {
  loadParallelVsSequential,
  type ParallelVsSequential,
} from '../../../lib/experiments/parallel-vs-sequential.js';
import { loadTiming } from '../../../lib/experiments/timing.js';
import { rowsOf, type Frame, type Row } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { syntheticResults, writeSyntheticAnswers } from '../synthetic.js';

vi.mock('../../../lib/experiments/timing/experiment.js', async (original) => ({
  ...(await original<object>()),
  loadTiming: vi.fn(() => Promise.resolve(null)),
}));

const folder = temporaryFolder();
let untimed: ParallelVsSequential;
beforeAll(async () => {
  await writeSyntheticAnswers(folder, { perTemplate: 8 });
  untimed = await load();
}, 60_000);
const load = () => loadParallelVsSequential(folder, { resamples: 60 });

const where = (frame: Frame, fields: Row): Row[] => matching(rowsOf(frame), fields);

describe('the two kinds of question', () => {
  it('are as many as were asked, beside those of Table 5', () => {
    const { sizes } = untimed;
    const of = (benchmark: string) =>
      where(sizes, { benchmark }).map(({ paper, here }) => [paper, here]);
    expect(of('hotpotqa')).toEqual([
      [1487, 8],
      [5918, 8],
    ]);
    expect(of('MultihopRAG')).toEqual([
      [856, null],
      [816, null],
    ]);
  });

  it('show the paper’s +12.7 and our gain where every question counts once', () => {
    const { gains, contrasts } = untimed;
    const instruct = { subset: 'parallelizable', model: 'instruct' };
    const [mean] = where(gains, { ...instruct, counts_once: 'data set', kind: 'difference' });
    expect(mean).toMatchObject({ value: null });
    expect(mean.paper).toBeCloseTo((1.947 - 1.565) / 3, 12);
    const ours = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all', metric: 'em' };
    for (const [kind, shown, origin] of [
      ['difference', 'difference', 0],
      ['ratio', 'gain', 1],
    ] as const) {
      const [found] = where(contrasts, { ...ours, ...instruct, kind });
      const [row] = where(gains, { ...instruct, counts_once: 'question', kind: shown });
      for (const part of ['value', 'low', 'high'])
        expect(row[part]).toBeCloseTo(Number(found[part]) - origin, 12);
    }
  });

  it('recompute the costs of Table 3: 69.7 % of the calls, 89.6 % of the seconds', () => {
    const costs = where(untimed.paperCosts, { subset: 'parallelizable', model: 'all' });
    expect(costs.map(({ metric, paper }) => [metric, Number(paper).toFixed(3)])).toEqual([
      ['model_calls', '0.697'],
      ['seconds', '0.896'],
    ]);
  });

  it('have seconds where they were timed, beside the paper’s, and none where not', async () => {
    const seconds = (frame: Frame): Row[] => where(frame, { metric: 'seconds' });
    expect([seconds(untimed.rows), seconds(untimed.contrasts)]).toEqual([[], []]);
    expect(untimed.tidy.provenance).not.toHaveProperty('timing');
    const answers = syntheticResults({ perTemplate: 4 })
      .filter(({ method }) => ['search-r1', 'parallelsearch'].includes(method))
      .map((answer) => ({ ...answer, seconds: 0.01 * answer.modelCalls }));
    vi.mocked(loadTiming).mockResolvedValueOnce({ answers, provenance: { backend: 'made up' } });
    const timed = await load();
    const cell = {
      subset: 'parallelizable',
      method: 'parallelsearch',
      model: 'base',
      metric: 'seconds',
    };
    expect(where(timed.rows, { ...cell, benchmark: 'all' })[0].value).toBeCloseTo(0.02, 6);
    expect(where(timed.rows, { ...cell, benchmark: 'hotpotqa' })[0].paper).toBe(2.16);
    expect(timed.tidy.provenance.timing).toEqual({ backend: 'made up' });
  });
});
