/** Both editions on the benchmarks that the fresh test of two lacks. */
import { matching, type MethodPair, type SummaryOptions } from '../../evaluation/table.js';
import { intervalChart } from '../../report/charts/chart.js';
import { checkPredictions, percent, type Predicted } from '../results/summary.js';
import { named, readThresholds, summariseEditions, tag, type FreshRead } from './editions.js';

const BENCHMARKS = ['nq', 'triviaqa', 'popqa', 'musique', 'multihoprag'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential', 'hybrid'];
const PAIRS: readonly MethodPair[] = [
  [tag('second', 'parallelsearch'), tag('second', 'search-r1')],
  [tag('second', 'parallelsearch'), tag('second', 'untrained:parallel')],
  [tag('second', 'untrained:search-r1'), tag('first', 'untrained:search-r1')],
  [tag('second', 'untrained:search-r1'), tag('second', 'r1')],
];

const WHOLE = { benchmark: 'all', subset: 'all' };
const OURS = { ...WHOLE, edition: 'second', method: 'parallelsearch' };
const WARMED_UP = { ...OURS, method: 'untrained:search-r1' };
const RIGHT = { metric: 'em', kind: 'difference' };
const OVER_SEARCH_R1 = { ...OURS, against: 'search-r1' };

const points = (share: number): string => `${Math.round(100 * share)} points`;

/** The predictions in `data/reader/predictions.json`, with the figures that decide. */
function listPredictions(): Predicted[] {
  const threshold = readThresholds('others');
  const over = 'exact match after the warm-up, minus that of the';
  const reading = threshold(`${over} first edition`);
  const searching = threshold(`${over} same model without search`);
  const ahead = threshold('exact match of ParallelSearch, minus that of Search-R1');
  const singleHops = threshold('share of single hops that ParallelSearch decomposes');
  const comparisons = threshold("share of MultiHop-RAG's comparisons that it decomposes");
  const calls = threshold('model calls of ParallelSearch, over those of Search-R1');
  const formed = threshold('share of its transcripts that are well formed');
  return [
    {
      prediction: `After the warm-up, right answers are at least ${points(reading)} above the first edition’s`,
      figure: { ...WARMED_UP, ...RIGHT, against_edition: 'first' },
      holds: ({ value }) => value >= reading,
    },
    {
      prediction: `And at least ${points(searching)} above those without search`,
      figure: { ...WARMED_UP, ...RIGHT, against: 'r1' },
      holds: ({ value }) => value >= searching,
    },
    {
      prediction: 'ParallelSearch answers no more questions than Search-R1',
      figure: { ...OVER_SEARCH_R1, ...RIGHT },
      holds: ({ value }) => value <= ahead,
    },
    {
      prediction: `It decomposes at most ${percent(singleHops)} of single hops`,
      figure: { ...OURS, metric: 'decomposition_ratio', subset: 'single_hop' },
      holds: ({ value }) => value <= singleHops,
    },
    {
      prediction: `It decomposes at least ${percent(comparisons)} of MultiHop-RAG’s comparisons`,
      figure: {
        ...OURS,
        metric: 'decomposition_ratio',
        benchmark: 'multihoprag',
        subset: 'parallelizable',
      },
      holds: ({ value }) => value >= comparisons,
    },
    {
      prediction: 'It needs no more model calls than Search-R1',
      figure: { ...OVER_SEARCH_R1, metric: 'model_calls', kind: 'ratio' },
      holds: ({ value }) => value <= calls,
    },
    {
      prediction: `${percent(formed)} of its transcripts are well formed`,
      figure: { ...OURS, metric: 'well_formed' },
      holds: ({ value }) => value >= formed,
    },
  ];
}

/** Figures of both editions on other benchmarks, their predictions, and a chart. */
export function compareOthers({ answers, provenance }: FreshRead, options: SummaryOptions) {
  const read = { answers: answers.map((answer) => named(answer)), provenance };
  const tidy = summariseEditions(read, { subsets: SUBSETS, pairs: PAIRS }, options);
  const method = ['r1', 'search-r1', 'parallelsearch'];
  const em = { edition: 'second', metric: 'em', subset: 'all', method, benchmark: BENCHMARKS };
  return {
    provenance: tidy.provenance,
    frames: {
      others: tidy.rows,
      otherContrasts: tidy.contrasts,
      otherPredictions: checkPredictions(tidy, listPredictions()),
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
