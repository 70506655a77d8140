/** Compares both editions on fresh questions, and checks the second's predictions. */
import { readFileSync } from 'node:fs';
import { rollup, sort } from 'd3-array';
import { z } from 'zod';
import { behaviourMeasures } from '../../evaluation/behaviour.js';
import { mainMeasure, type Measure, type Metric } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { BENCHMARK_TITLES, type QuestionKey } from '../../evaluation/selections.js';
import {
  matching,
  where,
  findFigure,
  findValue,
  type Fields,
  type MethodPair,
  type SummaryOptions,
  type TidyContrast,
  type TidyResults,
  type TidyRow,
} from '../../evaluation/table.js';
import { packagePath, shortPath } from '../../io/paths.js';
import type { Provenance } from '../../io/provenance.js';
import { intervalChart } from '../../report/charts/chart.js';
import { shareWords } from '../../report/text.js';
import { checkPredictions, percent, summarise, type Predicted } from '../results/summary.js';
import type { Edition, FreshRun } from './fresh.js';

export type FreshAnswer = QuestionResult & Pick<FreshRun, 'edition'>;

export interface FreshRead {
  answers: FreshAnswer[];
  /** Number of answers computed; a run without a kept RL step reuses those before RL. */
  numComputed: number;
  /** RL steps of the second edition's runs. */
  steps: number[];
  provenance: Provenance;
}

/** A figure of an edition; `seed` is set if the method has a row per seed. */
type EditionRow = TidyRow & { edition: Edition; seed?: number };
type EditionContrast = TidyContrast & { edition: Edition; against_edition: Edition };

const SUBSETS = ['all', 'parallelizable', 'sequential', 'hybrid'];
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
/** Metrics of training. */
export const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'model_calls',
  'completions/mean_length',
  'kl',
  'entropy',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
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
 * Exact match if a question may take so many search turns. A policy does not know the
 * limit, so its other answers are the same, and those that come later are wrong.
 */
const LIMITED: readonly Measure[] = TURN_LIMITS.map((turns) => ({
  metric: `em_within_${turns}`,
  numerator: ({ em, modelCalls }) => em * Number(modelCalls <= turns + 1),
}));

/** A name for a method of an edition in the table that compares both. */
export const tag = (edition: Edition, method: string, seed?: number): string =>
  JSON.stringify(seed === undefined ? [edition, method] : [edition, method, seed]);
function untag(name: string): { edition: Edition; method: string; seed?: number } {
  const [edition, method, seed] = JSON.parse(name) as [Edition, string, number?];
  return { edition, method, ...(seed !== undefined && { seed }) };
}

const PAIRS: readonly MethodPair[] = [
  // The effects of RL and of the parallel prompt.
  [tag('second', 'parallelsearch'), tag('second', 'search-r1')],
  [tag('second', 'parallelsearch'), tag('second', 'untrained:parallel')],
  // The effect of reading first.
  [tag('second', 'untrained:search-r1'), tag('first', 'untrained:search-r1')],
  [tag('second', 'parallelsearch'), tag('first', 'parallelsearch')],
];

const EM = { metric: 'em' };
const WHOLE = { benchmark: 'all', subset: 'all' };
const OURS = { ...WHOLE, edition: 'second', method: 'parallelsearch' };
const BEFORE = { ...OURS, method: 'untrained:parallel' };
const SEARCH_R1 = { ...OURS, ...EM, method: 'search-r1' };
const DECOMPOSED = { metric: 'decomposition_ratio', subset: 'parallelizable' };
const ON_COMPARISONS = { ...OURS, subset: 'parallelizable' };
const CALLS = { ...ON_COMPARISONS, against: 'search-r1', metric: 'model_calls', kind: 'ratio' };
const READING = { metric: 'em_if_evidence' };

export type EditionTables = { rows: EditionRow[]; contrasts: EditionContrast[] };

const thresholdsSchema = z.array(
  z.object({ measure: z.string(), atLeast: z.number().optional(), atMost: z.number().optional() }),
);
const predictionsSchema = z.object({
  predictions: thresholdsSchema,
  others: z.object({ predictions: thresholdsSchema }),
});

/**
 * Reads the thresholds that were committed before the training, or the test, by measure.
 * @returns a function that finds a threshold. @throws Error if none was predicted
 */
export function readThresholds(test?: 'others'): (measure: string) => number {
  const file = packagePath('data', 'reader', 'predictions.json');
  const parsed = predictionsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const { predictions } = test === undefined ? parsed : parsed[test];
  return (name) => {
    const { atLeast, atMost } = predictions.find(({ measure }) => measure === name) ?? {};
    const limit = atLeast ?? atMost;
    if (limit === undefined)
      throw new Error(`Expected ${shortPath(file)} to predict the ${name}, but it does not.`);
    return limit;
  };
}

/** The predictions in `data/reader/predictions.json`, with the figures that decide. */
function listPredictions(tables: EditionTables): Predicted[] {
  const threshold = readThresholds();
  const right = threshold('exact match of ParallelSearch on HotpotQA and 2WikiMultiHopQA');
  const behind = threshold(
    "exact match of ParallelSearch there, minus the lower end of Search-R1's interval",
  );
  const calls = threshold('model calls of ParallelSearch on comparisons, over those of Search-R1');
  const chains = threshold('share of chains that ParallelSearch decomposes');
  const formed = threshold("share of ParallelSearch's transcripts that are well formed");
  const read = threshold('exact match where all evidence was shown, after the warm-up');
  const [searchR1] = matching(tables.rows, SEARCH_R1);
  const otherPrompt = { ...BEFORE, ...READING, method: 'untrained:search-r1' };
  return [
    {
      prediction: `ParallelSearch answers ${percent(right)} of HotpotQA and 2WikiMultiHopQA`,
      figure: { ...OURS, ...EM },
      holds: ({ value }) => value >= right,
    },
    {
      prediction: 'Its right answers there are not below the lower end of Search-R1’s interval',
      figure: { ...OURS, ...EM },
      holds: ({ value }) => value - searchR1.low >= behind,
      because: { where: 'Search-R1', figure: SEARCH_R1 },
    },
    {
      prediction: `On comparisons it needs at most ${percent(calls)} of Search-R1’s model calls`,
      figure: CALLS,
      holds: ({ value }) => value <= calls,
    },
    {
      prediction: `It decomposes at most ${percent(chains)} of sequential questions`,
      figure: { ...OURS, ...DECOMPOSED, subset: 'sequential' },
      holds: ({ value }) => value <= chains,
    },
    {
      prediction: `${percent(formed)} of its transcripts are well formed`,
      figure: { ...OURS, metric: 'well_formed' },
      holds: ({ value }) => value >= formed,
    },
    {
      prediction: `After the warm-up, ${percent(read)} of answers are right where all evidence was shown`,
      figure: { ...BEFORE, ...READING },
      holds: ({ value }) => Math.min(value, findValue(tables, otherPrompt)) >= read,
      because: { where: 'with Search-R1’s prompt', figure: otherPrompt },
    },
  ];
}

/** Describes the questions: `75 of HotpotQA, 120 of 2WikiMultiHopQA`. */
export function describeFresh(answers: readonly FreshAnswer[]): string {
  const ids = rollup(
    answers,
    (some) => new Set(some.map(({ questionId }) => questionId)).size,
    ({ benchmark }) => benchmark,
  );
  const parts = [...ids].map(([name, n]) => `${n} of ${BENCHMARK_TITLES[name] ?? name}`);
  return `fresh test: ${parts.join(', ')}`;
}

/** Puts an answer under its method's {@link tag}. */
export const named = (answer: FreshAnswer, seed?: number): FreshAnswer => ({
  ...answer,
  method: tag(answer.edition, answer.method, seed),
});
const untagged = (rows: readonly TidyRow[]): EditionRow[] =>
  rows.map((row) => ({ ...row, ...untag(row.method) }));

/** Computes figures of methods named by {@link tag}, and of pairs of them. */
export function summariseEditions(
  read: Pick<FreshRead, 'answers' | 'provenance'>,
  { subsets, pairs }: { subsets: readonly string[]; pairs: readonly MethodPair[] },
  options: SummaryOptions,
): EditionTables & { provenance: TidyResults['provenance'] } {
  const settings = {
    measures: [...MEASURES, ...LIMITED],
    filter: where({ subset: subsets }),
    pairs,
  };
  const { rows, contrasts, provenance } = summarise(read, settings, options);
  return {
    rows: untagged(rows),
    contrasts: contrasts.map((contrast) => {
      const { edition: against_edition, method: against } = untag(contrast.against);
      return { ...contrast, ...untag(contrast.method), against, against_edition };
    }),
    provenance,
  };
}

/** Computes figures of both editions, the second's predictions, and the charts. */
export function compareEditions(
  { answers, steps, provenance }: FreshRead,
  options: SummaryOptions = {},
) {
  const pooled = answers.map((answer) => named(answer));
  const ours = matching(answers, { edition: 'second', method: 'parallelsearch' });
  const bySeed = ours.map((answer) => named(answer, answer.seed));
  const summary = summariseEditions(
    { answers: [...pooled, ...bySeed], provenance },
    { subsets: SUBSETS, pairs: PAIRS },
    options,
  );
  const { rows, contrasts } = summary;
  const tables = { rows: rows.filter(({ seed }) => seed === undefined), contrasts };
  const seeds = rows.filter(({ seed }) => seed !== undefined);
  const labelling = { measures: behaviourMeasures(pooled), filter: where(WHOLE), pairs: [] };
  const labelled = summarise({ answers: pooled, provenance }, labelling, options);
  const behaviour = untagged(labelled.rows);
  const find = (figure: Fields): string => percent(findValue(tables, figure));
  const ofSeeds = matching(seeds, { ...WHOLE, ...EM });
  const overBefore = { against: 'untrained:parallel', kind: 'difference' };
  const gap = findFigure(tables, { ...OURS, ...EM, ...overBefore })!;
  const warmUp = { ...BEFORE, ...EM, method: 'untrained:search-r1' };
  const second = matching(tables.rows, { edition: 'second', benchmark: 'all' });
  const ofEditions = ['untrained:search-r1', 'untrained:parallel', 'parallelsearch'];
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
  return {
    ...tables,
    provenance: summary.provenance,
    predictions: checkPredictions(tables, listPredictions(tables)),
    finding: `After demonstrations that teach reading, SmolLM2-135M gets ${find(warmUp)} of fresh questions right; the first edition got ${find({ ...warmUp, edition: 'first' })}. Only ${sort(new Set(steps)).join(' or ')} RL steps then teach it to decompose ${find({ ...OURS, ...DECOMPOSED })} of comparisons (${find({ ...BEFORE, ...DECOMPOSED })} before) with ${shareWords(1 - findValue(tables, CALLS))} fewer model calls than Search-R1. They add ${gap.low > 0 ? '' : 'no '}right answers: ${find({ ...OURS, ...EM })} (seeds: ${ofSeeds.map(({ value }) => percent(value)).join(' and ')}).`,
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
