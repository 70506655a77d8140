/** The report on parallelizable and sequential questions apart: Tables 3, 5 and 6, Figures 3 and 4. */
import { distributionMeasures, parseAtMost, type CountedMetric } from './distribution.js';
import { readEvaluation } from '../../evaluation/load.js';
import { mainMeasure, RESPONSE_TOKENS, type Measure } from '../../evaluation/measures.js';
import { loadPaperTables, paperFigure } from '../paper.js';
import { paperGains, paperMean, type PaperMean } from '../paper-gains.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../../evaluation/table.js';
import { readTiming, summariseTiming, type Timing } from '../timing/measures.js';
import { chartOf, SMALL_WORLD, titled, type Chart } from '../../report/chart.js';
import { valuesOf } from '../../report/charts.js';
import type { ReportResults } from '../../report/display.js';
import { tableOf, type Table } from '../../report/frame.js';
import {
  benchmarkTitle,
  figureText,
  findContrast,
  findRow,
  intervalText,
  methodsOf,
  methodTitle,
  pointsIntervalText,
  pointsText,
  modelsOf,
} from '../../report/select.js';
import { bandLayers, methodSeries, MODEL_SORT } from '../../report/series.js';
import type { Claim } from '../main-results/tables.js';

export type SubsetName = PaperMean['table'];
export interface ParallelVsSequential extends ReportResults {
  tidy: TidyResults;
  questions: QuestionResult[];
}

/** The two data sets of the paper's Tables 3, 5 and 6 whose kinds of question the mini-wiki has, and all of ours. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'parallelizable', 'parallelizable_2_to_4', 'parallelizable_5', 'sequential'];

/**
 * Reads the main comparison's evaluation and summarises the two kinds of question, with intervals.
 * @param timing folder of the timing experiment; without it there are no seconds
 */
export function loadParallelVsSequential(
  folder: string,
  timing: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): ParallelVsSequential {
  const { questions, provenance } = readEvaluation(folder);
  const measures = measuresFor(questions);
  const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
    BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset);
  const tidy = summariseResults(questions, { measures, selects, provenance, paper: paperFigure, ...options });
  const timed = readTiming(timing);
  if (timed) addTiming(tidy, timed, { selects, ...options });
  tidy.provenance.headlines = headlines(tidy);
  const summary = `${questions.length.toLocaleString('en')} answers, by kind of question.`;
  return { kind: 'results', summary, questions, tidy };
}

/** Puts the seconds a question beside the other figures, and says where they come from. */
function addTiming(tidy: TidyResults, timed: Timing, options: SummaryOptions): void {
  const { rows, contrasts } = summariseTiming(timed, options);
  tidy.rows.push(...rows);
  tidy.contrasts.push(...contrasts);
  tidy.provenance.timing = timed.provenance;
}

function measuresFor(questions: readonly QuestionResult[]): Measure[] {
  return [
    { ...mainMeasure('em'), byRatio: true },
    ...(['turns', 'model_calls', 'decomposition_ratio', 'coverage'] as const).map(mainMeasure),
    RESPONSE_TOKENS,
    ...distributionMeasures('model_calls', questions),
    ...distributionMeasures('response_tokens', questions),
  ];
}

const PAIR = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all' } as const;

function headlines(tidy: TidyResults): Claim[] {
  const calls = findContrast(tidy, {
    ...{ ...PAIR, model: 'all', subset: 'parallelizable', metric: 'model_calls', kind: 'ratio' },
  });
  if (!calls) return [];
  const claim = 'Needs at most 60 % of the model calls of Search-R1 on parallelizable questions';
  return [{ claim, found: `ratio ${intervalText(calls)}`, holds: calls.value <= 0.6 }];
}

/** Table 5: how many questions of each kind there are, in the paper and here. */
export function sizesTable({ questions }: ParallelVsSequential): Table {
  const sizes = loadPaperTables().table5_subset_sizes;
  const ids = (benchmark: string, subset: string): number =>
    new Set(
      questions.filter((q) => q.benchmark === benchmark && q.subset === subset).map((q) => q.questionId),
    ).size;
  const here: Readonly<Record<string, string>> = {
    HotpotQA: 'hotpotqa',
    '2WikiMultiHopQA': '2wikimultihopqa',
  };
  const records = Object.entries(sizes).map(([name, { par, seq }]) => {
    const count = (subset: string): string => (here[name] ? String(ids(here[name], subset)) : '–');
    return {
      ...{
        'Data set': name,
        'parallelizable · paper': String(par),
        'parallelizable · here': count('parallelizable'),
      },
      ...{ 'sequential · paper': String(seq), 'sequential · here': count('sequential') },
    };
  });
  return tableOf(
    'The paper’s Table 5: questions of each kind. Here they are questions of a small world, in the style of the data set; for MultihopRAG, news articles, there are none.',
    records,
  );
}

/** What Tables 3 and 6 compare; the paper's "turns" are model calls. */
const COLUMNS: readonly [metric: string, title: string, decimals: number][] = [
  ['em', 'Exact match', 3],
  ['decomposition_ratio', 'Decomposed', 3],
  ['seconds', 'Seconds a question', 3],
  ['model_calls', 'Model calls', 2],
];

/** Table 3 (parallelizable) or 6 (sequential): the paper's figure beside ours with its interval. */
export function kindTable({ tidy }: ParallelVsSequential, subset: SubsetName): Table {
  const methods = methodsOf(tidy).filter((method) => method !== 'r1');
  const records = BENCHMARKS.flatMap((benchmark) =>
    modelsOf(tidy).flatMap((model) =>
      methods.map((method) => {
        const record: Record<string, string> = {
          ...{ Questions: benchmarkTitle(benchmark), Start: model, Method: methodTitle(method) },
        };
        for (const [metric, title, decimals] of COLUMNS) {
          const row = findRow(tidy, { benchmark, subset, model, method, metric });
          record[`${title} · paper`] = figureText(row?.paper, decimals);
          record[`${title} · here [95 %]`] = intervalText(row, decimals);
        }
        return record;
      }),
    ),
  );
  const number = subset === 'parallelizable' ? 3 : 6;
  return tableOf(`Small world. The paper’s Table ${number}: ${subset} questions, paper and here.`, records);
}

/** ParallelSearch beside Search-R1 on both kinds of question: what it gains, and what it costs. */
export function kindContrastTable({ tidy }: ParallelVsSequential, against = 'search-r1'): Table {
  const records = SUBSETS.filter((subset) => subset !== 'all').flatMap((subset) =>
    [...modelsOf(tidy), 'all'].map((model) => {
      const cell = { ...PAIR, against, model, subset };
      const points = (metric: string): string =>
        pointsIntervalText(findContrast(tidy, { ...cell, metric, kind: 'difference' }));
      const ratio = (metric: string): string =>
        intervalText(findContrast(tidy, { ...cell, metric, kind: 'ratio' }), 2);
      return {
        ...{ Questions: subset.replaceAll('_', ' '), Start: model === 'all' ? 'both' : model },
        'points of · exact match': points('em'),
        'points of · decomposed': points('decomposition_ratio'),
        ...{ 'ratio of · model calls': ratio('model_calls'), 'ratio of · tokens': ratio('response_tokens') },
        'ratio of · seconds': ratio('seconds'),
      };
    }),
  );
  return tableOf(
    `Small world. ParallelSearch against ${methodTitle(against)}: differences in exact match and in the share of questions decomposed, and its calls, tokens and seconds over the other's [95 %].`,
    records,
  );
}

/** The paper's "+12.7 %", by every simple mean over its own table, and the same figures here. */
export function gainTable({ tidy }: ParallelVsSequential, subset: SubsetName = 'parallelizable'): Table {
  const records = paperGains(loadPaperTables(), subset).map(({ model, weighBy, difference, relative }) => {
    const isOurs = weighBy === 'questions';
    const contrast = (kind: 'difference' | 'ratio') =>
      isOurs ? findContrast(tidy, { ...PAIR, model, subset, metric: 'em', kind }) : undefined;
    return {
      ...{ Start: model === 'all' ? 'both' : model, 'every ... counts once': weighBy.replace(/s$/, '') },
      'paper · points': pointsText(difference),
      'paper · relative, %': pointsText(relative),
      'here · points [95 %]': pointsIntervalText(contrast('difference')),
      'here · relative, % [95 %]': pointsIntervalText(gainOf(contrast('ratio'))),
    };
  });
  const number = subset === 'parallelizable' ? 3 : 6;
  return tableOf(
    `ParallelSearch over Search-R1 in exact match on ${subset} questions: by every simple mean of the paper’s Table ${number}, and here (small world).`,
    records,
  );
}

/** A ratio as a gain: 1.143 is a gain of 0.143. */
function gainOf(ratio: { value: number; low: number; high: number } | undefined) {
  return ratio && { value: ratio.value - 1, low: ratio.low - 1, high: ratio.high - 1 };
}

/** Means over the rows of Tables 3 and 6: what ParallelSearch takes over what Search-R1 takes. */
export function paperCostTable(): Table {
  const tables = loadPaperTables();
  const records = (['parallelizable', 'sequential'] as const).flatMap((table) =>
    ['instruct', 'base', 'all'].map((model) => {
      const ratio = (column: PaperMean['column']): string => {
        const mean = (method: string): number => paperMean(tables, { table, column, method, model });
        return figureText(mean('parallelsearch') / mean('search-r1'));
      };
      return {
        ...{ Questions: table, Start: model === 'all' ? 'both' : model },
        ...{ 'model calls': ratio('turns'), seconds: ratio('inference_seconds') },
      };
    }),
  );
  return tableOf(
    'From the paper’s Tables 3 and 6: ParallelSearch over Search-R1, ratios of the means over its three data sets.',
    records,
  );
}

const DISTRIBUTIONS: Readonly<Record<CountedMetric, [title: string, axis: string, figure: string]>> = {
  model_calls: ['Model calls', titled('Model calls', 'at most'), 'Figure 3'],
  response_tokens: ['Response length', titled('Response length', 'at most so many tokens'), 'Figure 4'],
};

/** Figures 3 and 4: the share of questions answered with at most so many model calls, or tokens. */
export function distributionChart({ tidy }: ParallelVsSequential, metric: CountedMetric): Chart {
  const [title, axis, figure] = DISTRIBUTIONS[metric];
  const kinds = ['parallelizable', 'sequential'];
  const methods = methodsOf(tidy).filter((method) => method !== 'r1');
  const rows = tidy.rows.filter(
    (row) => row.benchmark === 'all' && kinds.includes(row.subset) && methods.includes(row.method),
  );
  const chosen = rows.filter((row) => parseAtMost(row.metric)?.metric === metric);
  const values = valuesOf(chosen).map((value, i) => ({
    ...value,
    atMost: parseAtMost(chosen[i].metric)!.atMost,
  }));
  const x = { field: 'atMost', type: 'quantitative', title: axis };
  const y = {
    ...{ type: 'quantitative', title: titled('Answered', 'share of questions') },
    scale: { domain: [0, 1] },
  };
  return chartOf({
    title: `${title}: cumulative distribution (${figure}), with 95 % intervals`,
    subtitle: SMALL_WORLD,
    alt: `Share of questions with at most so many: ${metric.replace('_', ' ')}. ${spokenMeans(tidy, metric, kinds)}`,
    spec: {
      data: { values },
      facet: { row: { field: 'subset', sort: kinds }, column: { field: 'model', sort: MODEL_SORT } },
      spec: {
        ...{ width: 300, height: 170 },
        layer: bandLayers(methodSeries(methods), x, y, 'step-after'),
      },
    },
  });
}

/** Means of the two trained methods in words. */
function spokenMeans(tidy: TidyResults, metric: string, kinds: readonly string[]): string {
  return kinds
    .flatMap((subset) =>
      modelsOf(tidy).map((model) => {
        const mean = (method: string): string =>
          figureText(findRow(tidy, { benchmark: 'all', metric, subset, model, method })?.value, 2);
        return `Mean on ${subset} questions from ${model}: Search-R1 ${mean('search-r1')}, ParallelSearch ${mean('parallelsearch')}.`;
      }),
    )
    .join(' ');
}

/** Mean response lengths and turns on both kinds of question. */
export function lengthTable({ tidy }: ParallelVsSequential): Table {
  const records = (['parallelizable', 'sequential'] as const).flatMap((subset) =>
    modelsOf(tidy).flatMap((model) =>
      methodsOf(tidy).map((method) => {
        const text = (metric: string, decimals: number): string =>
          intervalText(findRow(tidy, { benchmark: 'all', subset, model, method, metric }), decimals);
        return {
          ...{ Questions: subset, Start: model, Method: methodTitle(method) },
          ...{
            'Response, tokens [95 %]': text('response_tokens', 1),
            'Search turns [95 %]': text('turns', 2),
          },
          'Model calls [95 %]': text('model_calls', 2),
        };
      }),
    ),
  );
  return tableOf(
    'Small world. Mean length of what the policy writes, and turns, over all benchmarks.',
    records,
  );
}
