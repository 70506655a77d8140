/**
 * The main comparison (Table 2): every method from every initial model, on all questions.
 */
import { mean } from 'd3-array';
import { mainMeasure } from '../evaluation/metrics.js';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import type { MethodPair, SummaryOptions } from '../evaluation/table.js';
import { BASELINES, METHODS, methodTitle, trainedBy } from '../methods/index.js';
import { UNTRAINED } from '../methods/untrained.js';
import { trainingRows } from '../report/curves.js';
import { figureText, pointsText } from '../report/text.js';
import { titleOf } from '../report/titles.js';
import { answersOf, count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { paperFigure, paperMean, paperRows, withPaper } from './paper.js';
import { callsAndAnswers, type Predicted, reportOf, summarise } from './report.js';
import { INITIAL_MODELS, isTrained, type PolicyRun } from '../methods/checkpoints.js';
import { SEEDS, WARM_UPS } from './runs.js';
import { trainingOf } from './train-runs.js';
import { aheadFromEachModel, type PaperClaim, partsAhead } from './verdicts.js';

const WHOLE = { subset: 'all', metric: 'em' };

/**
 * Table 2: ParallelSearch's printed average minus the best printed average of another
 * method, on one backbone.
 */
function averageGain(model: string): number {
  const average = { ...WHOLE, model, benchmark: 'average' };
  const ours = paperMean({ ...average, method: 'parallelsearch' });
  const others = paperRows(average).filter(({ method }) => method !== 'ParallelSearch');
  return ours - Math.max(...others.map(({ value }) => value));
}

/**
 * Table 2, ParallelSearch minus Search-R1: one difference for each benchmark and
 * backbone.
 */
const benchmarkGaps = (): number[] =>
  INITIAL_MODELS.flatMap((model) =>
    Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
      const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
        paperFigure({ ...WHOLE, method, model, benchmark }),
      );
      return ours === null || theirs === null ? [] : [ours - theirs];
    }),
  );

export const mainClaims: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: () => {
      const gains = INITIAL_MODELS.map(averageGain);
      const texts = INITIAL_MODELS.map((model, i) => `${model} ${pointsText(gains[i])}`);
      return `${texts.join(', ')}, mean ${pointsText((gains[0] + gains[1]) / 2)} points (printed averages of Table 2)`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference to Search-R1, the paper’s strongest baseline with the same training set, above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', benchmark: 'average', subset: 'all' }),
    },
  },
  {
    id: 'every-benchmark',
    claim: 'Is ahead of Search-R1 on the single benchmarks, not only on average',
    paper: 'Table 2',
    tables: () => {
      const gaps = benchmarkGaps();
      return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference above 0 on each of the seven benchmarks from both models',
      parts: (numbers) =>
        INITIAL_MODELS.flatMap((model) =>
          Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
            const of = `${titleOf('benchmark', benchmark)} (${model})`;
            return partsAhead(numbers, of, {
              against: 'search-r1',
              model,
              benchmark,
              subset: 'all',
            });
          }),
        ),
    },
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: () => {
      const means = INITIAL_MODELS.toReversed().map((model) => {
        const columns = paperRows({ ...WHOLE, method: 'parallelsearch', model });
        const benchmarks = columns.filter(({ benchmark }) => benchmark !== 'average');
        return `${figureText(
          mean(benchmarks, ({ value }) => value),
          4,
        )} (${model})`;
      });
      return `${means.join(', ')} as means of the seven columns`;
    },
    evidence: {
      untestable: 'Levels of a small world and a small transformer say nothing about it.',
    },
  },
];

/**
 * Every run of the main comparison, the most telling first. An untrained policy answers
 * greedily: one seed says it all.
 */
export function mainRuns(): PolicyRun[] {
  const names = METHODS.all().flatMap((method) =>
    method.isPreparation || BASELINES.includes(method) ? [] : [method.name],
  );
  const trained = names.filter((name) => trainedBy(name) === name).reverse();
  const untrained = names.filter((name) => trainedBy(name) === null && name !== 'lookup');
  const others = names.filter((name) => ![...trained, ...untrained, 'lookup'].includes(name));
  const runsOf = (methods: string[], seeds: number[], warmUps = WARM_UPS): PolicyRun[] =>
    seeds.flatMap((seed) =>
      warmUps.flatMap((warmUp) =>
        INITIAL_MODELS.flatMap((model) =>
          methods.map((method) => ({ method, model, warmUp, seed })),
        ),
      ),
    );
  const [first] = SEEDS;
  return [
    ...runsOf(
      trained.filter((name) => !ONE_SEED.includes(name)),
      SEEDS,
    ),
    ...runsOf(untrained, [first]),
    ...runsOf(others, SEEDS),
    ...runsOf(ONE_SEED, [first]),
    // It is the same whatever the model.
    ...runsOf(['lookup'], [first], WARM_UPS.slice(0, 1)),
  ];
}

/** Methods of a row by the side, with one seed of reinforcement. */
const ONE_SEED = ['search-r1:b4'];

const isTrainedItself = ({ method }: PolicyRun): boolean => trainedBy(method) === method;

/**
 * The runs to compare, whatever else is in training: of the warm-ups from which the
 * compared methods all have the first seed from both kinds of model, and of further seeds
 * only those that all these warm-ups have, so that every seed stands beside the same
 * initial models.
 */
export function wholeRuns(root?: string): PolicyRun[] {
  const needed = mainRuns().filter((run) => isTrainedItself(run) && !ONE_SEED.includes(run.method));
  const missing = needed.filter((run) => !isTrained(run, root));
  const isWhole = (warmUp: number, seed: number): boolean =>
    !missing.some((run) => run.warmUp === warmUp && run.seed === seed);
  const warmUps = WARM_UPS.filter((warmUp) => isWhole(warmUp, SEEDS[0]));
  const seeds = SEEDS.filter((seed) => warmUps.every((warmUp) => isWhole(warmUp, seed)));
  return mainRuns().filter(({ warmUp, seed }) => warmUps.includes(warmUp) && seeds.includes(seed));
}

export const mainResults: Experiment = {
  name: 'main-results',
  title: 'every method on all questions',
  computation: answersOf(() => wholeRuns(), {
    prepare: trainingOf(() => mainRuns().filter(isTrainedItself)),
  }),
  claims: mainClaims,
};

/** What the report shows of training. */
const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'decomposition_ratio',
  'completions/mean_length',
  'kl',
  'entropy',
];

const SIDES = { method: 'parallelsearch', against: 'search-r1', model: 'all' };
const SHARE = { method: 'parallelsearch', benchmark: 'all', metric: 'decomposition_ratio' };
const PARALLEL = { benchmark: 'all', subset: 'parallelizable' };
const isAbove0: Predicted['holds'] = ({ low }) => low > 0;

/** What was to be achieved, each with the figure that decides it. */
const PREDICTED: readonly Predicted[] = [
  ...INITIAL_MODELS.flatMap((model) =>
    ['parallelsearch', 'search-r1'].flatMap((method) =>
      UNTRAINED.map(({ name, title }): Predicted => ({
        prediction: `Reinforcement teaches: ${methodTitle(method)} answers more parallelizable questions than “${title}” (${model})`,
        figure: { method, against: name, model, ...PARALLEL, metric: 'em', kind: 'difference' },
        holds: isAbove0,
      })),
    ),
  ),
  {
    prediction:
      'Answers as many questions as Search-R1 on the average of seven benchmarks (lower end above −0.5 points)',
    figure: { ...SIDES, benchmark: 'average', subset: 'all', metric: 'em', kind: 'difference' },
    holds: ({ low }) => low >= -0.005,
    because: {
      where: 'on hybrid questions, of which training has none,',
      figure: { ...SIDES, benchmark: 'all', subset: 'hybrid', metric: 'em', kind: 'difference' },
    },
  },
  {
    prediction: 'Answers more parallelizable questions than Search-R1',
    figure: { ...SIDES, ...PARALLEL, metric: 'em', kind: 'difference' },
    holds: isAbove0,
    because: {
      where: 'little is left to gain, Search-R1 from base answers',
      figure: { method: 'search-r1', model: 'base', ...PARALLEL, metric: 'em' },
    },
  },
  ...[
    { benchmark: 'all', subset: 'entities_2', title: 'comparisons of two', most: 0.7 },
    { benchmark: MANY, subset: 'all', title: 'comparisons of up to eight', most: 0.55 },
  ].map(({ benchmark, subset, title, most }): Predicted => ({
    prediction: `Needs at most ${Math.round(100 * most)} % of the model calls of Search-R1 on ${title}`,
    figure: { ...SIDES, benchmark, subset, metric: 'model_calls', kind: 'ratio' },
    holds: ({ value }) => value <= most,
  })),
  ...INITIAL_MODELS.flatMap((model): Predicted[] => [
    {
      prediction: `Decomposes at least 90 % of parallelizable questions (${model})`,
      figure: { ...SHARE, model, subset: 'parallelizable' },
      holds: ({ value }) => value >= 0.9,
    },
    {
      prediction: `Decomposes at most 10 % of sequential questions (${model})`,
      figure: { ...SHARE, model, subset: 'sequential' },
      holds: ({ value }) => value <= 0.1,
    },
    {
      prediction: `Repeats at most 5 % of its sub-queries (${model})`,
      figure: { ...SHARE, model, subset: 'all', metric: 'repeated_queries' },
      holds: ({ value }) => value <= 0.05,
    },
  ]),
];

/**
 * Subsets are of all questions and of the comparisons of many; single benchmarks are
 * given whole.
 */
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  subset === 'all' || ['all', 'average', MANY].includes(benchmark);

/** What is compared in every metric. */
const TRAINED: readonly MethodPair[] = [
  ...['search-r1', 'search-r1:b4', 'search-r1-parallel-prompt'].map((against): MethodPair => [
    'parallelsearch',
    against,
  ]),
  ['search-r1-parallel-prompt', 'search-r1'],
];

/** What is compared in exact match alone: what was trained, beside what was not. */
const BESIDE_UNTRAINED: readonly MethodPair[] = [
  ...UNTRAINED.map(({ name }) => name),
  'r1',
  'lookup',
].flatMap((against): MethodPair[] =>
  ['parallelsearch', 'search-r1'].map((method) => [method, against]),
);

/**
 * Reads the main comparison's answers and computes its figures with intervals, which
 * takes some seconds.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadMainResults(folder?: string, options: SummaryOptions = {}) {
  const read = await loadAnswers(mainResults, folder);
  const tidy = summarise(read, { selects, pairs: TRAINED }, options);
  const inEm = { selects, pairs: BESIDE_UNTRAINED, measures: [mainMeasure('em')] };
  tidy.contrasts.push(...summarise(read, inEm, options).contrasts);
  const [answers, figures, comparisons] = [read.answers, tidy.rows, tidy.contrasts].map(count);
  return reportOf({
    summary: `${answers} answers, ${figures} figures, ${comparisons} comparisons.`,
    finding: callsAndAnswers(
      tidy.contrasts,
      ['on comparisons of two to eight', { benchmark: MANY, subset: 'all' }],
      ['on the average of seven benchmarks', { benchmark: 'average', subset: 'all' }],
    ),
    tidy,
    predicted: PREDICTED,
    contrasts: withPaper(tidy.contrasts),
    // Training curves: a row for each metric, run and window of steps.
    frames: { training: trainingRows(read.curves, DYNAMICS) },
  });
}
export type MainResults = Awaited<ReturnType<typeof loadMainResults>>;
