/**
 * Compares both editions on two fresh tests, and checks the second's predictions: on
 * HotpotQA and 2WikiMultiHopQA, then on other benchmarks.
 */
import { readFileSync } from 'node:fs';
import { sort } from 'd3-array';
import { z } from 'zod';
import { behaviourMeasures } from '../../evaluation/behaviour.js';
import type { Interval } from '../../evaluation/estimate.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import {
  findFigure,
  findValue,
  matching,
  where,
  type Fields,
  type Figures,
} from '../../evaluation/figures.js';
import type { MethodPair } from '../../evaluation/table.js';
import { packagePath, shortPath } from '../../io/paths.js';
import { intervalChart } from '../../report/charts/chart.js';
import type { Prediction } from '../../report/result.js';
import { shareWords } from '../../report/text.js';
import {
  checkPredictions,
  percent,
  splitNames,
  summarise,
  type Answered,
} from '../results/summary.js';
import { readerSteps, type Edition } from './answering.js';
import { TRAINED } from './settings.js';

export type FreshAnswer = QuestionResult & { edition: Edition };

const METRICS: readonly Metric[] = [
  'em',
  'f1',
  'turns',
  'model_calls',
  'retrievals',
  'decomposition_ratio',
  'evidence_seen',
  'tokens_written',
];

/** Limits on search turns; the policies were trained with four. */
const TURN_LIMITS = [1, 2];

const hasGraph = ({ hops }: QuestionKey): boolean => hops !== undefined;
const seesAll = ({ evidenceSeen }: QuestionResult): number => Number(evidenceSeen === 1);

/** The evidence for a question is only known with a dependency graph. */
export const MEASURES: readonly Measure[] = [
  ...METRICS.map((metric) => ({
    ...mainMeasure(metric),
    ...(metric === 'evidence_seen' && { includes: hasGraph }),
  })),
  { metric: 'well_formed', numerator: ({ formatOk }) => Number(formatOk) },
  {
    metric: 'em_if_evidence',
    numerator: (answer) => answer.em * seesAll(answer),
    denominator: seesAll,
    includes: hasGraph,
  },
];

/**
 * Exact match within a limit of search turns. A policy does not know the
 * limit, so its other answers are the same, and those that come later are wrong.
 */
const LIMITED: readonly Measure[] = TURN_LIMITS.map((turns) => ({
  metric: `em_within_${turns}`,
  numerator: ({ em, modelCalls }) => em * Number(modelCalls <= turns + 1),
}));

/** A name for a method of an edition in the table that compares both. */
export const encodeMethod = (edition: Edition, method: string, seed?: number): string =>
  JSON.stringify(seed === undefined ? [edition, method] : [edition, method, seed]);
export function decodeMethod(name: string): { edition: Edition; method: string; seed?: number } {
  const [edition, method, seed] = JSON.parse(name) as [Edition, string, number?];
  return { edition, method, ...(seed !== undefined && { seed }) };
}
const [FIRST_WARM_UP, WARMED_UP, PROMPTED, SEARCH_R1, OURS] = [
  encodeMethod('first', 'untrained:search-r1'),
  ...['untrained:search-r1', 'untrained:parallel', 'search-r1', 'parallelsearch'].map((method) =>
    encodeMethod('second', method),
  ),
];

/** Computes figures of both editions by method, or also by seed of ParallelSearch. */
function summariseEditions(
  { answers, provenance }: Answered<FreshAnswer>,
  settings: { subsets: readonly string[]; pairs: readonly MethodPair[]; bySeed?: boolean },
) {
  const { subsets, pairs, bySeed = false } = settings;
  const ours = { edition: 'second', method: 'parallelsearch' };
  const named = answers.map((one) => ({ ...one, method: encodeMethod(one.edition, one.method) }));
  const seeds = (bySeed ? matching(answers, ours) : []).map((one) => {
    return { ...one, method: encodeMethod(one.edition, one.method, one.seed) };
  });
  const measures = [...MEASURES, ...LIMITED];
  const filter = where({ subset: subsets });
  const read = { answers: [...named, ...seeds], provenance };
  return splitNames(summarise(read, { measures, filter, pairs }), decodeMethod);
}

const limitsSchema = z.array(
  z.object({ measure: z.string(), atLeast: z.number().optional(), atMost: z.number().optional() }),
);
const predictionsSchema = z.object({
  predictions: limitsSchema,
  others: z.object({ predictions: limitsSchema }),
});

/** How to state and check a prediction whose limit was committed before. */
interface Expected {
  prediction: (limit: number) => string;
  figure: Fields;
  /** What must reach the limit. Default: the figure's value. */
  value?: (estimate: Interval) => number;
  because?: { where: string; figure: Fields };
}

/**
 * Checks the predictions of `data/reader/predictions.json`, which were committed before
 * the training, or before the test on other benchmarks. @param expected by measure
 * @throws Error if none was predicted for a measure
 */
function checkCommitted(
  figures: Figures,
  expected: Readonly<Record<string, Expected>>,
  test?: 'others',
): Prediction[] {
  const file = packagePath('data', 'reader', 'predictions.json');
  const parsed = predictionsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const { predictions } = test === undefined ? parsed : parsed[test];
  const predicted = Object.entries(expected).map(([measure, one]) => {
    const { atLeast, atMost } = matching(predictions, { measure }).at(0) ?? {};
    const limit = atLeast ?? atMost;
    if (limit === undefined)
      throw new Error(`Expected ${shortPath(file)} to predict the ${measure}, but it does not.`);
    const { value = (estimate) => estimate.value } = one;
    const holds = (estimate: Interval): boolean =>
      atLeast === undefined ? value(estimate) <= limit : value(estimate) >= limit;
    return { ...one, prediction: one.prediction(limit), holds };
  });
  return checkPredictions(figures, predicted);
}

const EM = { metric: 'em' };
const WHOLE = { benchmark: 'all', subset: 'all' };
const OUR_FIGURES = { ...WHOLE, edition: 'second', method: 'parallelsearch' };
const BEFORE = { ...OUR_FIGURES, method: 'untrained:parallel' };
const WARM_UP = { ...OUR_FIGURES, method: 'untrained:search-r1' };
const DECOMPOSED = { metric: 'decomposition_ratio', subset: 'parallelizable' };
const CALLS = {
  ...OUR_FIGURES,
  subset: 'parallelizable',
  against: 'search-r1',
  metric: 'model_calls',
  kind: 'ratio',
};
const READING = { metric: 'em_if_evidence' };
const SUBSETS = ['all', 'parallelizable', 'sequential', 'hybrid'];

/** The predictions about HotpotQA and 2WikiMultiHopQA. */
function expectedPredictions(figures: Figures): Record<string, Expected> {
  const searchR1 = { ...OUR_FIGURES, ...EM, method: 'search-r1' };
  const otherPrompt = { ...WARM_UP, ...READING };
  return {
    'exact match of ParallelSearch on HotpotQA and 2WikiMultiHopQA': {
      prediction: (limit) =>
        `ParallelSearch answers ${percent(limit)} of HotpotQA and 2WikiMultiHopQA`,
      figure: { ...OUR_FIGURES, ...EM },
    },
    "exact match of ParallelSearch there, minus the lower end of Search-R1's interval": {
      prediction: () =>
        'Its right answers there are not below the lower end of Search-R1’s interval',
      figure: { ...OUR_FIGURES, ...EM },
      value: ({ value }) => value - findFigure(figures, searchR1)!.low,
      because: { where: 'Search-R1', figure: searchR1 },
    },
    'model calls of ParallelSearch on comparisons, over those of Search-R1': {
      prediction: (limit) =>
        `On comparisons it needs at most ${percent(limit)} of Search-R1’s model calls`,
      figure: CALLS,
    },
    'share of chains that ParallelSearch decomposes': {
      prediction: (limit) => `It decomposes at most ${percent(limit)} of sequential questions`,
      figure: { ...OUR_FIGURES, ...DECOMPOSED, subset: 'sequential' },
    },
    "share of ParallelSearch's transcripts that are well formed": {
      prediction: (limit) => `${percent(limit)} of its transcripts are well formed`,
      figure: { ...OUR_FIGURES, metric: 'well_formed' },
    },
    'exact match where all evidence was shown, after the warm-up': {
      prediction: (limit) =>
        `After the warm-up, ${percent(limit)} of answers are right where all evidence was shown`,
      figure: { ...BEFORE, ...READING },
      value: ({ value }) => Math.min(value, findValue(figures, otherPrompt)),
      because: { where: 'with Search-R1’s prompt', figure: otherPrompt },
    },
  };
}

export function compareEditions(read: Answered<FreshAnswer>) {
  const pairs: MethodPair[] = [
    // The effects of RL and of the parallel prompt.
    [OURS, SEARCH_R1],
    [OURS, PROMPTED],
    // The effect of reading first.
    [WARMED_UP, FIRST_WARM_UP],
    [OURS, encodeMethod('first', 'parallelsearch')],
  ];
  const summary = summariseEditions(read, { subsets: SUBSETS, pairs, bySeed: true });
  const { rows, contrasts, provenance } = summary;
  const tables = { rows: rows.filter(({ seed }) => seed === undefined), contrasts };
  const seeds = rows.filter(({ seed }) => seed !== undefined);
  const answers = read.answers.map((one) => ({
    ...one,
    method: encodeMethod(one.edition, one.method),
  }));
  const labelling = { measures: behaviourMeasures(answers), filter: where(WHOLE), pairs: [] };
  const behaviour = splitNames(summarise({ answers, provenance }, labelling), decodeMethod).rows;
  const find = (figure: Fields): string => percent(findValue(tables, figure));
  const overBefore = { against: 'untrained:parallel', kind: 'difference' };
  const gap = findFigure(tables, { ...OUR_FIGURES, ...EM, ...overBefore })!;
  const warmUp = { ...WARM_UP, ...EM };
  const runs = TRAINED.filter(({ method }) => method === 'parallelsearch');
  const steps = sort(new Set(runs.map(readerSteps))).join(' or ');
  const bySeed = matching(seeds, { ...WHOLE, ...EM }).map(({ value }) => percent(value));
  const second = matching(tables.rows, { edition: 'second', benchmark: 'all' });
  const byType = (cell: Fields, titles: { title: string; yTitle: string }) => {
    const method = ['untrained:parallel', 'search-r1', 'parallelsearch'];
    return intervalChart(matching(second, { method, ...cell }), {
      ...titles,
      subtitle: 'Second edition, fresh questions; of Search-R1 no RL step was kept',
      x: 'subset',
      xTitle: 'Question type',
      color: 'method',
    });
  };
  const ofEditions = ['untrained:search-r1', 'untrained:parallel', 'parallelsearch'];
  return {
    ...tables,
    provenance,
    predictions: checkCommitted(tables, expectedPredictions(tables)),
    finding: `After demonstrations that teach reading, SmolLM2-135M gets ${find(warmUp)} of fresh questions right; the first edition got ${find({ ...warmUp, edition: 'first' })}. Only ${steps} RL steps then teach it to decompose ${find({ ...OUR_FIGURES, ...DECOMPOSED })} of comparisons (${find({ ...BEFORE, ...DECOMPOSED })} before) with ${shareWords(1 - findValue(tables, CALLS))} fewer model calls than Search-R1. They add ${gap.low > 0 ? '' : 'no '}right answers: ${find({ ...OUR_FIGURES, ...EM })} (seeds: ${bySeed.join(' and ')}).`,
    frames: { seeds, behaviour },
    figures: {
      editions: intervalChart(matching(tables.rows, { ...WHOLE, ...EM, method: ofEditions }), {
        title: 'Exact match of both editions, with 95 % intervals',
        subtitle: 'SmolLM2-135M-Instruct on the same fresh questions, before and after RL',
        x: 'edition',
        zoomed: true,
        color: 'method',
        yTitle: 'Exact match (share of questions)',
      }),
      decomposed: byType(
        { ...DECOMPOSED, subset: SUBSETS.slice(1) },
        {
          title: 'Decomposed questions before and after RL, with 95 % intervals',
          yTitle: 'Decomposed (share of questions)',
        },
      ),
      answers: byType(
        { ...EM, subset: SUBSETS },
        {
          title: 'Exact match by question type, with 95 % intervals',
          yTitle: 'Exact match (share of questions)',
        },
      ),
    },
  };
}

const points = (share: number): string => `${Math.round(100 * share)} points`;
const GAP = { ...EM, kind: 'difference' };

const EXPECTED_ELSEWHERE: Readonly<Record<string, Expected>> = {
  'exact match after the warm-up, minus that of the first edition': {
    prediction: (limit) =>
      `After the warm-up, right answers are at least ${points(limit)} above the first edition’s`,
    figure: { ...WARM_UP, ...GAP, against_edition: 'first' },
  },
  'exact match after the warm-up, minus that of the same model without search': {
    prediction: (limit) => `And at least ${points(limit)} above those without search`,
    figure: { ...WARM_UP, ...GAP, against: 'r1' },
  },
  'exact match of ParallelSearch, minus that of Search-R1': {
    prediction: () => 'ParallelSearch answers no more questions than Search-R1',
    figure: { ...OUR_FIGURES, ...GAP, against: 'search-r1' },
  },
  'share of single hops that ParallelSearch decomposes': {
    prediction: (limit) => `It decomposes at most ${percent(limit)} of single hops`,
    figure: { ...OUR_FIGURES, ...DECOMPOSED, subset: 'single_hop' },
  },
  "share of MultiHop-RAG's comparisons that it decomposes": {
    prediction: (limit) => `It decomposes at least ${percent(limit)} of MultiHop-RAG’s comparisons`,
    figure: { ...OUR_FIGURES, ...DECOMPOSED, benchmark: 'multihoprag' },
  },
  'model calls of ParallelSearch, over those of Search-R1': {
    prediction: () => 'It needs no more model calls than Search-R1',
    figure: { ...CALLS, subset: 'all' },
  },
  'share of its transcripts that are well formed': {
    prediction: (limit) => `${percent(limit)} of its transcripts are well formed`,
    figure: { ...OUR_FIGURES, metric: 'well_formed' },
  },
};

export function compareElsewhere(read: Answered<FreshAnswer>) {
  const pairs: MethodPair[] = [
    [OURS, SEARCH_R1],
    [OURS, PROMPTED],
    [WARMED_UP, FIRST_WARM_UP],
    [WARMED_UP, encodeMethod('second', 'r1')],
  ];
  const subsets = ['all', 'single_hop', 'parallelizable', 'sequential', 'hybrid'];
  const tidy = summariseEditions(read, { subsets, pairs });
  const method = ['r1', 'search-r1', 'parallelsearch'];
  const benchmark = ['nq', 'triviaqa', 'popqa', 'musique', 'multihoprag'];
  const em = { ...EM, edition: 'second', subset: 'all', method, benchmark };
  return {
    provenance: tidy.provenance,
    frames: {
      others: tidy.rows,
      otherContrasts: tidy.contrasts,
      otherPredictions: checkCommitted(tidy, EXPECTED_ELSEWHERE, 'others'),
    },
    figures: {
      others: intervalChart(matching(tidy.rows, em), {
        title: 'Exact match on other benchmarks, with 95 % intervals',
        subtitle: 'Second edition, 50 fresh questions each; of Search-R1 no RL step was kept',
        x: 'benchmark',
        color: 'method',
        yTitle: 'Exact match (share of questions)',
      }),
    },
  };
}
