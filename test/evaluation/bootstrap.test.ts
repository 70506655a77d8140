import { deviation as sampleDeviation, range, sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import {
  createBootstrap,
  denominatorColumn,
  type BootstrapOptions,
  groupStrata,
  scoreTable,
} from '../../lib/evaluation/bootstrap.js';
import {
  contrastEstimate,
  percentileInterval,
  type Estimate,
} from '../../lib/evaluation/estimate.js';
import { MAIN_MEASURES, METRICS, type Measure } from '../../lib/evaluation/metrics.js';
import type { QuestionResult } from '../../lib/evaluation/measurement.js';
import { selectionWeights } from '../../lib/evaluation/selections.js';
import { createRandom } from '../../lib/random.js';
import { result, syntheticResults } from '../experiments/synthetic.js';

const everything = { benchmark: 'all', subset: 'all' };
/** Population deviation of the resamples. */
const deviation = ({ samples }: Estimate): number =>
  sampleDeviation(samples)! * Math.sqrt((samples.length - 1) / samples.length);

/** Results of one method from exact match values, (seeds)(questions). */
function answers(method: string, values: (0 | 1)[][]): QuestionResult[] {
  return values.flatMap((row, s) =>
    row.map((em, q) => result({ method, seed: s + 1, questionId: `q${q}`, em })),
  );
}

function bootstrapOf(
  results: QuestionResult[],
  {
    resamples = 2000,
    seed = 0,
    weightsId,
  }: Partial<Omit<BootstrapOptions, 'random'>> & { seed?: number } = {},
) {
  const table = scoreTable(results, MAIN_MEASURES);
  const strata = groupStrata(table.questions.map((question) => question.benchmark));
  const options = { random: createRandom(seed), resamples, weightsId };
  const bootstrap = createBootstrap(table, strata, options);
  const weights = selectionWeights(table.questions, everything);
  return (method: string, column = 'em') =>
    bootstrap.estimator({ method, model: 'base' }, column)(weights);
}

/** The first `share` of `n` questions are right. */
const shareRight = (n: number, share: number): (0 | 1)[] =>
  Array.from({ length: n }, (_, i) => (i < n * share ? 1 : 0));

it("estimates the mean of a column over a method's runs", () => {
  const quarters = (count: number) => shareRight(4, count / 4);
  const results = [
    ...answers('a', [quarters(1), quarters(2)]),
    ...answers('b', [quarters(3), quarters(4)]),
  ].map((answer) => ({ ...answer, f1: answer.em / 2 }));
  const estimate = bootstrapOf(results, { resamples: 10 });
  expect([estimate('a').value, estimate('b').value]).toEqual([3 / 8, 7 / 8]);
  expect([estimate('a', 'f1').value, estimate('b', 'f1').value]).toEqual([3 / 16, 7 / 16]);
});

describe('question resampling', () => {
  it('matches the normal approximation of a share, sqrt(p (1 - p) / n)', () => {
    const estimate = bootstrapOf(answers('a', [shareRight(400, 0.3)]))('a');
    const expected = Math.sqrt((0.3 * 0.7) / 400);
    expect(estimate.value).toBeCloseTo(0.3, 12);
    expect(Math.abs(deviation(estimate) / expected - 1)).toBeLessThan(0.04);
    const { low, high } = percentileInterval(estimate);
    expect(Math.abs(low - (0.3 - 1.96 * expected))).toBeLessThan(0.004);
    expect(Math.abs(high - (0.3 + 1.96 * expected))).toBeLessThan(0.004);
  });

  it('matches the exact distribution for two questions: 1/4, 1/2, 1/4', () => {
    const { samples } = bootstrapOf(answers('a', [[0, 1]]), { resamples: 8000 })('a');
    const share = (x: number): number => samples.filter((sample) => sample === x).length / 8000;
    for (const x of [0, 0.5, 1])
      expect(Math.abs(share(x) - (x === 0.5 ? 0.5 : 0.25))).toBeLessThan(0.015);
  });

  it('is paired: equal answers differ by exactly 0', () => {
    const values = [shareRight(50, 0.4)];
    const estimate = bootstrapOf([...answers('a', values), ...answers('b', values)]);
    const difference = contrastEstimate(estimate('a'), estimate('b'), 'difference')!;
    expect([...difference.samples].every((x) => x === 0)).toBe(true);
  });

  it('keeps stratum sizes: a benchmark without variance adds none', () => {
    const constant = shareRight(100, 1).map((em, q) =>
      result({ method: 'a', questionId: `c${q}`, em, benchmark: 'popqa' }),
    );
    const estimate = bootstrapOf([...answers('a', [shareRight(100, 0.5)]), ...constant])('a');
    const expected = 0.5 * Math.sqrt(0.25 / 100);
    expect(Math.abs(deviation(estimate) / expected - 1)).toBeLessThan(0.04);
  });
});

it('weights values by how often their questions are drawn', () => {
  // Right answers show how often each question is drawn; other values share the draw.
  const [numQuestions, values] = [9, [3, 3, 3, 0, -1, 0.5, 3, 0.5, 7]];
  const runs = range(numQuestions).map((right) =>
    range(numQuestions).map((q) =>
      result({ method: `only ${right}`, questionId: `q${q}`, em: q === right ? 1 : 0 }),
    ),
  );
  const own = values.map((f1, q) => result({ method: 'own', questionId: `q${q}`, f1 }));
  const table = scoreTable([...runs.flat(), ...own], MAIN_MEASURES);
  const strata = groupStrata(['x', 'x', 'x', 'x', 'y', 'y', 'y', 'y', 'y']);
  const bootstrap = createBootstrap(table, strata, { random: createRandom(5), resamples: 30 });
  const weights = new Float64Array(numQuestions).fill(1);
  const samplesOf = (method: string, column: string) =>
    bootstrap.estimator({ method, model: 'base' }, column)(weights).samples;
  const counts = range(numQuestions).map((q) => samplesOf(`only ${q}`, 'em'));
  for (const [b, sample] of samplesOf('own', 'f1').entries()) {
    const drawn = counts.map((count) => count[b]);
    expect([sum(drawn.slice(0, 4)), sum(drawn.slice(4))]).toEqual([4, 5]);
    const expected = sum(drawn, (count, q) => count * values[q]);
    expect(sample).toBeCloseTo(expected, 5);
  }
});

describe('seed resampling', () => {
  it('adds the variance between seeds divided by their number', () => {
    const seeds = [1, 0, 0.5].map((share) => shareRight(500, share));
    const estimate = bootstrapOf(answers('a', seeds))('a');
    const betweenSeeds = (0.25 + 0.25 + 0) / 3 / 3;
    expect(Math.abs(deviation(estimate) / Math.sqrt(betweenSeeds) - 1)).toBeLessThan(0.05);
  });

  it('draws the seeds of two methods independently', () => {
    const seeds = [shareRight(20, 1), shareRight(20, 0)];
    const estimate = bootstrapOf([...answers('a', seeds), ...answers('b', seeds)]);
    const [a, b] = [estimate('a'), estimate('b')];
    const equal = [...a.samples].filter((x, i) => x === b.samples[i]).length / a.samples.length;
    expect(Math.abs(equal - (1 / 16 + 1 / 4 + 1 / 16))).toBeLessThan(0.03);
  });

  it('shares seeds between methods with the same weights', () => {
    const seeds = [shareRight(20, 1), shareRight(20, 0)];
    const results = [...answers('a/1', seeds), ...answers('a/2', seeds)];
    const estimate = bootstrapOf(results, { weightsId: (method) => method.split('/')[0] });
    expect(estimate('a/1').samples).toEqual(estimate('a/2').samples);
  });
});

describe('resampling of initial models', () => {
  /** Two runs of each of two initial models, which decide all answers. */
  const twoLevels = (method: string, ...perRun: number[][]): QuestionResult[] =>
    perRun.flatMap((shares, w) => {
      const seeds = shares.map((share) => shareRight(40, share));
      return answers(method, seeds).map((one) => ({ ...one, initSeed: w + 1 }));
    });

  it('adds the variance between initial models and that between their runs', () => {
    // Runs are all right or all wrong, so questions add no variance.
    const deviationOf = (...perRun: number[][]): number =>
      deviation(bootstrapOf(twoLevels('a', ...perRun))('a'));
    expect(deviationOf([1, 1], [0, 0])).toBeCloseTo(Math.sqrt(0.25 / 2), 1);
    expect(deviationOf([1, 0], [1, 0])).toBeCloseTo(Math.sqrt(0.25 / 4), 1);
  });

  it('shares initial models between methods, so that their effect cancels', () => {
    const runs = (method: string) => twoLevels(method, [1, 1], [0, 0]);
    const estimate = bootstrapOf([...runs('a'), ...runs('b')]);
    expect(estimate('a').samples).toEqual(estimate('b').samples);
  });
});

it('draws the initial models of two models independently', () => {
  const models = ['base', 'instruct'] as const;
  const results = models.flatMap((model) =>
    ([1, 0] as const).map((em) => result({ model, initSeed: 1 + em, em })),
  );
  const table = scoreTable(results, MAIN_MEASURES);
  const options = { random: createRandom(0), resamples: 100 };
  const bootstrap = createBootstrap(table, groupStrata(['x']), options);
  const [base, instruct] = models.map((model) => {
    const { method } = results[0];
    return bootstrap.estimator({ method, model }, 'em')(Float64Array.of(1)).samples;
  });
  expect(base).not.toEqual(instruct);
});

it('rejects unknown methods and columns, and weights that split a stratum', () => {
  const table = scoreTable(answers('a', [[0, 1]]), MAIN_MEASURES);
  const bootstrap = createBootstrap(table, groupStrata(['x', 'x']), { random: createRandom(1) });
  expect(bootstrap.resamples).toBe(10_000);
  const estimate = (more: object, column = 'em', weights = [0.5, 0.5]) =>
    bootstrap.estimator(
      { method: 'a', model: 'base', ...more },
      column,
    )(Float64Array.from(weights));
  expect(estimate({}).samples).toHaveLength(10_000);
  expect(() => estimate({ method: 'b' })).toThrow('b from base');
  expect(() => estimate({ model: 'instruct' })).toThrow(' from instruct, but');
  expect(() => estimate({}, 'other')).toThrow(/^Expected a column of .*em, .* but got other\.$/);
  expect(() => estimate({}, 'em', [0.4, 0.6])).toThrow('stratum');
});

it('ignores strata of weight 0', () => {
  const table = scoreTable(answers('a', [[0, 0, 1, 1]]), MAIN_MEASURES);
  const options = { random: createRandom(1), resamples: 20 };
  const bootstrap = createBootstrap(table, groupStrata(['x', 'x', 'y', 'y']), options);
  const estimate = bootstrap.estimator({ method: 'a', model: 'base' }, 'em');
  const { value, samples } = estimate(Float64Array.of(0, 0, 0.5, 0.5));
  expect([value, ...samples]).toEqual(Array(21).fill(1));
});

it('depends only on the seed', () => {
  const results = answers('a', [shareRight(30, 0.5)]);
  const samples = (seed: number) => bootstrapOf(results, { resamples: 50, seed })('a').samples;
  expect(samples(1)).toEqual(samples(1));
  expect(samples(1)).not.toEqual(samples(2));
});

const ANSWER = result({ questionId: 'a' });
it.each<[string, QuestionResult[], string | RegExp]>([
  [
    'a missing question, with its run',
    [ANSWER, result({ questionId: 'b' }), { ...ANSWER, seed: 2 }],
    /search-r1\/base\/seed 2 .*all 2 questions.*1 are missing.* b\./,
  ],
  [
    'a missing question, with its warm-up',
    [ANSWER, result({ questionId: 'b' }), { ...ANSWER, initSeed: 2 }],
    'base/warm-up 2/seed 1 ',
  ],
  ['a question answered twice in a run', [result(), result()], 'answered q0 twice'],
  ['a figure of NaN', [result({ f1: NaN })], 'number for f1 of q0, but got NaN'],
])('rejects %s', (_, results, message) => {
  expect(() => scoreTable(results, MAIN_MEASURES)).toThrow(message);
});

it('scoreTable has one value per run, column and question', () => {
  const table = scoreTable(syntheticResults({ perTemplate: 2, warmUps: 2 }), MAIN_MEASURES);
  expect([table.questions.length, table.runs.length]).toEqual([22, 46]);
  expect(table.values.length).toBe(22 * 46 * METRICS.length);
});

it('scoreTable adds a column for measures with a denominator or for some questions', () => {
  const measures: Measure[] = [
    { metric: 'mean', numerator: ({ em }) => em },
    { metric: 'ratio', numerator: ({ em }) => em, denominator: ({ turns }) => turns },
    { metric: 'of b', numerator: ({ em }) => em, includes: ({ questionId }) => questionId === 'b' },
  ];
  const results = ['a', 'b'].map((questionId) => result({ questionId, em: 1, turns: 3 }));
  const { columns, values } = scoreTable(results, measures);
  expect(columns.map((name, c) => [name, ...values.slice(2 * c, 2 * c + 2)])).toEqual([
    ['mean', 1, 1],
    ['ratio', 1, 1],
    [denominatorColumn('ratio'), 3, 3],
    ['of b', 0, 1],
    [denominatorColumn('of b'), 0, 1],
  ]);
  expect(new Set(columns).size).toBe(5);
});
