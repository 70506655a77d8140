/** Claims of the paper that rest on other baselines than Search-R1. */
import { deviation, flatRollup, group, max, mean, min, rank, rollup, sort, sum } from 'd3-array';
import { quantileNormal } from 'vega-statistics';
import type { Interval } from '../evaluation/bootstrap.js';
import { mainMeasure, type Metric } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import { BENCHMARK_TITLES } from '../evaluation/selections.js';
import {
  matching,
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyRow,
} from '../evaluation/table.js';
import { BASELINES, METHODS, methodTitle } from '../methods/index.js';
import { trainingRows } from '../report/curves.js';
import { figureText, pointsIntervalText } from '../report/text.js';
import { titleOf } from '../report/titles.js';
import { listed } from '../text/listed.js';
import { KINDS } from '../training/zerosearch/documents.js';
import { type AnsweredRuns, answersOf, count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { paperFigure, paperRows } from './paper.js';
import { type Predicted, reportOf, summarise } from './report.js';
import { INITIAL_MODELS, isTrained, type PolicyRun } from '../methods/checkpoints.js';
import { SEEDS, WARM_UPS } from './runs.js';
import { loadTiming, summariseTiming, timingExperiment, type Timing } from './timing.js';
import { trainingOf } from './train-runs.js';
import { aheadFromEachModel, holm, LEVEL, type PaperClaim, partsAhead, pOf } from './verdicts.js';

const WHOLE = { subset: 'all', metric: 'em' };
/** Those of Table 2. */
const IN_PAPER = ['r1:trained', 'search-r1', 'otc', 'zerosearch', 'stepsearch'];
const BENCHMARKS = Object.keys(BENCHMARK_TITLES);

/** Every cell of Table 2 that has a figure of a baseline beside ParallelSearch's. */
const cells = INITIAL_MODELS.flatMap((model) =>
  BENCHMARKS.flatMap((benchmark) => IN_PAPER.map((against) => ({ model, benchmark, against }))),
);

function aheadInPaper(): string {
  const gaps = cells.flatMap(({ against, ...cell }) => {
    const [ours, theirs] = ['parallelsearch', against].map((method) =>
      paperFigure({ ...WHOLE, ...cell, method }),
    );
    return ours === null || theirs === null ? [] : [ours - theirs];
  });
  return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2 that have a figure`;
}

/**
 * Ahead of a method on average. @param remark what is to be known of the paper's figures
 * of it
 */
const aheadOf = (id: string, against: string, remark = ''): PaperClaim => ({
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
    parts: (numbers) =>
      aheadFromEachModel(numbers, { against, benchmark: 'average', subset: 'all' }),
  },
});

export const baselineClaims: readonly PaperClaim[] = [
  aheadOf('other-baselines', 'otc'),
  {
    id: 'every-cell',
    claim: 'Is ahead of every baseline on every benchmark',
    paper: 'Table 2',
    tables: aheadInPaper,
    evidence: {
      cell: 'cells-table',
      rule: 'Difference above 0 in every cell of Table 2, to every baseline that is trained here',
      parts: (numbers) =>
        cells.flatMap(({ model, benchmark, against }) => {
          const of = `${methodTitle(against)}, ${titleOf('benchmark', benchmark)} (${model})`;
          return partsAhead(numbers, of, { model, benchmark, against, subset: 'all' });
        }),
    },
  },
  aheadOf('zerosearch', 'zerosearch', '; its figures there are of another training set'),
];

const OURS = 'parallelsearch';
/** Methods of the main comparison that stand beside them. */
const COMPARED = ['search-r1', 'search-r1-parallel-prompt', OURS];
/**
 * Those of them that the main comparison trains with several seeds, from several initial
 * models.
 */
const REPEATED = ['search-r1', OURS];
const NAMES = BASELINES.flatMap(({ name, isPreparation }) => (isPreparation ? [] : [name]));

/**
 * One training from either initial model: all methods together are what two cores train
 * in a working day.
 */
const runsOf = (method: string): PolicyRun[] =>
  INITIAL_MODELS.map((model) => ({ method, model, warmUp: WARM_UPS[0], seed: SEEDS[0] }));

/**
 * What is trained for this experiment alone. Policies that play a search engine are
 * methods too; they come first, so that nobody waits for them.
 */
export const baselineRuns = (): PolicyRun[] =>
  sort(BASELINES, ({ isPreparation }) => Number(!isPreparation)).flatMap(({ name }) =>
    runsOf(name),
  );

/**
 * The runs that can be compared: of methods trained from both initial models; none where
 * no baseline is.
 */
export function comparedRuns(root?: string): PolicyRun[] {
  const wholeRuns = (methods: readonly string[]): PolicyRun[] =>
    methods.map(runsOf).flatMap((runs) => (runs.every((run) => isTrained(run, root)) ? runs : []));
  const trained = wholeRuns(NAMES);
  return trained.length === 0 ? [] : [...wholeRuns(COMPARED), ...trained];
}

export const baselines: Experiment = {
  name: 'baselines',
  title: 'every baseline of Table 2, and PPO, beside the two methods',
  computation: answersOf(() => comparedRuns(), {
    prepare: trainingOf(baselineRuns, () => COMPARED.flatMap(runsOf)),
  }),
  claims: baselineClaims,
};

/** The compared runs of an initial model, against each other. */
export const baselinesTiming = timingExperiment(
  { name: 'baselines-timing', title: 'seconds a question, all methods in turn' },
  () =>
    INITIAL_MODELS.map((model) => comparedRuns().filter((run) => run.model === model)).filter(
      (runs) => runs.length > 0,
    ),
);

const METRICS: readonly Metric[] = ['em', 'f1', 'model_calls', 'retrievals', 'tokens_written'];
const DYNAMICS = [
  'rewards/outcome',
  'turns',
  'value_loss',
  'explained_variance',
  'kl',
  // Of ZeroSearch: how many documents are to be noise, and how often each kind is true.
  'noise',
  ...KINDS.map((kind) => `documents/true_${kind}`),
];

/** ParallelSearch beside every other method, and every variant of a method beside it. */
const PAIRS: readonly MethodPair[] = [
  ...METHODS.names()
    .filter((name) => name !== OURS)
    .map((against): MethodPair => [OURS, against]),
  ...NAMES.map((method): MethodPair => [method, 'search-r1']),
  ['stepsearch:grpo', 'stepsearch'],
];

const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  (subset === 'all' && (benchmark in BENCHMARK_TITLES || benchmark === 'average')) ||
  (benchmark === 'all' && ['all', 'parallelizable', 'sequential', 'hops_3'].includes(subset));

const EM = { benchmark: 'average', subset: 'all', model: 'all', metric: 'em', kind: 'difference' };

/** What each baseline's own paper says of it. */
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'OTC needs fewer model calls than Search-R1',
    figure: { ...EM, method: 'otc', against: 'search-r1', metric: 'model_calls' },
    holds: ({ high }) => high < 0,
  },
  {
    prediction: 'OTC loses at most 2 points of exact match to Search-R1',
    figure: { ...EM, method: 'otc', against: 'search-r1' },
    holds: ({ value }) => value >= -0.02,
  },
  {
    prediction: 'ZeroSearch, tested with real search, is at most 5 points below Search-R1',
    figure: { ...EM, method: 'zerosearch', against: 'search-r1' },
    holds: ({ value }) => value >= -0.05,
  },
  ...['base', 'instruct'].map((model): Predicted => ({
    prediction: `StepSearch is at least as good as Search-R1 on questions of three hops and more (${model})`,
    figure: {
      ...EM,
      method: 'stepsearch',
      against: 'search-r1',
      benchmark: 'all',
      subset: 'hops_3',
      model,
    },
    holds: ({ value }) => value >= 0,
  })),
  {
    prediction: 'Search-R1 ends alike by PPO and by GRPO (PPO minus GRPO)',
    figure: { ...EM, method: 'search-r1:ppo', against: 'search-r1' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
  {
    prediction: 'ParallelSearch ends alike by GRPO and by PPO (GRPO minus PPO)',
    figure: { ...EM, method: OURS, against: 'parallelsearch:ppo' },
    holds: ({ low, high }) => low <= 0 && high >= 0,
  },
];

/**
 * Whether an interval of a difference lies on one side of 0, and its p allows to say so.
 */
function sideOf({ low, high }: Interval, p: number): 'ahead' | 'behind' | 'undecided' {
  if (p > LEVEL || (low <= 0 && high >= 0)) return 'undecided';
  return low > 0 ? 'ahead' : 'behind';
}

/**
 * Differences with their p after Holm's correction over all of them, and what may be
 * said.
 */
export function decided<Row extends Interval>(differences: readonly Row[]) {
  const ps = holm(differences.map((found) => pOf({ found, threshold: 0 })));
  return differences.map((row, i) => ({ ...row, p: ps[i], side: sideOf(row, ps[i]) }));
}

/**
 * The mean rank of each method over benchmarks and models, 1 for the most right answers;
 * equal figures share the mean of their ranks.
 */
export function meanRanks(
  rows: readonly Pick<TidyRow, 'method' | 'model' | 'benchmark' | 'value'>[],
) {
  const cells = group(rows, ({ benchmark, model }) => `${benchmark} ${model}`);
  const ranked = [...cells.values()].flatMap((cell) => {
    // d3 gives equal values the lowest of their ranks, from 0.
    const places = rank(cell, (row: { value: number }) => -row.value);
    return cell.map(({ method }, i) => {
      const equal = places.filter((place) => place === places[i]).length;
      return { method, place: places[i] + 1 + (equal - 1) / 2 };
    });
  });
  return [...group(ranked, ({ method }) => method)]
    .map(([method, own]) => ({
      method,
      mean_rank: mean(own, ({ place }) => place)!,
      cells: own.length,
    }))
    .sort((a, b) => a.mean_rank - b.mean_rank);
}

/**
 * Exact match on the average of seven benchmarks, of trainings that differ in initial
 * model and seed of reinforcement alone.
 */
export interface Spread {
  method: string;
  model: string;
  trainings: number;
  lowest: number;
  highest: number;
  deviation: number;
}

const averageEm = (answers: readonly QuestionResult[]): number =>
  mean(
    rollup(
      answers,
      (own) => mean(own, ({ em }) => em)!,
      ({ benchmark }) => benchmark,
    ).values(),
  )!;

/**
 * How far trainings of each method end apart; nothing of methods that were trained once.
 */
export function spreadOf(answers: readonly QuestionResult[]): Spread[] {
  const inAverage = answers.filter(({ benchmark }) => benchmark in BENCHMARK_TITLES);
  const trainings = flatRollup(
    inAverage,
    (own) => [...rollup(own, averageEm, ({ warmUp, seed }) => `${warmUp}/${seed}`).values()],
    ({ method }) => method,
    ({ model }) => model,
  );
  return trainings.flatMap(([method, model, ems]) =>
    ems.length < 2
      ? []
      : {
          method,
          model,
          trainings: ems.length,
          lowest: min(ems)!,
          highest: max(ems)!,
          deviation: deviation(ems)!,
        },
  );
}

/**
 * Of two trainings of one method 95 % differ by less, as the pooled variance of a normal
 * distribution has it.
 */
export function apartOf(spread: readonly Spread[]): number {
  const variance =
    sum(spread, ({ deviation, trainings }) => (trainings - 1) * deviation ** 2) /
    sum(spread, ({ trainings }) => trainings - 1);
  return quantileNormal(0.975) * Math.sqrt(2 * variance);
}

/**
 * ParallelSearch beside the method with the next best ranks, on average, and in how many
 * cells of Table 2 it is ahead and behind.
 */
function findingOf(
  contrasts: readonly TidyContrast[],
  cells: readonly { side: string }[],
  ranks: readonly { method: string }[],
): string {
  const against = ranks.find(({ method }) => method !== OURS)!.method;
  const [average] = matching(contrasts, { ...EM, method: OURS, against });
  const [ahead, behind] = ['ahead', 'behind'].map(
    (side) => cells.filter((cell) => cell.side === side).length,
  );
  return `ParallelSearch minus ${methodTitle(against)}, the best of the others by mean rank: ${pointsIntervalText(average)} points on the average of seven benchmarks, both models pooled. Of ${cells.length} differences to another method, for a benchmark and a model each, ${ahead} put it ahead and ${behind} behind (after Holm’s correction).`;
}

/**
 * From whom ParallelSearch differs, from both models, by more than two trainings of one
 * method do; empty where nothing was trained twice.
 */
function beyondText(contrasts: readonly TidyContrast[], spread: readonly Spread[]): string {
  if (spread.length === 0) return '';
  const apart = apartOf(spread);
  const others = METHODS.names().filter(
    (against) => matching(contrasts, { method: OURS, against }).length > 0,
  );
  const beyond = (sign: number): string => {
    const isFar = (against: string, model: string): boolean =>
      matching(contrasts, { ...EM, method: OURS, against, model }).some(
        ({ value }) => sign * value > apart,
      );
    const far = others.filter((against) => INITIAL_MODELS.every((model) => isFar(against, model)));
    return listed(far.map(methodTitle)) || 'nobody';
  };
  const trainings = sum(spread, (one) => one.trainings);
  return ` Every method was trained once from either model, and 95 % of pairs of trainings of one method are less than ${figureText(100 * apart, 1)} points apart on this average (as ${trainings} trainings of Search-R1 and ParallelSearch spread): by more, from both models, ParallelSearch is ahead of ${beyond(1)} and behind ${beyond(-1)}.`;
}

/** What is not there yet, and how to get it; empty where nothing is missing. */
function missingText(methods: ReadonlySet<string>): string {
  const missing = NAMES.filter((name) => !methods.has(name)).map(methodTitle);
  if (missing.length === 0) return '';
  return ` Left out, since not trained yet: ${listed(missing)} (npx parallelsearch experiment baselines).`;
}

interface BaselinesRead extends AnsweredRuns {
  /** Seconds a question, where they were measured. */
  timed?: Timing | null;
  /** Of the main comparison's trainings. */
  spread?: readonly Spread[];
}

/**
 * The figures of Table 2 from answers, with the seconds a question and what another
 * training changes.
 */
export function baselineReport(
  { timed, spread = [], ...read }: BaselinesRead,
  options: SummaryOptions = {},
) {
  const tidy = summarise(
    read,
    { measures: METRICS.map(mainMeasure), selects, pairs: PAIRS },
    options,
  );
  if (timed) {
    const { rows, contrasts } = summariseTiming(timed, { selects, pairs: PAIRS, ...options });
    tidy.rows.push(...rows);
    tidy.contrasts.push(...contrasts);
    tidy.provenance.timing = timed.provenance;
  }
  const inTable = ({ benchmark, model }: { benchmark: string; model: string }): boolean =>
    benchmark in BENCHMARK_TITLES && model !== 'all';
  const em = matching(tidy.rows, { metric: 'em', subset: 'all' }).filter(inTable);
  const sides = { method: OURS, metric: 'em', kind: 'difference', subset: 'all' };
  const cells = decided(matching(tidy.contrasts, sides).filter(inTable));
  const ranks = meanRanks(em);
  return reportOf({
    finding: findingOf(tidy.contrasts, cells, ranks) + beyondText(tidy.contrasts, spread),
    summary: `${count(read.answers)} answers.${missingText(new Set(read.answers.map(({ method }) => method)))}`,
    tidy,
    predicted: PREDICTED,
    training: trainingRows(read.curves, DYNAMICS),
    frames: {
      // ParallelSearch minus every other method in every cell of Table 2: `p` after
      // Holm's correction over all cells, and the `side`.
      cells,
      // The mean place of each method over the cells of Table 2.
      ranks,
      // Trainings of the main comparison's methods beside each other.
      spread: [...spread],
      training: trainingRows(read.curves, DYNAMICS),
    },
  });
}

/**
 * Reads the answers of the baselines and of the methods beside them.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadBaselines(folder?: string, options: SummaryOptions = {}) {
  const { answers } = await loadAnswers(mainResults, folder);
  const spread = spreadOf(answers.filter(({ method }) => REPEATED.includes(method)));
  const timed = await loadTiming(folder, baselinesTiming);
  return baselineReport({ ...(await loadAnswers(baselines, folder)), timed, spread }, options);
}
export type Baselines = Awaited<ReturnType<typeof loadBaselines>>;
