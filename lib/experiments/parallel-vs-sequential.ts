/** Parallelizable and sequential questions apart: Tables 3, 5 and 6, Figures 3 and 4. */
import { max, range, sum } from 'd3-array';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/measurement.js';
import { ENTITY_SUBSETS, MANY } from '../evaluation/selections.js';
import { matching, where, findFigure, type Fields } from '../evaluation/figures.js';
import type { PaperCell, TidyContrast, TidyRow } from '../evaluation/table.js';
import { gapWords, pointsText, ratioWords, sentence } from '../report/text.js';
import { countText } from '../text/english.js';
import { trainedBy } from '../training/methods.js';
import { INITIAL_MODELS } from '../training/models.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import {
  aheadFromEachModel,
  fromEachModel,
  PARALLELSEARCH_FIELDS,
  findParts,
  type Evidence,
  type PaperClaim,
} from './results/claims.js';
import { byModel, paperMean, paperRows, paperTables } from './results/paper.js';
import {
  chartByType,
  checkPredictions,
  percent,
  summarise,
  type Predicted,
} from './results/summary.js';
import { loadAnswers } from './running/load-answers.js';
import { addTiming, loadTiming, timing } from './timing.js';

const TYPES = ['parallelizable', 'sequential'];
/** Selects a model; `all` averages both backbones. */
const modelFields = (model: string): Partial<PaperCell> => (model === 'all' ? {} : { model });

/** Means over Tables 3 and 6 for both methods, ParallelSearch's first. */
const paperMeans = (
  fields: Partial<PaperCell>,
  { against = 'search-r1', average = paperMean } = {},
): number[] => ['parallelsearch', against].map((method) => average({ ...fields, method }));

/** ParallelSearch's mean divided by Search-R1's. */
function paperRatio(fields: Partial<PaperCell>): number {
  const [ours, theirs] = paperMeans(fields);
  return ours / theirs;
}

/** The mean of Table 3 or 6 weighted by the numbers of questions in Table 5. */
function meanOverQuestions(fields: Partial<PaperCell>): number {
  const rows = paperRows(fields).map(({ benchmark, subset, value }) => {
    const [{ questions }] = matching(paperTables().sizes, { benchmark, subset });
    return { value, questions };
  });
  const numQuestions = sum(rows, ({ questions }) => questions);
  return sum(rows, ({ value, questions }) => value * questions) / numQuestions;
}

/** The paper's gain in exact match over Search-R1, by every simple mean. */
export const paperGains = (subset: string) =>
  ['instruct', 'base', 'all'].flatMap((model) =>
    (['data set', 'question'] as const).map((countsOnce) => {
      const average = countsOnce === 'question' ? meanOverQuestions : paperMean;
      const cells = { subset, metric: 'em', ...modelFields(model) };
      const [ours, theirs] = paperMeans(cells, { average });
      return { model, countsOnce, difference: ours - theirs, relative: (ours - theirs) / theirs };
    }),
  );

/**
 * The paper's gains by every simple mean, as differences and relative to Search-R1
 * (`gain`: 0.143 is 14.3 % more), with ours where questions count equally.
 */
const gainRows = (contrasts: readonly TidyContrast[]): object[] =>
  TYPES.flatMap((subset) =>
    paperGains(subset).flatMap(({ model, countsOnce, difference, relative }) => {
      const sides = { method: 'parallelsearch', against: 'search-r1', model };
      const cell = { ...sides, benchmark: 'all', subset, metric: 'em' };
      const ours = (kind: string, origin: number): object => {
        const [gap] = countsOnce === 'question' ? matching(contrasts, { ...cell, kind }) : [];
        if (!gap) return {};
        return { value: gap.value - origin, low: gap.low - origin, high: gap.high - origin };
      };
      const row = { subset, model, counts_once: countsOnce, metric: 'em' };
      return [
        { ...row, kind: 'difference', paper: difference, ...ours('difference', 0) },
        { ...row, kind: 'gain', paper: relative, ...ours('ratio', 1) },
      ];
    }),
  );

/** ParallelSearch's calls and seconds divided by Search-R1's, from the paper's tables. */
const paperCostRows = (): object[] =>
  TYPES.flatMap((subset) =>
    [...INITIAL_MODELS, 'all'].flatMap((model) =>
      ['model_calls', 'seconds'].map((metric) => {
        const paper = paperRatio({ subset, metric, ...modelFields(model) });
        return { subset, model, metric, paper };
      }),
    ),
  );

/** Table 5 and our counts; null for data sets that the small world does not imitate. */
function sizeRows(answers: readonly QuestionResult[]): object[] {
  const present = new Set(answers.map(({ benchmark }) => benchmark));
  return paperTables().sizes.map(({ benchmark, subset, questions: paper }) => {
    const ids = matching(answers, { benchmark, subset }).map(({ questionId }) => questionId);
    return { benchmark, subset, paper, here: present.has(benchmark) ? new Set(ids).size : null };
  });
}

/** Search-R1's weights with ParallelSearch's prompt. */
const PROMPT = 'search-r1-parallel-prompt';

/** The ratio of costs on parallelizable questions, which must be below a limit. */
const costRatio =
  (metric: string, threshold: number): Evidence['parts'] =>
  (result) =>
    fromEachModel((model, label) => {
      const sides = { ...PARALLELSEARCH_FIELDS, against: 'search-r1', model };
      const ratio = { ...sides, subset: 'parallelizable', metric, kind: 'ratio' };
      const part = { label: `${label}: ratio`, unit: 'number', side: 'below', threshold } as const;
      return findParts(result, ratio, part);
    });
const paperCost = (metric: string): number => paperRatio({ subset: 'parallelizable', metric });

/** `instruct +12.7, base +3.4, both +8.1 points`, by plain means of the table. */
function gainsText(subset: string): string {
  const gains = paperGains(subset).filter(({ countsOnce }) => countsOnce === 'data set');
  const texts = gains.map(({ model, difference }) => {
    return `${model === 'all' ? 'both' : model} ${pointsText(difference)}`;
  });
  return `${texts.join(', ')} points`;
}

/** ParallelSearch's lead in Table 3, in points of exact match. */
const leadText = (against: string, fields: Partial<PaperCell>): string => {
  const cells = { subset: 'parallelizable', metric: 'em', ...fields };
  const [ours, theirs] = paperMeans(cells, { against });
  return pointsText(ours - theirs);
};

const parallelVsSequentialClaims: readonly PaperClaim[] = [
  {
    id: 'parallel-em',
    claim: 'Answers more parallelizable questions than Search-R1',
    paper: '+12.7 %',
    tables: () => `${gainsText('parallelizable')} (plain means of Table 3)`,
    cell: 'gain-parallelizable',
    rule: 'Difference to Search-R1 on parallelizable questions above 0 from both models',
    parts: aheadFromEachModel({ against: 'search-r1', subset: 'parallelizable' }),
  },
  {
    id: 'calls',
    claim: 'Needs fewer model calls than Search-R1 on parallelizable questions',
    paper: '69.6 %',
    tables: () => `${percent(paperCost('model_calls'), 1)} (means of Table 3)`,
    cell: 'contrast-search-r1',
    rule: 'Ratio below that of the paper’s own table, from each model and from both',
    // Not before a claim is judged: it reads the paper's tables.
    parts: (result) => costRatio('model_calls', paperCost('model_calls'))(result),
  },
  {
    id: 'seconds',
    claim: 'Is faster than Search-R1 on parallelizable questions',
    paper: 'Table 3',
    tables: () => `${percent(paperCost('seconds'), 1)} of the seconds (means of Table 3)`,
    cell: 'contrast-search-r1',
    rule: 'Ratio of seconds per question, one at a time, below 1, from each model and from both',
    parts: costRatio('seconds', 1),
  },
  {
    id: 'sequential-em',
    claim: 'Answers more sequential questions than Search-R1 as well',
    paper: 'Table 6',
    tables: () => `${gainsText('sequential')} (plain means of Table 6)`,
    cell: 'gain-sequential',
    rule: 'Difference to Search-R1 on sequential questions above 0 from both models',
    parts: aheadFromEachModel({ against: 'search-r1', subset: 'sequential' }),
  },
  {
    id: 'prompt-not-enough',
    claim: 'Training gains right answers that the parallel prompt alone does not',
    paper: 'Table 3',
    tables: () => `${byModel((model) => leadText(PROMPT, { model }))} points (means of Table 3)`,
    cell: 'contrast-prompt',
    rule: 'Difference in exact match on parallelizable questions to Search-R1 with the parallel prompt above 0 from both models',
    parts: aheadFromEachModel({ against: PROMPT, subset: 'parallelizable' }),
  },
  {
    id: 'news',
    claim: 'Gains on a corpus of news articles (MultihopRAG)',
    paper: 'Tables 3 and 6',
    tables: () =>
      byModel((model) => {
        const points = leadText('search-r1', { model, benchmark: 'MultihopRAG' });
        return `${points} points on parallelizable`;
      }),
    untestable: 'The small world has no news articles.',
  },
];

/** Thresholds from 0 to `largest` or just beyond, in at most 16 round steps. */
export function thresholds(largest: number): number[] {
  const widths = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];
  const width = widths.find((step) => largest / step <= 15) ?? Math.ceil(largest / 15);
  return range(Math.ceil(largest / width) + 1).map((i) => i * width);
}

/** Distributions of model calls and tokens, such as `model_calls_at_most_2`. */
export const distributionMeasures = (answers: readonly QuestionResult[]): Measure[] =>
  (['model_calls', 'tokens_written'] as const).flatMap((metric) => {
    const { numerator: count } = mainMeasure(metric);
    return thresholds(max(answers, count) ?? 0).map((atMost) => ({
      metric: `${metric}_at_most_${atMost}`,
      numerator: (answer: QuestionResult) => (count(answer) <= atMost ? 1 : 0),
    }));
  });

/** The rows that are points of distributions, with `at_most` and the metric counted. */
export const distributionPoints = (rows: readonly TidyRow[]): (TidyRow & { at_most: number })[] =>
  rows.flatMap((row) => {
    const [, metric, atMost] = /^(.+)_at_most_(\d+)$/.exec(row.metric) ?? [];
    return metric ? [{ ...row, metric, at_most: Number(atMost) }] : [];
  });

/** The data sets of Tables 3, 5 and 6 that the small world has, and all of ours. */
const filter = where({
  benchmark: ['hotpotqa', '2wikimultihopqa', 'all', MANY],
  subset: ['all', ...TYPES, ...ENTITY_SUBSETS],
});
const isDistribution = where({ benchmark: ['all', MANY], subset: ['all', ...TYPES] });

const METRICS = [
  'turns',
  'model_calls',
  'retrievals',
  'decomposition_ratio',
  'coverage',
  'tokens_written',
] as const;
const MEASURES: readonly Measure[] = [
  { ...mainMeasure('em'), byRatio: true },
  ...METRICS.map(mainMeasure),
];

const OVER_SEARCH_R1 = { method: 'parallelsearch', against: 'search-r1', model: 'all' };
const CALLS = { ...OVER_SEARCH_R1, metric: 'model_calls', kind: 'ratio' };
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'Needs at most 55 % of the model calls of Search-R1 on comparisons of up to eight',
    figure: { ...CALLS, benchmark: MANY, subset: 'all' },
    holds: ({ value }) => value <= 0.55,
  },
];

export const parallelVsSequential: Experiment = {
  name: 'parallel-vs-sequential',
  title: 'parallelizable and sequential questions compared',
  reads: [mainResults.name, timing.name],
  claims: parallelVsSequentialClaims,
  async result(folder) {
    const { answers: all, provenance } = await loadAnswers(mainResults, folder);
    const answers = all.filter(({ method }) => trainedBy(method) !== null);
    const tidy = summarise({ answers, provenance }, { measures: MEASURES, filter });
    const distributions = summarise(
      { answers, provenance },
      { measures: distributionMeasures(answers), filter: isDistribution, pairs: [] },
    );
    tidy.rows.push(...distributions.rows);
    addTiming(tidy, await loadTiming(folder), { filter });
    const find = (figure: Fields) =>
      TYPES.map((subset) => findFigure(tidy, { ...figure, benchmark: 'all', subset })!);
    const [calls, sequentialCalls] = find(CALLS).map(ratioWords);
    const answered = find({ ...OVER_SEARCH_R1, metric: 'em', kind: 'difference' }).map((gap) =>
      gapWords(gap),
    );
    const answersText =
      new Set(answered).size === 1 ? `${answered[0]} on either` : answered.join(' and ');
    return {
      ...tidy,
      predictions: checkPredictions(tidy, PREDICTED),
      summary: `${countText(answers.length)} answers, by question type.`,
      finding: sentence(
        `${calls} model calls than Search-R1 on parallelizable questions, ${sequentialCalls} on sequential ones; the answers are ${answersText}`,
      ),
      card: { calls: 'instruct' },
      frames: {
        sizes: sizeRows(answers),
        distributions: distributionPoints(tidy.rows),
        gains: gainRows(tidy.contrasts),
        paperCosts: paperCostRows(),
      },
      figures: {
        calls: chartByType(tidy.rows, 'model_calls', TYPES),
        answers: chartByType(tidy.rows, 'em', TYPES),
      },
    };
  },
};
