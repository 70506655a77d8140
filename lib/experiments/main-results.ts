/** The main comparison (Table 2): every method and initial model, on all questions. */
import { mean } from 'd3-array';
import { mainMeasure } from '../evaluation/metrics.js';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import { matching, where, findFigure, meanValue } from '../evaluation/figures.js';
import type {
  MethodPair,
  SummaryOptions,
  TidyContrast,
  TidyResults,
  TidyRow,
} from '../evaluation/table.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { trainingRows } from '../report/training-rows.js';
import type { ResultParts } from '../report/result.js';
import { interval, points, table } from '../report/table.js';
import { figureText, gapWords, pointsText, ratioWords } from '../report/text.js';
import { metricInfo, valueTitle } from '../report/titles.js';
import { countText } from '../text/english.js';
import {
  BOTH_METHODS,
  MAIN_METHODS,
  methodTitle,
  trainedBy,
  UNTRAINED,
} from '../training/methods.js';
import { INITIAL_MODELS } from '../training/models.js';
import { isTrained, type PolicyRun } from './running/policy-runs.js';
import type { Experiment } from './experiment.js';
import {
  aheadFromEachModel,
  PARALLELSEARCH_FIELDS,
  partsAhead,
  type PaperClaim,
} from './results/claims.js';
import { byModel, countCellsAhead, paperMean, paperRows, withPaper } from './results/paper.js';
import {
  chartByType,
  checkPredictions,
  percent,
  summarise,
  type Predicted,
} from './results/summary.js';
import { answerComputation } from './running/answers.js';
import { loadAnswers, type AnsweredRuns } from './running/load-answers.js';
import { SEEDS, INIT_SEEDS, listRuns } from './running/runs.js';
import { planTraining } from './running/train-runs.js';

const WHOLE = { subset: 'all', metric: 'em' };
/** The cells of Table 2: every benchmark from every initial model. */
const CELLS = INITIAL_MODELS.flatMap((model) =>
  Object.keys(BENCHMARK_TITLES).map((benchmark) => ({ model, benchmark, against: 'search-r1' })),
);

const mainClaims: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: () => {
      const gain = (model: string): number => {
        const average = { ...WHOLE, model, benchmark: 'average' };
        const others = paperRows(average).filter(({ method }) => method !== 'ParallelSearch');
        const best = Math.max(...others.map(({ value }) => value));
        return paperMean({ ...average, method: 'parallelsearch' }) - best;
      };
      return `${byModel((model) => pointsText(gain(model)))}, mean ${pointsText(mean(INITIAL_MODELS, gain))} points (printed averages of Table 2)`;
    },
    cell: 'gap-table',
    rule: 'Difference to Search-R1, the paper’s strongest baseline with the same training set, above 0 from both models',
    parts: aheadFromEachModel({ against: 'search-r1', benchmark: 'average', subset: 'all' }),
  },
  {
    id: 'every-benchmark',
    claim: 'Is ahead of Search-R1 on the single benchmarks, not only on average',
    paper: 'Table 2',
    tables: () => `ahead in ${countCellsAhead(CELLS)} of Table 2`,
    cell: 'gap-table',
    rule: 'Difference above 0 on each of the seven benchmarks from both models',
    parts: partsAhead(
      CELLS.map((cell) => [
        `${valueTitle('benchmark', cell.benchmark)} (${cell.model})`,
        { ...cell, subset: 'all' },
      ]),
    ),
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: () => {
      const cells = { ...WHOLE, benchmark: Object.keys(BENCHMARK_TITLES) };
      const rows = paperRows({ method: 'parallelsearch' });
      const means = INITIAL_MODELS.toReversed().map(
        (model) => `${figureText(meanValue(rows, { ...cells, model }), 4)} (${model})`,
      );
      return `${means.join(', ')} as means of the seven columns`;
    },
    untestable: 'A small world and a small transformer say nothing about levels.',
  },
];

const ONE_SEED = ['search-r1:b4'];
const hasOwnTraining = ({ method }: PolicyRun): boolean => trainedBy(method) === method;

/**
 * Every run of the main comparison, most important first. Untrained policies answer
 * greedily, so one seed is enough; lookup does not depend on the model.
 */
export function mainRuns(): PolicyRun[] {
  const names = MAIN_METHODS.map(({ name }) => name).filter((name) => name !== 'lookup');
  const trained = names.filter((name) => trainedBy(name) === name).reverse();
  const untrained = names.filter((name) => trainedBy(name) === null);
  const others = names.filter((name) => ![...trained, ...untrained].includes(name));
  const models = INITIAL_MODELS;
  const repeated = trained.filter((name) => !ONE_SEED.includes(name));
  return [
    ...listRuns({ methods: repeated, models, seeds: SEEDS }),
    ...listRuns({ methods: untrained, models }),
    ...listRuns({ methods: others, models, seeds: SEEDS }),
    ...listRuns({ methods: ONE_SEED, models }),
    ...listRuns({ methods: ['lookup'], models, initSeeds: INIT_SEEDS.slice(0, 1) }),
  ];
}

/**
 * The runs that can be compared fairly: initial models from which all compared methods
 * have the first seed, and further seeds only if all these models have them.
 */
export function wholeRuns(root?: string): PolicyRun[] {
  const missing = mainRuns().filter(
    (run) => hasOwnTraining(run) && !ONE_SEED.includes(run.method) && !isTrained(run, root),
  );
  const isWhole = (initSeed: number, seed: number): boolean =>
    !missing.some((run) => run.initSeed === initSeed && run.seed === seed);
  const warmUps = INIT_SEEDS.filter((initSeed) => isWhole(initSeed, SEEDS[0]));
  const seeds = SEEDS.filter((seed) => warmUps.every((initSeed) => isWhole(initSeed, seed)));
  return mainRuns().filter(
    ({ initSeed, seed }) => warmUps.includes(initSeed) && seeds.includes(seed),
  );
}

const AVERAGE = { benchmark: 'average', subset: 'all' };
const PARALLEL = { benchmark: 'all', subset: 'parallelizable' };
const OVER_SEARCH_R1 = { method: 'parallelsearch', against: 'search-r1', model: 'all' };
const EM_GAP = { ...OVER_SEARCH_R1, metric: 'em', kind: 'difference' };
const EVERYWHERE_GAP = { ...EM_GAP, benchmark: 'all', subset: 'all' };
/** The subset of question types that occur in training. */
const WITHOUT_HYBRID = 'without_hybrid';
const CALLS = { ...OVER_SEARCH_R1, metric: 'model_calls', kind: 'ratio' };
const CALLS_OF_TWO = { ...CALLS, benchmark: 'all', subset: 'entities_2' };
const isAbove0: Predicted['holds'] = ({ low }) => low > 0;

const PREDICTED: readonly Predicted[] = [
  ...INITIAL_MODELS.flatMap((model) =>
    BOTH_METHODS.flatMap((method) =>
      UNTRAINED.map(
        ({ name, title }): Predicted => ({
          prediction: `After reinforcement ${methodTitle(method)} answers more parallelizable questions than “${title}” (${model})`,
          figure: { method, against: name, model, ...PARALLEL, metric: 'em', kind: 'difference' },
          holds: isAbove0,
        }),
      ),
    ),
  ),
  {
    prediction:
      'Answers as many questions as Search-R1 on the average of seven benchmarks (lower end above −0.5 points)',
    figure: { ...EM_GAP, ...AVERAGE },
    holds: ({ low }) => low >= -0.005,
    because: {
      where: 'hybrid questions, which training does not have:',
      figure: { ...EM_GAP, benchmark: 'all', subset: 'hybrid' },
    },
  },
  {
    prediction: 'Answers more parallelizable questions than Search-R1',
    figure: { ...EM_GAP, ...PARALLEL },
    holds: isAbove0,
    because: {
      where: 'little is left to gain: Search-R1 (base)',
      figure: { method: 'search-r1', model: 'base', ...PARALLEL, metric: 'em' },
    },
  },
  {
    prediction: 'Needs at most 70 % of the model calls of Search-R1 on comparisons of two',
    figure: CALLS_OF_TWO,
    holds: ({ value }) => value <= 0.7,
  },
  {
    prediction: 'Needs at most 55 % of the model calls of Search-R1 on comparisons of up to eight',
    figure: { ...CALLS, benchmark: MANY, subset: 'all' },
    holds: ({ value }) => value <= 0.55,
  },
  ...INITIAL_MODELS.flatMap((model): Predicted[] => {
    const share = { ...PARALLELSEARCH_FIELDS, model, metric: 'decomposition_ratio' };
    return [
      {
        prediction: `Decomposes at least 90 % of parallelizable questions (${model})`,
        figure: { ...share, subset: 'parallelizable' },
        holds: ({ value }) => value >= 0.9,
      },
      {
        prediction: `Decomposes at most 10 % of sequential questions (${model})`,
        figure: { ...share, subset: 'sequential' },
        holds: ({ value }) => value <= 0.1,
      },
      {
        prediction: `Repeats at most 5 % of its sub-queries (${model})`,
        figure: { ...share, subset: 'all', metric: 'repeated_queries' },
        holds: ({ value }) => value <= 0.05,
      },
    ];
  }),
];

const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'decomposition_ratio',
  'completions/mean_length',
  'kl',
  'entropy',
];

/** Single benchmarks are only shown as a whole. */
const filter: SummaryOptions['filter'] = ({ benchmark, subset }) =>
  subset === 'all' || ['all', 'average', MANY].includes(benchmark);

/** Pairs compared in every metric. */
const TRAINED_PAIRS: readonly MethodPair[] = [
  BOTH_METHODS,
  ['parallelsearch', 'search-r1:b4'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
  ['search-r1-parallel-prompt', 'search-r1'],
];
/** Pairs compared in exact match only. */
const UNTRAINED_PAIRS = [...UNTRAINED.map(({ name }) => name), 'r1', 'lookup'].flatMap(
  (against): MethodPair[] => [
    ['parallelsearch', against],
    ['search-r1', against],
  ],
);

/** ParallelSearch minus Search-R1 over all questions except hybrid ones. */
function withoutHybrid(read: AnsweredRuns): TidyContrast[] {
  const answers = read.answers.filter(({ subset }) => subset !== 'hybrid');
  const settings: SummaryOptions = {
    measures: [mainMeasure('em')],
    pairs: TRAINED_PAIRS.slice(0, 1),
    filter: where({ benchmark: ['all', 'average'], subset: 'all' }),
  };
  const { contrasts } = summarise({ ...read, answers }, settings);
  return contrasts.map((contrast) => ({ ...contrast, subset: WITHOUT_HYBRID }));
}

/** `On comparisons of two, ParallelSearch needs a third fewer model calls than ...` */
function costText(tidy: TidyResults): string {
  const calls = findFigure(tidy, CALLS_OF_TWO)!;
  const answers = gapWords(findFigure(tidy, { ...EM_GAP, ...PARALLEL })!, 'as good');
  return `On comparisons of two, ParallelSearch needs ${ratioWords(calls)} model calls than Search-R1, and its answers are ${answers}.`;
}

/** Compares exact match over all questions, and says whether hybrid ones explain it. */
function answersText(tidy: TidyResults): string {
  const everywhere = findFigure(tidy, EVERYWHERE_GAP)!;
  const rest = findFigure(tidy, { ...EVERYWHERE_GAP, subset: WITHOUT_HYBRID })!;
  const [before, after] = ['search-r1', 'parallelsearch'].map((method) => {
    const hybrid = { ...PARALLEL, subset: 'hybrid', metric: 'em', method };
    return percent(meanValue(tidy.rows, hybrid));
  });
  const isDifferent = everywhere.low > 0 || everywhere.high < 0;
  const isExplained = isDifferent && rest.low <= 0 && rest.high >= 0;
  const source = isExplained ? 'only because of' : `${gapWords(rest)} without`;
  return `Over all questions its answers are ${gapWords(everywhere)}, ${source} hybrid questions (two chains in one, absent from training): ${after} right instead of ${before}.`;
}

function drawFigures(
  rows: readonly TidyRow[],
  contrasts: readonly TidyContrast[],
): ResultParts['figures'] {
  const many = matching(rows, { method: BOTH_METHODS, benchmark: MANY });
  const compared = many.filter(({ subset }) => subset.startsWith('entities_'));
  const byEntities = (metric: string) =>
    intervalChart(matching(compared, { metric }), {
      title: `${metricInfo(metric).title} by the number of entities compared, with 95 % intervals`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'subset',
      xTitle: 'Entities compared',
      color: 'method',
      column: 'model',
      height: 160,
    });
  const apart = ['r1', 'lookup', 'search-r1:b4', 'search-r1-parallel-prompt'];
  const beforeAndAfter = rows.filter(({ method }) => !apart.includes(method));
  const untrained = (cell: object, questions: string) =>
    intervalChart(matching(beforeAndAfter, { ...cell, metric: 'em' }), {
      title: `Exact match before and after RL, ${questions}`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'model',
      color: 'method',
    });
  const ofModels = matching(contrasts, { ...EM_GAP, model: [...INITIAL_MODELS, 'all'] });
  const overall = ['all', 'average'].flatMap((benchmark) =>
    matching(ofModels, { benchmark, subset: ['all', WITHOUT_HYBRID] }).map((row) => {
      return { ...row, counts_once: benchmark === 'all' ? 'each question' : 'each benchmark' };
    }),
  );
  return {
    overall: table(overall, {
      rows: ['counts_once', 'subset'],
      columns: ['model'],
      caption: 'Small world. ParallelSearch minus Search-R1 in exact match, in points [95 %].',
    }),
    entities: byEntities('model_calls'),
    types: chartByType(rows, 'em', ['single_hop', 'parallelizable', 'sequential', 'hybrid']),
    answers: byEntities('em'),
    untrained: untrained(PARALLEL, 'parallelizable questions'),
    untrainedAverage: untrained(AVERAGE, 'average of seven benchmarks'),
    gaps: table(
      matching(ofModels, { subset: 'all' }).filter(({ benchmark }) => benchmark !== 'all'),
      {
        rows: ['benchmark'],
        columns: ['model'],
        cells: { 'paper, points': points('paper'), 'here, points [95 %]': interval },
        caption: 'Small world. ParallelSearch minus Search-R1 in exact match, in points (Table 2).',
      },
    ),
  };
}

export const mainResults: Experiment = {
  name: 'main-results',
  title: 'every method on all questions',
  computation: answerComputation(
    () => wholeRuns(),
    planTraining(() => mainRuns().filter(hasOwnTraining)),
  ),
  claims: mainClaims,
  async result(folder) {
    const read = await loadAnswers(mainResults, folder);
    const tidy = summarise(read, { filter, pairs: TRAINED_PAIRS });
    const inEm = { filter, pairs: UNTRAINED_PAIRS, measures: [mainMeasure('em')] };
    tidy.contrasts.push(...summarise(read, inEm).contrasts);
    tidy.contrasts.push(...withoutHybrid(read));
    const contrasts = withPaper(tidy.contrasts);
    return {
      ...tidy,
      contrasts,
      predictions: checkPredictions(tidy, PREDICTED),
      summary: `${countText(read.answers.length)} answers, ${countText(tidy.rows.length)} figures, ${countText(tidy.contrasts.length)} comparisons.`,
      finding: `${costText(tidy)} ${answersText(tidy)}`,
      frames: { training: trainingRows(read.curves, DYNAMICS) },
      figures: drawFigures(tidy.rows, contrasts),
      card: { entities: 'instruct', types: 'instruct' },
    };
  },
};
