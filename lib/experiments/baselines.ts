/**
 * All of Table 2: every method of the paper's comparison and other ways to train them.
 * Methods of the main comparison have all of its trainings; the others have one from an
 * initial model of each kind, so their intervals are about that adapter only and there is
 * no verdict on these methods.
 */
import { deviation, flatRollup, group, max, mean, min, rank, rollup, sort, sum } from 'd3-array';
import { quantileNormal } from 'vega-statistics';
import type { Interval } from '../evaluation/bootstrap.js';
import { mainMeasure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import { BENCHMARK_TITLES } from '../evaluation/selections.js';
import {
  matching,
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../evaluation/table.js';
import { INITIAL_MODELS, isTrained, runName, type PolicyRun } from '../training/stored-policies.js';
import { BASELINES, METHODS, methodTitle } from '../training/methods.js';
import {
  axisTitle,
  createChart,
  seriesChannels,
  SMALL_WORLD_NOTE,
  type Chart,
} from '../report/chart.js';
import { trainingRows } from '../report/curves.js';
import { figureText } from '../report/text.js';
import { valueTitle } from '../report/titles.js';
import { formatList } from '../text/format-list.js';
import { KINDS } from '../training/zerosearch.js';
import { answerComputation, count, loadAnswers, type AnsweredRuns } from './answers.js';
import type { Experiment, Numbers, PaperClaim, ResultParts } from './experiment.js';
import { mainRuns } from './main-results.js';
import { countCellsAhead, paperRows } from './paper.js';
import { resultParts, summarise, type Predicted } from './report.js';
import { SEEDS, INIT_SEEDS } from './runs.js';
import { addTiming, loadTiming, timingExperiment, type Timing } from './timing.js';
import { tradeOffChart } from './trade-off-chart.js';
import { planTraining } from './train-runs.js';
import { aheadFromEachModel, holm, LEVEL, partsAhead, pValue } from './verdicts.js';

const OURS = 'parallelsearch';
const [OURS_COLOR] = seriesChannels('method', [OURS]).color.scale.range;
/** Methods of the main comparison that are compared. */
const COMPARED = ['search-r1', 'search-r1-parallel-prompt', OURS];
/** Methods that the main comparison trains several times. */
const REPEATED = ['search-r1', OURS];
const NAMES = BASELINES.flatMap(({ name, isPreparation }) => (isPreparation ? [] : [name]));
const WHOLE = { subset: 'all', metric: 'em' };
/** Fewer initial models show nothing about a method. */
const LEAST_INITIAL_MODELS = 3;
/** How many initial models of a kind, at least, a method was trained from. */
const countInitialModels = (method: string, trainings: readonly Trainings[]): number =>
  min(matching(trainings, { method }), ({ initial_models }) => initial_models) ?? 0;
const isRepeated = (method: string, trainings: readonly Trainings[]): boolean =>
  countInitialModels(method, trainings) >= LEAST_INITIAL_MODELS;
const readTrainings = ({ frames }: Numbers): Trainings[] => (frames.trainings ?? []) as Trainings[];

/** Baselines of Table 2, in each of its cells. */
const CELLS = INITIAL_MODELS.flatMap((model) =>
  Object.keys(BENCHMARK_TITLES).flatMap((benchmark) =>
    ['r1:trained', 'search-r1', 'otc', 'zerosearch', 'stepsearch'].map((against) => {
      return { model, benchmark, against };
    }),
  ),
);

const aheadOnAverage = (id: string, against: string, remark = ''): PaperClaim => ({
  id,
  claim: `Is ahead of ${methodTitle(against)} on average as well`,
  paper: 'Table 2',
  tables: () =>
    paperRows({ ...WHOLE, benchmark: 'average', method: against })
      .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
      .join(', ') + remark,
  evidence: {
    cell: 'average-table',
    rule: `Difference to ${methodTitle(against)} on the average of seven benchmarks above 0 from both models`,
    parts: aheadFromEachModel({ against, benchmark: 'average', subset: 'all' }),
    findReason: (numbers) => {
      const trained = countInitialModels(against, readTrainings(numbers));
      return trained === 0 || trained >= LEAST_INITIAL_MODELS
        ? null
        : `trained from ${trained} initial model of each kind, and a verdict on a method needs ${LEAST_INITIAL_MODELS}`;
    },
  },
});

const baselineClaims: readonly PaperClaim[] = [
  aheadOnAverage('other-baselines', 'otc'),
  {
    id: 'every-cell',
    claim: 'Is ahead of every baseline on every benchmark',
    paper: 'Table 2',
    tables: () => `ahead in ${countCellsAhead(CELLS)} of Table 2 that have a figure`,
    evidence: {
      cell: 'cells-table',
      rule: `Difference above 0 in every cell of Table 2, to every baseline that is trained here from at least ${LEAST_INITIAL_MODELS} initial models`,
      parts: (numbers) => {
        const trainings = readTrainings(numbers);
        const cells = CELLS.filter(({ against }) => isRepeated(against, trainings));
        return partsAhead(
          Object.fromEntries(
            cells.map((cell) => [
              `${methodTitle(cell.against)}, ${valueTitle('benchmark', cell.benchmark)} (${cell.model})`,
              { ...cell, subset: 'all' },
            ]),
          ),
        )(numbers);
      },
    },
  },
  aheadOnAverage('zerosearch', 'zerosearch', '; trained there on another data set'),
];

/** One training from either initial model: a working day on two cores for all methods. */
const methodRuns = (method: string): PolicyRun[] =>
  INITIAL_MODELS.map((model) => ({ method, model, initSeed: INIT_SEEDS[0], seed: SEEDS[0] }));

/** Runs of this experiment only; simulated search engines come first. */
export const baselineRuns = (): PolicyRun[] =>
  sort(BASELINES, ({ isPreparation }) => Number(!isPreparation)).flatMap(({ name }) =>
    methodRuns(name),
  );

/** Methods trained from both initial models; none where no baseline is. */
export function comparedRuns(root?: string): PolicyRun[] {
  const wholeRuns = (methods: readonly string[]): PolicyRun[] =>
    methods
      .map(methodRuns)
      .flatMap((runs) => (runs.every((run) => isTrained(run, root)) ? runs : []));
  const trained = wholeRuns(NAMES);
  return trained.length === 0 ? [] : [...wholeRuns(COMPARED), ...trained];
}

/** The compared runs, and all others of the main comparison's methods. */
export function answeredRuns(root?: string): PolicyRun[] {
  const compared = comparedRuns(root);
  const names = new Set(compared.map(runName));
  const more = mainRuns().filter(
    (run) => COMPARED.includes(run.method) && isTrained(run, root) && !names.has(runName(run)),
  );
  return compared.length === 0 ? [] : [...compared, ...more];
}

export const baselines: Experiment = {
  name: 'baselines',
  title: 'every baseline of Table 2, and PPO',
  computation: answerComputation(
    () => answeredRuns(),
    planTraining(baselineRuns, () => COMPARED.flatMap(methodRuns)),
  ),
  result: compareBaselines,
  claims: baselineClaims,
};

/** The compared runs of an initial model, against each other. */
export const baselinesTiming = timingExperiment(
  { name: 'baselines-timing', title: 'seconds per question of all methods, alternating' },
  () =>
    INITIAL_MODELS.map((model) => matching(comparedRuns(), { model })).filter(
      (runs) => runs.length > 0,
    ),
);

const AVERAGE = { benchmark: 'average', subset: 'all', model: 'all', kind: 'difference' };
const EM_GAP = { ...AVERAGE, metric: 'em' };

/** Claims of the baselines' own papers. */
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'OTC needs fewer model calls than Search-R1',
    figure: { ...AVERAGE, method: 'otc', against: 'search-r1', metric: 'model_calls' },
    holds: ({ high }) => high < 0,
  },
  {
    prediction: 'OTC loses at most 2 points of exact match to Search-R1',
    figure: { ...EM_GAP, method: 'otc', against: 'search-r1' },
    holds: ({ value }) => value >= -0.02,
  },
  {
    prediction: 'ZeroSearch, tested with real search, is at most 5 points below Search-R1',
    figure: { ...EM_GAP, method: 'zerosearch', against: 'search-r1' },
    holds: ({ value }) => value >= -0.05,
  },
  ...INITIAL_MODELS.map((model): Predicted => {
    const longChains = { benchmark: 'all', subset: 'hops_3', model };
    return {
      prediction: `StepSearch is at least as good as Search-R1 on questions of three or more hops (${model})`,
      figure: { ...EM_GAP, method: 'stepsearch', against: 'search-r1', ...longChains },
      holds: ({ value }) => value >= 0,
    };
  }),
  {
    prediction: 'Search-R1 ends alike with PPO and with GRPO (PPO minus GRPO)',
    figure: { ...EM_GAP, method: 'search-r1:ppo', against: 'search-r1' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
  {
    prediction: 'ParallelSearch ends alike with GRPO and with PPO (GRPO minus PPO)',
    figure: { ...EM_GAP, method: OURS, against: 'parallelsearch:ppo' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
];

/**
 * Differences with p after Holm's correction over all of them, and the side they are on.
 */
export function decideSides<Row extends Interval>(differences: readonly Row[]) {
  const ps = holm(differences.map((found) => pValue({ found, threshold: 0 })));
  return differences.map((row, i) => {
    const isUndecided = ps[i] > LEVEL || (row.low <= 0 && row.high >= 0);
    const side = isUndecided ? 'undecided' : row.low > 0 ? 'ahead' : 'behind';
    return { ...row, p: ps[i], side } as const;
  });
}

/**
 * The mean rank of each method over benchmarks and models, 1 for the highest figure; ties
 * share the mean of their ranks.
 */
export function meanRanks(
  rows: readonly Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'value'>[],
) {
  const cells = group(rows, ({ benchmark, model }) => `${benchmark} ${model}`);
  const ranked = [...cells.values()].flatMap((cell) => {
    // d3 gives ties the lowest of their ranks, from 0.
    const places = rank(cell, (row: { value: number }) => -row.value);
    return cell.map(({ method }, i) => {
      const numTied = places.filter((place) => place === places[i]).length;
      return { method, place: places[i] + 1 + (numTied - 1) / 2 };
    });
  });
  const means = [...group(ranked, ({ method }) => method)].map(([method, places]) => {
    return { method, mean_rank: mean(places, ({ place }) => place)!, cells: places.length };
  });
  return sort(means, ({ mean_rank }) => mean_rank);
}

/**
 * Exact match on the average of seven benchmarks, of trainings that differ only in
 * initial model and seed.
 */
interface Spread {
  method: string;
  model: string;
  trainings: number;
  lowest: number;
  highest: number;
  deviation: number;
}

/** How often a method was trained. */
interface Trainings {
  method: string;
  model: string;
  initial_models: number;
  trainings: number;
}

/** The trainings behind the answers of each method, from each kind of model. */
export const countTrainings = (answers: readonly QuestionResult[]): Trainings[] =>
  flatRollup(
    answers,
    (group) => {
      const initSeeds = new Set(group.map(({ initSeed }) => initSeed));
      const runs = new Set(group.map(({ initSeed, seed }) => `${initSeed}/${seed}`));
      return { initial_models: initSeeds.size, trainings: runs.size };
    },
    ({ method }) => method,
    ({ model }) => model,
  ).map(([method, model, counts]) => ({ method, model, ...counts }));

/**
 * A/A: trainings of one method from one initial model, which differ in the seed alone.
 * Intervals resample questions, as those of any two single trainings do.
 */
export function compareSeeds(answers: readonly QuestionResult[], options: SummaryOptions = {}) {
  const trainings = [
    ...group(
      answers,
      ({ method, model, initSeed }) => `${method}, ${model}-${initSeed}`,
      ({ seed }) => seed,
    ),
  ].filter(([, seeds]) => seeds.size > 1);
  const seedName = (name: string, seed: number): string => `${name}, seed ${seed}`;
  const named = trainings.flatMap(([name, seeds]) =>
    [...seeds].flatMap(([seed, group]) =>
      group.map((answer) => ({ ...answer, method: seedName(name, seed), initSeed: 1, seed: 1 })),
    ),
  );
  if (named.length === 0) return [];
  const pairs = trainings.flatMap(([name, seeds]) => {
    const [first, ...others] = sort(seeds.keys());
    return others.map((seed): MethodPair => [seedName(name, first), seedName(name, seed)]);
  });
  const { contrasts } = summarise(
    { answers: named, provenance: {} },
    { measures: [mainMeasure('em')], pairs, filter: isInTable },
    options,
  );
  return contrasts.map(({ method, against, benchmark, metric, kind, value, low, high }) => {
    const [trained, initial_model, seed] = method.split(', ');
    const pair = { method: trained, initial_model, seed, against_seed: against.split(', ')[2] };
    return { ...pair, benchmark, metric, kind, value, low, high, excludes_0: low > 0 || high < 0 };
  });
}

const averageEm = (answers: readonly QuestionResult[]): number => {
  const byBenchmark = rollup(
    answers,
    (group) => mean(group, ({ em }) => em)!,
    ({ benchmark }) => benchmark,
  );
  return mean(byBenchmark.values())!;
};

/** Spread between trainings of a method; methods trained once are left out. */
export function trainingSpread(answers: readonly QuestionResult[]): Spread[] {
  const trainings = flatRollup(
    answers.filter(({ benchmark }) => benchmark in BENCHMARK_TITLES),
    (group) => [
      ...rollup(group, averageEm, ({ initSeed, seed }) => `${initSeed}/${seed}`).values(),
    ],
    ({ method }) => method,
    ({ model }) => model,
  );
  return trainings
    .filter(([, , ems]) => ems.length > 1)
    .map(([method, model, ems]) => ({
      method,
      model,
      trainings: ems.length,
      lowest: min(ems)!,
      highest: max(ems)!,
      deviation: deviation(ems)!,
    }));
}

/**
 * 95 % of pairs of trainings of one method differ by less, by the pooled variance of a
 * normal distribution.
 */
export function trainingNoise(spread: readonly Spread[]): number {
  const variance =
    sum(spread, ({ deviation, trainings }) => (trainings - 1) * deviation ** 2) /
    sum(spread, ({ trainings }) => trainings - 1);
  return quantileNormal(0.975) * Math.sqrt(2 * variance);
}

/**
 * How the methods with several trainings compare, what single trainings can show, and
 * which methods are beyond that.
 */
function findingText(
  contrasts: readonly TidyContrast[],
  cells: readonly { against: string; side: string }[],
  { spread, seeds }: { spread: readonly Spread[]; seeds: ReturnType<typeof compareSeeds> },
): string {
  const ofSearchR1 = matching(cells, { against: 'search-r1' });
  const [ahead, behind] = ['ahead', 'behind'].map((side) => matching(ofSearchR1, { side }).length);
  const decided = `Ahead of Search-R1 in ${ahead} of ${ofSearchR1.length} cells of Table 2, behind in ${behind}`;
  if (spread.length === 0) return `${decided}.`;
  const pairs = matching(seeds, { benchmark: 'average' });
  const different = matching(pairs, { excludes_0: true }).length;
  const noise = trainingNoise(spread);
  const others = METHODS.names().filter((against) =>
    INITIAL_MODELS.every((model) =>
      matching(contrasts, { ...EM_GAP, method: OURS, against, model }).some(
        ({ value }) => value > noise,
      ),
    ),
  );
  const names = others.map((name) =>
    methodTitle(name).replace(' (no search)', '').replace(',', ''),
  );
  return `${decided}. Others are trained once, which decides nothing: ${different} of ${pairs.length} pairs of trainings that differ only in the seed differ significantly on average. Further behind than two trainings of one method: ${formatList(names) || 'none'}.`;
}

/** ParallelSearch's leads over all methods, with the noise of training. */
function leadsChart(contrasts: readonly TidyContrast[], spread: readonly Spread[]): Chart {
  const leads = sort(matching(contrasts, { ...EM_GAP, method: OURS }), ({ value }) => value);
  const values = leads.map(({ against, value, low, high }) => {
    const [lead, from, to] = [value, low, high].map((share) => 100 * share);
    return { against: methodTitle(against), lead, from, to };
  });
  const noise = 100 * trainingNoise(spread);
  const sides = values.map(({ against }) => against);
  const y = { field: 'against', type: 'nominal', sort: sides, title: 'Against' };
  const x = { type: 'quantitative', title: axisTitle('Lead in exact match', 'points') };
  const bounds = { x: { ...x, datum: -noise }, x2: { datum: noise } };
  return createChart({
    title: 'ParallelSearch’s lead on the average of seven benchmarks, with 95 % intervals',
    subtitle:
      spread.length > 0 ? 'Grey: two trainings of one method differ by less' : SMALL_WORLD_NOTE,
    alt: `${values.map(({ against, lead }) => `${against} ${figureText(lead, 1)}`).join(', ')} points.`,
    spec: {
      data: { values },
      width: 380,
      height: { step: 20 },
      layer: [
        ...(spread.length > 0
          ? [{ mark: { type: 'rect', color: '#888888', opacity: 0.02 }, encoding: bounds }]
          : []),
        {
          mark: { type: 'rule', strokeWidth: 2, color: OURS_COLOR },
          encoding: { y, x: { ...x, field: 'from' }, x2: { field: 'to' } },
        },
        {
          mark: { type: 'point', filled: true, size: 55, opacity: 1, color: OURS_COLOR },
          encoding: {
            y: { ...y, axis: { labelLimit: 260 } },
            x: { ...x, field: 'lead' },
            tooltip: ['against', 'lead', 'from', 'to'].map((field) => {
              return field === 'against'
                ? { field }
                : { field, type: 'quantitative', format: '.1f' };
            }),
          },
        },
      ],
    },
  });
}

const METRICS = ['em', 'f1', 'model_calls', 'retrievals', 'tokens_written'] as const;
const DYNAMICS = [
  'rewards/outcome',
  'turns',
  'value_loss',
  'explained_variance',
  'kl',
  // ZeroSearch: the share of documents that are to be noise, and how often each kind is
  // true.
  'noise',
  ...KINDS.map((kind) => `documents/true_${kind}`),
];
const PAIRS: readonly MethodPair[] = [
  ...METHODS.names()
    .filter((name) => name !== OURS)
    .map((against): MethodPair => [OURS, against]),
  ...NAMES.map((method): MethodPair => [method, 'search-r1']),
  ['stepsearch:grpo', 'stepsearch'],
];
const isInTable: NonNullable<SummaryOptions['filter']> = ({ benchmark, subset }) =>
  subset === 'all' && (benchmark in BENCHMARK_TITLES || benchmark === 'average');
const filter: NonNullable<SummaryOptions['filter']> = (selection) =>
  isInTable(selection) || isShown(selection);
const isShown: NonNullable<SummaryOptions['filter']> = ({ benchmark, subset }) =>
  benchmark === 'all' && ['all', 'parallelizable', 'sequential', 'hops_3'].includes(subset);

export function baselineReport(
  { timed, ...read }: AnsweredRuns & { timed?: Timing | null },
  options: SummaryOptions = {},
): ResultParts {
  const measures = METRICS.map(mainMeasure);
  const tidy = summarise(read, { measures, filter, pairs: PAIRS }, options);
  addTiming(tidy, timed, { filter, pairs: PAIRS, ...options });
  const inTable = ({ benchmark, model }: { benchmark: string; model: string }): boolean =>
    benchmark in BENCHMARK_TITLES && model !== 'all';
  const repeated = read.answers.filter(({ method }) => REPEATED.includes(method));
  const [spread, seeds] = [trainingSpread(repeated), compareSeeds(repeated, options)];
  const trainings = countTrainings(read.answers);
  const sides = { method: OURS, metric: 'em', kind: 'difference', subset: 'all' };
  const differences = matching(tidy.contrasts, sides).filter(inTable);
  const [ofMethods, ofAdapters] = [true, false].map((wanted) =>
    differences.filter(({ against }) => isRepeated(against, trainings) === wanted),
  );
  const cells = [
    ...decideSides(ofMethods),
    ...ofAdapters.map((row) => ({ ...row, p: null, side: 'no verdict' })),
  ];
  const answered = new Set(read.answers.map(({ method }) => method));
  const missing = NAMES.filter((name) => !answered.has(name)).map(methodTitle);
  const note =
    missing.length > 0
      ? ` Not trained yet: ${formatList(missing)} (npx parallelsearch experiment baselines).`
      : '';
  const all = matching(tidy.rows, { benchmark: 'all', subset: 'all' });
  const tradeOff = (model: string, within: number) =>
    tradeOffChart(matching(all, { model }), {
      of: 'method',
      color: 'method',
      questions: `all questions, from ${model}`,
      hasFront: true,
      within,
    });
  return resultParts({
    finding: findingText(tidy.contrasts, cells, { spread, seeds }),
    summary: `${count(read.answers)} answers.${note}`,
    tidy,
    predicted: PREDICTED,
    frames: {
      cells,
      ranks: meanRanks(matching(tidy.rows, WHOLE).filter(inTable)),
      spread,
      seeds,
      trainings,
      training: trainingRows(read.curves, DYNAMICS),
    },
    figures: {
      leads: leadsChart(tidy.contrasts, spread),
      base: tradeOff('base', 1),
      baseZoomed: tradeOff('base', 0.1),
      instruct: tradeOff('instruct', 1),
      instructZoomed: tradeOff('instruct', 0.1),
    },
  });
}

async function compareBaselines(
  folder?: string,
  options: SummaryOptions = {},
): Promise<ResultParts> {
  const timed = await loadTiming(folder, baselinesTiming);
  return baselineReport({ ...(await loadAnswers(baselines, folder)), timed }, options);
}
