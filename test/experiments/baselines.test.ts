import { mkdirSync } from 'node:fs';
import { mean } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import {
  baselineReport,
  baselines,
  baselineRuns,
  comparedRuns,
  laterRuns,
} from '../../lib/experiments/baselines/experiment.js';
import {
  decideSides,
  meanRanks,
  trainingNoise,
  trainingSpread,
} from '../../lib/experiments/baselines/spread.js';
import { planTraining } from '../../lib/experiments/running/train-runs.js';
import { listFolders } from '../../lib/policy/folders/policy-folders.js';
import { tradeOffChart } from '../../lib/report/charts/trade-off.js';
import { createFrame, toRows } from '../../lib/report/frame.js';
import { BASELINES, METHODS } from '../../lib/training/methods.js';
import { runName, weightFolders } from '../../lib/experiments/running/policy-runs.js';
import { judgeClaims } from '../../tools/reports/claims.js';
import { temporaryFolder } from '../folder.js';
import { emptyResult } from './made-up-results.js';
import { result, syntheticResults } from './synthetic.js';
import { withResamples } from './resamples.js';

const root = temporaryFolder();

/** Makes folders in place of the weights of the runs. */
const train = (runs: ReturnType<typeof baselineRuns>): void =>
  runs
    .flatMap((run) => listFolders(weightFolders(run, root)))
    .forEach((folder) => mkdirSync(folder, { recursive: true }));

it('trains every baseline once from both initial models, search simulators first', () => {
  const runs = baselineRuns().slice(0, -laterRuns().length);
  expect(runs).toHaveLength(BASELINES.length * 2);
  expect(new Set(runs.map(runName)).size).toBe(runs.length);
  const isPreparing = runs.map(({ method }) => Boolean(METHODS.get(method).isPreparation));
  expect(isPreparing).toEqual(isPreparing.toSorted((a, b) => Number(b) - Number(a)));
});

it('trains later papers’ methods from every instruct model', () => {
  expect(laterRuns().map(runName)).toEqual(
    ['rag-r1-grpo', 'search-r1-format'].flatMap((method) =>
      [1, 2, 3].map((initSeed) => `instruct-${initSeed}-${method}-seed1`),
    ),
  );
});

it('compares everything trained from both initial models', () => {
  expect(comparedRuns(root)).toEqual([]);
  const main = ['search-r1', 'parallelsearch'].flatMap((method) =>
    baselineRuns().map((run) => ({ ...run, method })),
  );
  train(main);
  expect(comparedRuns(root)).toEqual([]);
  const ofMethod = (name: string) => baselineRuns().filter(({ method }) => method === name);
  // PPO from one initial model only.
  train([...ofMethod('otc'), ...ofMethod('stepsearch'), ...ofMethod('search-r1:ppo').slice(0, 1)]);
  const compared = comparedRuns(root);
  const mainMethods = ['search-r1', 'search-r1-parallel-prompt', 'parallelsearch'];
  const methods = new Set(compared.map(({ method }) => method));
  expect([...methods]).toEqual([...mainMethods, 'otc', 'stepsearch']);
  expect(compared).toHaveLength(10);
});

describe('comparisons', () => {
  const clear = { value: 0.1, low: 0.05, high: 0.15 };
  const close = { value: 0.1, low: 0.001, high: 0.199 };

  it('are decided if the interval excludes 0', () => {
    const [ahead] = decideSides([clear]);
    expect(ahead.side).toBe('ahead');
    expect(ahead.p).toBeLessThan(0.001);
    expect(decideSides([{ value: -0.1, low: -0.15, high: -0.05 }])[0].side).toBe('behind');
    expect(decideSides([{ value: 0.1, low: -0.1, high: 0.3 }])[0].side).toBe('undecided');
  });

  it('are undecided if p exceeds 0.05 after Holm’s correction', () => {
    expect(decideSides([close])[0].side).toBe('ahead');
    const [first, second] = decideSides([close, { ...close }]);
    expect([first.side, second.side]).toEqual(['undecided', 'undecided']);
    expect(decideSides([clear, close]).map(({ side }) => side)).toEqual(['ahead', 'ahead']);
  });
});

it('averages ranks over cells, with shared ranks for ties', () => {
  const cell = (benchmark: string, values: object) =>
    Object.entries(values).map(([method, value]: [string, number]) => {
      return { model: 'base', benchmark, method, value };
    });
  const cells = [cell('nq', { a: 0.5, b: 0.5, c: 0.1 }), cell('popqa', { a: 0.2, b: 0.3, c: 0.1 })];
  expect(meanRanks(cells.flat())).toEqual([
    { method: 'b', mean_rank: 1.25, cells: 2 },
    { method: 'a', mean_rank: 1.75, cells: 2 },
    { method: 'c', mean_rank: 3, cells: 2 },
  ]);
});

describe('spread between trainings', () => {
  const answered = (method: string, seed: number, ems: (0 | 1)[]) =>
    ems.map((em) => result({ method, seed, em, benchmark: 'nq' }));
  // Two trainings with 1/2 and 3/4 right; their deviation is (1/4) / sqrt(2).
  const twice = [...answered('a', 1, [1, 0]), ...answered('a', 2, [1, 1, 1, 0])];

  it('covers methods trained more than once', () => {
    const [spread, ...others] = trainingSpread([...twice, ...answered('b', 1, [1])]);
    expect(others).toEqual([]);
    const range = { lowest: 0.5, highest: 0.75 };
    expect(spread).toMatchObject({ method: 'a', model: 'base', trainings: 2, ...range });
    expect(spread.deviation).toBeCloseTo(0.25 / Math.SQRT2, 12);
  });

  it('counts every benchmark once', () => {
    const onPopQa = { benchmark: 'popqa', em: 1 } as const;
    const more = twice.slice(0, 2).map((answer) => ({ ...answer, ...onPopQa }));
    const [spread] = trainingSpread([...twice, ...more]);
    expect(spread).toMatchObject({ lowest: 0.75, highest: 0.75 });
  });

  it('pools variances by their degrees of freedom', () => {
    const rest = { method: 'a', model: 'base', lowest: 0, highest: 1 };
    const spread = [
      { ...rest, trainings: 6, deviation: 0.01 },
      { ...rest, trainings: 2, deviation: 0.04 },
    ];
    // (5 * 0.01 ** 2 + 0.04 ** 2) / 6 = 0.00035
    expect(trainingNoise(spread)).toBeCloseTo(1.959964 * Math.sqrt(2 * 0.00035), 7);
  });
});

describe('the report', async () => {
  const answers = syntheticResults({ perTemplate: 4, warmUps: 3 });
  // One training answers every question right, with one call fewer than Search-R1.
  const once = matching(answers, { method: 'search-r1', initSeed: 1, seed: 1 });
  const otc = once.map(({ modelCalls, ...answer }) => {
    return { ...answer, method: 'otc', em: 1 as const, modelCalls: modelCalls - 1 };
  });
  const read = { answers: [...answers, ...otc], curves: [], provenance: {} };
  const report = await withResamples(20, () => baselineReport(read));
  const cells = toRows(report.frames!.cells);

  it('decides cells of Table 2 with p if a method has three initial models', () => {
    const overSearchR1 = matching(cells, { against: 'search-r1' });
    expect(overSearchR1.length).toBe(14);
    for (const { p, side, method } of overSearchR1) {
      expect(method).toBe('parallelsearch');
      expect(Number(p)).toBeLessThanOrEqual(1);
      expect(['ahead', 'behind', 'undecided']).toContain(side);
    }
  });

  it('gives no verdict on a method with a single training', () => {
    const overOtc = matching(cells, { against: 'otc' });
    expect(overOtc.map(({ p, side }) => [p, side])).toEqual(Array(14).fill([null, 'no verdict']));
    const results = new Map([['baselines', { ...emptyResult('baselines'), ...report }]]);
    const claims = judgeClaims([baselines], results);
    const [overOtcOnAverage] = matching(claims, { id: 'other-baselines' });
    expect(overOtcOnAverage).toMatchObject({ verdict: 'not testable', parts: [] });
    expect(overOtcOnAverage.rule).toMatch(/1 initial model .* 3/);
    const [everywhere] = matching(claims, { id: 'every-cell' });
    for (const { label } of everywhere.parts) expect(label).toMatch(/^Search-R1,/);
  });

  it('compares trainings of a method with different seeds', () => {
    const seeds = toRows(report.frames!.seeds);
    // Two methods, two models, three initial models; seven benchmarks and the average.
    expect(seeds).toHaveLength(2 * 2 * 3 * 8);
    expect(seeds[0]).toMatchObject({ seed: 'seed 1', against_seed: 'seed 2' });
    const cell = { method: 'parallelsearch', benchmark: 'nq' };
    const [ours] = matching(seeds, { ...cell, initial_model: 'base-2' });
    const run = { ...cell, model: 'base', initSeed: 2 };
    const ofSeed = (seed: number) => mean(matching(answers, { ...run, seed }), ({ em }) => em)!;
    expect(ours.value).toBeCloseTo(ofSeed(1) - ofSeed(2), 6);
    expect(ours.excludes_0).toBe(Number(ours.low) > 0 || Number(ours.high) < 0);
  });

  it('has figures for the claims of the baselines’ papers, but no verdict on a single training', () => {
    const [fewer] = report.predictions!;
    expect(fewer.found).toMatch(/^−1\.0/);
    expect(report.predictions!.map(({ holds }) => holds)).toEqual(Array(2).fill('one training'));
  });

  it('ranks methods', () => {
    expect(toRows(report.frames!.ranks).map(({ method }) => method)).toContain('otc');
  });
});

it('estimates training time from similar runs', async () => {
  const training = planTraining(
    () => baselineRuns().map((run) => ({ ...run, seed: 99 })),
    () => [{ method: 'search-r1', model: 'base', initSeed: 1, seed: 1 }],
  );
  const { work, seconds } = (await training.plan())!;
  expect(work).toMatch(/30 .*6000/);
  expect(seconds).toBeGreaterThan(3600);
});

it('draws the Pareto front of answers and calls', () => {
  const rows = [
    ['otc', 0.5, 2],
    ['stepsearch', 0.6, 3],
    // As many calls as the previous one, and fewer right answers.
    ['sft', 0.4, 3],
  ].flatMap(([method, em, calls]) =>
    Object.entries({ em, model_calls: calls }).map(([metric, value]) => {
      return { method, metric, value, low: value, high: value };
    }),
  );
  const by = { of: 'method', color: 'method' } as const;
  const options = { ...by, questions: 'all questions', hasFront: true };
  const { spec, alt } = tradeOffChart(createFrame(rows), options);
  const [line] = spec.layer as { data: { values: { method: string }[] } }[];
  expect(line.data.values.map(({ method }) => method)).toEqual(['OTC', 'StepSearch']);
  expect(alt).toContain('SFT (no search) 0.400 with 3.00 calls');

  const closer = tradeOffChart(createFrame(rows), { ...options, within: 0.1 });
  expect(closer.alt).toContain('OTC 0.500');
  expect(closer.alt).toContain('StepSearch 0.600');
  expect(closer.alt).not.toContain('SFT');
});
