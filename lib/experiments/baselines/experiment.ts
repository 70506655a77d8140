/**
 * All of Table 2: the baselines of the paper's comparison, and other ways to train them.
 * Methods of the main comparison have all of its runs. Later papers' methods have
 * one training from each of three instruct models. The others have one from an initial
 * model of each kind: their intervals describe only that adapter, so there is no verdict
 * on these methods.
 */
import { sort } from 'd3-array';
import { mainMeasure } from '../../evaluation/metrics.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { matching, where, findFigure } from '../../evaluation/figures.js';
import type {
  MethodPair,
  SummaryOptions,
  TidyContrast,
  TidyResults,
} from '../../evaluation/table.js';
import { axisTitle, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import { trainingRows } from '../../report/training-rows.js';
import { seriesChannels } from '../../report/charts/series.js';
import { createChart, type Chart } from '../../report/charts/spec.js';
import { tradeOffChart } from '../../report/charts/trade-off.js';
import type { ResultParts } from '../../report/result.js';
import { figureText, gapWords, ratioWords } from '../../report/text.js';
import { formatList, countText } from '../../text/english.js';
import { BASELINES, LATER_METHODS, METHODS, methodTitle } from '../../training/methods.js';
import { INITIAL_MODELS } from '../../training/models.js';
import { isTrained, runName, type PolicyRun } from '../running/policy-runs.js';
import { KINDS } from '../../training/zerosearch.js';
import type { Experiment } from '../experiment.js';
import { mainRuns } from '../main-results.js';
import { checkPredictions, summarise, type Answered } from '../results/summary.js';
import { answerComputation } from '../running/answers.js';
import { loadAnswers, type AnsweredRuns } from '../running/load-answers.js';
import { INIT_SEEDS, listRuns } from '../running/runs.js';
import { planTraining } from '../running/train-runs.js';
import { findResults } from '../running/records.js';
import { addTiming, loadTiming, timingExperiment, type TimedAnswer } from '../timing.js';
import { baselineClaims, isRepeated } from './claims.js';
import { COMPARISONS, EM_GAP, PARALLELSEARCH, PREDICTED } from './predictions.js';
import {
  decideSides,
  meanRanks,
  countTrainings,
  compareSeeds,
  trainingSpread,
  trainingNoise,
  isInTable,
  type Spread,
} from './spread.js';

const [PARALLELSEARCH_COLOR] = seriesChannels('method', [PARALLELSEARCH]).color.scale.range;

/** The methods of the main comparison that appear here, too. */
const COMPARED = ['search-r1', 'search-r1-parallel-prompt', PARALLELSEARCH];

const NAMES = BASELINES.flatMap(({ name, isPreparation }) => (isPreparation ? [] : [name]));

const LATER = LATER_METHODS.map(({ name }) => name);

/** One training from each kind of initial model: a working day on two cores in all. */
const methodRuns = (method: string): PolicyRun[] =>
  listRuns({ methods: [method], models: INITIAL_MODELS, initSeeds: INIT_SEEDS.slice(0, 1) });

/** Later papers' methods, from every instruct model. */
export const laterRuns = (): PolicyRun[] => LATER.flatMap((name) => listRuns({ methods: [name] }));

/** The runs that only this experiment has; simulated search engines come first. */
export const baselineRuns = (): PolicyRun[] => [
  ...sort(BASELINES, ({ isPreparation }) => Number(!isPreparation)).flatMap(({ name }) =>
    methodRuns(name),
  ),
  ...laterRuns(),
];

/** Runs of the methods trained from both initial models; empty unless a baseline is. */
export function comparedRuns(root?: string): PolicyRun[] {
  const wholeRuns = (methods: readonly string[]): PolicyRun[] =>
    methods
      .map(methodRuns)
      .flatMap((runs) => (runs.every((run) => isTrained(run, root)) ? runs : []));
  const trained = wholeRuns(NAMES);
  return trained.length === 0 ? [] : [...wholeRuns(COMPARED), ...trained];
}

function answeredRuns(): PolicyRun[] {
  const compared = comparedRuns();
  const names = new Set(compared.map(runName));
  const more = mainRuns().filter(
    ({ method, ...run }) => COMPARED.includes(method) && !names.has(runName({ method, ...run })),
  );
  const others = [...laterRuns(), ...more].filter((run) => isTrained(run));
  return compared.length === 0 ? [] : [...compared, ...others];
}

/** Times the compared runs of an initial model against each other. */
export const baselinesTiming = timingExperiment(
  { name: 'baselines-timing', title: 'seconds per question of all methods, alternating' },
  () =>
    INITIAL_MODELS.map((model) => matching(comparedRuns(), { model })).filter(
      (runs) => runs.length > 0,
    ),
);

/**
 * Says how the methods with several runs compare, and which others are further
 * behind than two runs of one method differ.
 */
function findingText(
  tidy: TidyResults,
  cells: readonly { against: string; side: string }[],
  spread: readonly Spread[],
): string {
  const ofSearchR1 = matching(cells, { against: 'search-r1' });
  const ahead = matching(ofSearchR1, { side: 'ahead' }).length || 'none';
  const behind = matching(ofSearchR1, { side: 'behind' }).length || 'none';
  const decided = `ParallelSearch is ahead of Search-R1 in ${ahead} of ${ofSearchR1.length} cells of Table 2 and behind in ${behind}.`;
  const ours = { method: PARALLELSEARCH, against: 'rag-r1:grpo' };
  const gap = findFigure(tidy, { ...EM_GAP, model: 'instruct', ...ours });
  const calls = findFigure(tidy, { ...COMPARISONS, ...ours, metric: 'model_calls', kind: 'ratio' });
  const ragR1 =
    gap && calls
      ? `Compared with RAG-R1, which asks for several queries in its prompt but does not reward them, ParallelSearch needs ${ratioWords(calls)} model calls on parallelizable questions, and its answers are ${gapWords(gap)}.`
      : '';
  const noise = trainingNoise(spread);
  const others = METHODS.names().filter((against) =>
    INITIAL_MODELS.every((model) =>
      matching(tidy.contrasts, { ...EM_GAP, method: PARALLELSEARCH, against, model }).some(
        ({ value }) => value > noise,
      ),
    ),
  );
  const names = others.map((name) => methodTitle(name).replace(/ \(no search\)|, trained$/g, ''));
  const clear =
    names.length > 0
      ? `${formatList(names)} ${names.length > 1 ? 'are' : 'is'} clearly behind; the other baselines were trained once, too little for a verdict.`
      : '';
  return [decided, ragR1, clear].filter(Boolean).join(' ');
}

/** Methods this close to the best, in exact match, also get a chart of their own. */
const ZOOM = 0.1;

function leadsChart(contrasts: readonly TidyContrast[], spread: readonly Spread[]): Chart {
  const ours = { ...EM_GAP, method: PARALLELSEARCH };
  const leads = [
    ...matching(contrasts, ours),
    ...matching(contrasts, { ...ours, model: 'instruct', against: LATER }),
  ];
  const values = sort(leads, ({ value }) => value).map(({ against, model, value, low, high }) => {
    const [lead, from, to] = [value, low, high].map((share) => 100 * share);
    const title = methodTitle(against) + (model === 'all' ? '' : ` (${model})`);
    return { against: title, lead, from, to };
  });
  const noise = 100 * trainingNoise(spread);
  const sides = values.map(({ against }) => against);
  const y = { field: 'against', type: 'nominal', sort: sides, title: 'Against' };
  const tooltipNumber = (field: string) => ({ field, type: 'quantitative', format: '.1f' });
  const x = { type: 'quantitative', title: axisTitle('Lead in exact match', 'points') };
  const noiseBand = {
    mark: { type: 'rect', color: '#888888', opacity: 0.02, aria: false },
    encoding: { x: { ...x, datum: -noise }, x2: { datum: noise } },
  };
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
        ...(spread.length > 0 ? [noiseBand] : []),
        {
          mark: { type: 'rule', strokeWidth: 2, color: PARALLELSEARCH_COLOR },
          encoding: { y, x: { ...x, field: 'from' }, x2: { field: 'to' } },
        },
        {
          mark: { type: 'point', filled: true, size: 55, opacity: 1, color: PARALLELSEARCH_COLOR },
          encoding: {
            y: { ...y, axis: { labelLimit: 260 } },
            x: { ...x, field: 'lead' },
            tooltip: [{ field: 'against' }, ...['lead', 'from', 'to'].map(tooltipNumber)],
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
  // For ZeroSearch: the intended share of noise, and how often each kind is true.
  'noise',
  ...KINDS.map((kind) => `documents/true_${kind}`),
];

const PAIRS: readonly MethodPair[] = [
  ...METHODS.names()
    .filter((name) => name !== PARALLELSEARCH)
    .map((against): MethodPair => [PARALLELSEARCH, against]),
  ...[...NAMES, ...LATER].map((method): MethodPair => [method, 'search-r1']),
  ['stepsearch:grpo', 'stepsearch'],
];

const TYPES = ['all', 'parallelizable', 'sequential', 'hops_3'];
const isShown = where({ benchmark: 'all', subset: TYPES });
const filter: NonNullable<SummaryOptions['filter']> = (selection) =>
  isInTable(selection) || isShown(selection);

export function baselineReport({
  timed,
  ...read
}: AnsweredRuns & { timed?: Answered<TimedAnswer> | null }): ResultParts {
  const measures = METRICS.map(mainMeasure);
  const tidy = summarise(read, { measures, filter, pairs: PAIRS });
  addTiming(tidy, timed, { filter, pairs: PAIRS });
  const inTable = ({ benchmark, model }: { benchmark: string; model: string }): boolean =>
    benchmark in BENCHMARK_TITLES && model !== 'all';
  // The methods that the main comparison trains several times.
  const repeated = matching(read.answers, { method: ['search-r1', PARALLELSEARCH] });
  const spread = trainingSpread(repeated);
  const seeds = compareSeeds(repeated);
  const trainings = countTrainings(read.answers);
  const sides = { method: PARALLELSEARCH, metric: 'em', kind: 'difference', subset: 'all' };
  const differences = matching(tidy.contrasts, sides).filter(inTable);
  const ofMethods = differences.filter(({ against }) => isRepeated(against, trainings));
  const ofAdapters = differences.filter(({ against }) => !isRepeated(against, trainings));
  const cells = [
    ...decideSides(ofMethods),
    ...ofAdapters.map((row) => ({ ...row, p: null, side: 'no verdict' })),
  ];
  const answered = new Set(read.answers.map(({ method }) => method));
  const missing = [...NAMES, ...LATER].filter((name) => !answered.has(name)).map(methodTitle);
  const note =
    missing.length > 0
      ? ` Not trained yet: ${formatList(missing)} (npx parallelsearch experiment baselines).`
      : '';
  const all = matching(tidy.rows, { benchmark: 'all', subset: 'all' });
  const tradeOff = (model: string, part: { boxed: number } | { within: number }) =>
    tradeOffChart(matching(all, { model }), {
      of: 'method',
      color: 'method',
      questions: `all questions, from ${model}`,
      hasFront: true,
      ...part,
    });
  const predicted = PREDICTED.map((one) => {
    const { method, against } = one.figure;
    const isOneTraining = ![method, against].every((name) => isRepeated(String(name), trainings));
    return { ...one, isOneTraining };
  });
  return {
    ...tidy,
    predictions: checkPredictions(tidy, predicted),
    finding: findingText(tidy, cells, spread),
    summary: `${countText(read.answers.length)} answers.${note}`,
    frames: {
      cells,
      ranks: meanRanks(matching(tidy.rows, { subset: 'all', metric: 'em' }).filter(inTable)),
      spread,
      seeds,
      trainings,
      training: trainingRows(read.curves, DYNAMICS),
    },
    figures: {
      leads: leadsChart(tidy.contrasts, spread),
      base: tradeOff('base', { boxed: ZOOM }),
      baseZoomed: tradeOff('base', { within: ZOOM }),
      instruct: tradeOff('instruct', { boxed: ZOOM }),
      instructZoomed: tradeOff('instruct', { within: ZOOM }),
    },
  };
}

export const baselines: Experiment = {
  name: 'baselines',
  title: 'every baseline of Table 2, and PPO',
  computation: answerComputation(
    answeredRuns,
    planTraining(baselineRuns, () => COMPARED.flatMap(methodRuns)),
  ),
  claims: baselineClaims,
  async result(folder) {
    const timed =
      (await findResults(baselinesTiming, folder)) && (await loadTiming(folder, baselinesTiming));
    return baselineReport({ ...(await loadAnswers(baselines, folder)), timed });
  },
};
