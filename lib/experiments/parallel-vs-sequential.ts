/**
 * What the paper's own tables give for its headline figures, recomputed, as rows with
 * ours beside them.
 */
import { max, range, sum } from 'd3-array';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import { MANY } from '../evaluation/selections.js';
import {
  matching,
  type PaperCell,
  type SummaryOptions,
  type TidyContrast,
  type TidyResults,
  type TidyRow,
} from '../evaluation/table.js';
import { trainedBy } from '../methods/index.js';
import { pointsText } from '../report/text.js';
import { count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { paperMean, paperRows, paperTables } from './paper.js';
import { callsAndAnswers, type Predicted, reportOf, summarise } from './report.js';
import { INITIAL_MODELS } from '../methods/checkpoints.js';
import { loadTiming, summariseTiming, timing } from './timing.js';
import {
  aheadFromEachModel,
  fromEachModel,
  type Numbers,
  OURS,
  type PaperClaim,
  type Part,
  partsWhere,
} from './verdicts.js';

const SUBSETS = ['parallelizable', 'sequential'];

/**
 * Fields of one model, or of none in particular: a mean over `all` is over both
 * backbones.
 */
const ofModel = (model: string): Partial<PaperCell> => (model === 'all' ? {} : { model });

/**
 * A mean of ParallelSearch over that of Search-R1: 69.6 % of the model calls on
 * parallelizable questions (the tables' "turns").
 */
export function paperRatio(fields: Partial<PaperCell>): number {
  const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
    paperMean({ ...fields, method }),
  );
  return ours / theirs;
}

/**
 * How far ParallelSearch is ahead of Search-R1 in exact match, by one way of averaging.
 */
export interface PaperGain {
  /** `base`, `instruct`, or `all`: both. */
  model: string;
  countsOnce: 'data set' | 'question';
  /** Difference of the means, as a share. */
  difference: number;
  /** The same over Search-R1's mean. */
  relative: number;
}

/** Mean of Table 3 or 6 in which every question counts once, as Table 5 counts them. */
function meanOverQuestions(fields: Partial<PaperCell>): number {
  const rows = paperRows(fields).map(({ benchmark, subset, value }) => {
    const [{ questions }] = matching(paperTables().sizes, { benchmark, subset });
    return { value, questions };
  });
  return (
    sum(rows, ({ value, questions }) => value * questions) / sum(rows, ({ questions }) => questions)
  );
}

/**
 * The gain by every simple mean: backbones apart and together, data sets or questions
 * counting once.
 */
export const paperGains = (subset: string): PaperGain[] =>
  ['instruct', 'base', 'all'].flatMap((model) =>
    (['data set', 'question'] as const).map((countsOnce) => {
      const meanOf = countsOnce === 'question' ? meanOverQuestions : paperMean;
      const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
        meanOf({ method, subset, metric: 'em', ...ofModel(model) }),
      );
      return { model, countsOnce, difference: ours - theirs, relative: (ours - theirs) / theirs };
    }),
  );

/**
 * The gains by every simple mean of Tables 3 and 6, in points and relative to Search-R1
 * (`gain`: 0.143 is 14.3 % more); ours are beside those in which a question counts once.
 * @param contrasts those of this world
 */
export const gainRows = (contrasts: readonly TidyContrast[]): object[] =>
  SUBSETS.flatMap((subset) =>
    paperGains(subset).flatMap(({ model, countsOnce, difference, relative }) => {
      const sides = { method: 'parallelsearch', against: 'search-r1', model };
      const cell = { ...sides, benchmark: 'all', subset, metric: 'em' };
      const ours = (kind: string, origin: number): object => {
        const [found] = countsOnce === 'question' ? matching(contrasts, { ...cell, kind }) : [];
        if (!found) return {};
        return { value: found.value - origin, low: found.low - origin, high: found.high - origin };
      };
      const row = { subset, model, counts_once: countsOnce, metric: 'em' };
      return [
        { ...row, kind: 'difference', paper: difference, ...ours('difference', 0) },
        { ...row, kind: 'gain', paper: relative, ...ours('ratio', 1) },
      ];
    }),
  );

/**
 * What ParallelSearch takes over what Search-R1 takes, by the means of Tables 3 and 6
 * over their data sets.
 */
export const paperCostRows = (): object[] =>
  SUBSETS.flatMap((subset) =>
    [...INITIAL_MODELS, 'all'].flatMap((model) =>
      ['model_calls', 'seconds'].map((metric) => ({
        subset,
        model,
        metric,
        paper: paperRatio({ subset, metric, ...ofModel(model) }),
      })),
    ),
  );

/**
 * Table 5: how many questions of each kind a data set has, in the paper and here; null
 * where there are none of its style.
 */
export function sizeRows(answers: readonly QuestionResult[]): object[] {
  const present = new Set(answers.map(({ benchmark }) => benchmark));
  return paperTables().sizes.map(({ benchmark, subset, questions: paper }) => {
    const ids = new Set(
      matching(answers, { benchmark, subset }).map(({ questionId }) => questionId),
    );
    return { benchmark, subset, paper, here: present.has(benchmark) ? ids.size : null };
  });
}

/** Search-R1's weights under ParallelSearch's prompt. */
const PROMPT = 'search-r1-parallel-prompt';

/**
 * Model calls or seconds of ParallelSearch over those of Search-R1 on parallelizable
 * questions, below a limit.
 */
const costRatio = ({ contrasts }: Numbers, metric: string, threshold: number): Part[] =>
  fromEachModel((model, of) => {
    const sides = { ...OURS, against: 'search-r1', model };
    const cell = { ...sides, subset: 'parallelizable', metric, kind: 'ratio' };
    return partsWhere(contrasts, cell, {
      of: `${of}, ratio`,
      unit: 'number',
      side: 'below',
      threshold,
    });
  });

/** The same in the means of Table 3. */
const paperCost = (metric: string): number => paperRatio({ subset: 'parallelizable', metric });

const percent = (ratio: number): string => `${(100 * ratio).toFixed(1)} %`;

/**
 * Gains of a kind of question by the table's plain means: `instruct +12.7, base +3.4,
 * both +8.1 points`.
 */
function gainsText(subset: string): string {
  const gains = paperGains(subset).filter(({ countsOnce }) => countsOnce === 'data set');
  const texts = gains.map(
    (g) => `${g.model === 'all' ? 'both' : g.model} ${pointsText(g.difference)}`,
  );
  return `${texts.join(', ')} points`;
}

/**
 * Table 3's figure of a method on parallelizable questions, mean over its data sets or of
 * one.
 */
const inTable3 = (fields: Partial<PaperCell>): number =>
  paperMean({ subset: 'parallelizable', ...fields });

/** Something of each backbone, such as `base 61.3 %, instruct 80.2 %`. */
const byModel = (text: (model: string) => string): string =>
  INITIAL_MODELS.map((model) => `${model} ${text(model)}`).join(', ');

/** By how much ParallelSearch answers more than another method, in points. */
const aheadText = (against: string, fields: Partial<PaperCell>): string => {
  const cell = { metric: 'em', ...fields };
  const theirs = inTable3({ ...cell, method: against });
  return pointsText(inTable3({ ...cell, method: 'parallelsearch' }) - theirs);
};

export const parallelVsSequentialClaims: readonly PaperClaim[] = [
  {
    id: 'parallel-em',
    claim: 'Answers more parallelizable questions than Search-R1',
    paper: '+12.7 %',
    tables: () => `${gainsText('parallelizable')} (plain means of Table 3)`,
    evidence: {
      cell: 'gain-parallelizable',
      rule: 'Difference to Search-R1 on parallelizable questions above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', subset: 'parallelizable' }),
    },
  },
  {
    id: 'calls',
    claim: 'Needs fewer model calls than Search-R1 on parallelizable questions',
    paper: '69.6 %',
    tables: () => `${percent(paperCost('model_calls'))} (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio below that of the paper’s own table, from each model and from both',
      parts: (numbers) => costRatio(numbers, 'model_calls', paperCost('model_calls')),
    },
  },
  {
    id: 'seconds',
    claim: 'Is faster than Search-R1 on parallelizable questions',
    paper: 'Table 3',
    tables: () => `${percent(paperCost('seconds'))} of the seconds (means of Table 3)`,
    evidence: {
      cell: 'contrast-search-r1',
      rule: 'Ratio of seconds a question, answered one at a time, below 1, from each model and from both',
      parts: (numbers) => costRatio(numbers, 'seconds', 1),
    },
  },
  {
    id: 'sequential-em',
    claim: 'Answers more sequential questions than Search-R1 as well',
    paper: 'Table 6',
    tables: () => `${gainsText('sequential')} (plain means of Table 6)`,
    evidence: {
      cell: 'gain-sequential',
      rule: 'Difference to Search-R1 on sequential questions above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', subset: 'sequential' }),
    },
  },
  {
    id: 'learns-to-decompose',
    claim: 'The rewards teach to decompose, more reliably than the prompt alone',
    paper: 'Table 3',
    tables: () => {
      const shares = (method: string): string =>
        byModel((model) => percent(inTable3({ method, model, metric: 'decomposition_ratio' })));
      return `decomposed: ${shares('parallelsearch')}; prompt alone: ${shares(PROMPT)}`;
    },
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in decomposition ratio on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, {
          against: PROMPT,
          subset: 'parallelizable',
          metric: 'decomposition_ratio',
        }),
    },
  },
  {
    id: 'prompt-not-enough',
    claim: 'Training gains right answers that the parallel prompt alone does not',
    paper: 'Table 3',
    tables: () => `${byModel((model) => aheadText(PROMPT, { model }))} points (means of Table 3)`,
    evidence: {
      cell: 'contrast-prompt',
      rule: 'Difference in exact match on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: PROMPT, subset: 'parallelizable' }),
    },
  },
  {
    id: 'news',
    claim: 'Gains on a corpus of news articles (MultihopRAG)',
    paper: 'Tables 3 and 6',
    tables: () =>
      byModel((model) => {
        const points = aheadText('search-r1', { model, benchmark: 'MultihopRAG' });
        return `${points} points on parallelizable`;
      }),
    evidence: { untestable: 'The small world has no news articles.' },
  },
];

/** What is counted of an answer. */
const COUNTED: readonly Measure[] = [mainMeasure('model_calls'), mainMeasure('tokens_written')];

/**
 * Distributions of model calls and of response lengths, such as `model_calls_at_most_2`,
 * in steps that reach from nothing to everything.
 */
export const distributionMeasures = (answers: readonly QuestionResult[]): Measure[] =>
  COUNTED.flatMap(({ metric, of: countOf }) =>
    thresholds(max(answers, countOf) ?? 0).map((atMost) => ({
      metric: `${metric}_at_most_${atMost}`,
      of: (answer) => (countOf(answer) <= atMost ? 1 : 0),
    })),
  );

/**
 * Whole numbers from 0 to `largest` or just beyond, at most 16 equal steps of a round
 * width.
 */
export function thresholds(largest: number): number[] {
  const widths = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  const width = widths.find((step) => largest / step <= 15) ?? Math.ceil(largest / 15);
  return range(Math.ceil(largest / width) + 1).map((i) => i * width);
}

/**
 * The rows that are points of distributions: the metric is what was counted, the value
 * the share of questions with at most so many.
 */
export const distributionPoints = (rows: readonly TidyRow[]): (TidyRow & { at_most: number })[] =>
  rows.flatMap((row) => {
    const [, metric, atMost] = /^(.+)_at_most_(\d+)$/.exec(row.metric) ?? [];
    return metric ? [{ ...row, metric, at_most: Number(atMost) }] : [];
  });

export const parallelVsSequential: Experiment = {
  name: 'parallel-vs-sequential',
  title: 'parallelizable and sequential questions apart',
  reads: [mainResults.name, timing.name],
  claims: parallelVsSequentialClaims,
};

/**
 * The two data sets of the paper's Tables 3, 5 and 6 whose kinds of question the small
 * world has, and all of ours.
 */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all', MANY];
const SHOWN_SUBSETS = [
  'all',
  'parallelizable',
  'sequential',
  ...range(2, 9).map((count) => `entities_${count}`),
];
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  BENCHMARKS.includes(benchmark) && SHOWN_SUBSETS.includes(subset);

/** Distributions are of all questions, of the two kinds and of comparisons of many. */
const isDistribution: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  ['all', MANY].includes(benchmark) && ['all', 'parallelizable', 'sequential'].includes(subset);

const MEASURES: readonly Measure[] = [
  { ...mainMeasure('em'), byRatio: true },
  ...(
    [
      'turns',
      'model_calls',
      'retrievals',
      'decomposition_ratio',
      'coverage',
      'tokens_written',
    ] as const
  ).map(mainMeasure),
];

const PARALLEL = { benchmark: 'all', subset: 'parallelizable' };

const FEWER_CALLS: Predicted = {
  prediction: 'Needs at most 55 % of the model calls of Search-R1 on comparisons of up to eight',
  figure: {
    method: 'parallelsearch',
    against: 'search-r1',
    model: 'all',
    kind: 'ratio',
    benchmark: MANY,
    subset: 'all',
    metric: 'model_calls',
  },
  holds: ({ value }) => value <= 0.55,
};

/**
 * Puts the seconds a question beside the other figures where they were measured, and says
 * where they come from.
 */
async function addSeconds(
  tidy: TidyResults,
  folder?: string,
  options: SummaryOptions = {},
): Promise<void> {
  const timed = await loadTiming(folder);
  if (!timed) return;
  const { rows, contrasts } = summariseTiming(timed, { selects, ...options });
  tidy.rows.push(...rows);
  tidy.contrasts.push(...contrasts);
  tidy.provenance.timing = timed.provenance;
}

/**
 * Reads the main comparison's answers, and the timing where there is one, and
 * summarises the two kinds of question, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadParallelVsSequential(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => trainedBy(method) !== null);
  const tidy = summarise({ answers, provenance }, { measures: MEASURES, selects }, options);
  const distributions = {
    measures: distributionMeasures(answers),
    selects: isDistribution,
    pairs: [],
  };
  tidy.rows.push(...summarise({ answers, provenance }, distributions, options).rows);
  await addSeconds(tidy, folder, options);
  return reportOf({
    summary: `${count(answers)} answers, by kind of question.`,
    finding: callsAndAnswers(
      tidy.contrasts,
      ['on parallelizable questions', PARALLEL],
      ['there', PARALLEL],
    ),
    tidy,
    predicted: [FEWER_CALLS],
    frames: {
      // Table 5: questions of each kind, in the paper and here.
      sizes: sizeRows(answers),
      // Share of questions with at most so many (`at_most`) model calls or tokens.
      distributions: distributionPoints(tidy.rows),
      // How far ParallelSearch is ahead of Search-R1, by every simple mean of the paper's
      // tables, and here.
      gains: gainRows(tidy.contrasts),
      // Calls and seconds of ParallelSearch over those of Search-R1, by the paper's
      // tables.
      paperCosts: paperCostRows(),
    },
  });
}
export type ParallelVsSequential = Awaited<ReturnType<typeof loadParallelVsSequential>>;
