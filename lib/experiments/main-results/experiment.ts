/** The main comparison (Table 2): every method from both initial models, on all test questions. */
import { mean } from 'd3-array';
import type { SummaryOptions } from '../../evaluation/table.js';
import { METHODS, trainedBy } from '../../methods/index.js';
import { trainingRows } from '../../report/curves.js';
import { SEEDS, answersOf, count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { paperFigure, paperMean, paperRows, withPaper } from '../paper.js';
import { reportOf, summarise, type Predicted } from '../report.js';
import { INITIAL_MODELS, type PolicyRun } from '../runs.js';
import { BENCHMARK_TITLES } from '../../evaluation/selections.js';
import { figureText, pointsText } from '../../report/text.js';
import { titleOf } from '../../report/titles.js';
import { aheadFromEachModel, partsAhead, type PaperClaim } from '../verdicts.js';

const WHOLE = { subset: 'all', metric: 'em' };

/** Table 2: ParallelSearch's printed average minus the best printed average of another method, on one backbone. */
function averageGain(model: string): number {
  const average = { ...WHOLE, model, benchmark: 'average' };
  const ours = paperMean({ ...average, method: 'parallelsearch' });
  const others = paperRows(average).filter(({ method }) => method !== 'ParallelSearch');
  return ours - Math.max(...others.map(({ value }) => value));
}

/** Table 2, ParallelSearch minus Search-R1: one difference for each benchmark and backbone. */
const benchmarkGaps = (): number[] =>
  INITIAL_MODELS.flatMap((model) =>
    Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
      const [ours, theirs] = ['parallelsearch', 'search-r1'].map((method) =>
        paperFigure({ ...WHOLE, method, model, benchmark }),
      );
      return ours === null || theirs === null ? [] : [ours - theirs];
    }),
  );

export const mainClaims: readonly PaperClaim[] = [
  {
    id: 'average-em',
    claim: 'Answers more questions than the best baseline, on the average of seven benchmarks',
    paper: '+2.9 %',
    tables: () => {
      const gains = INITIAL_MODELS.map(averageGain);
      const texts = INITIAL_MODELS.map((model, i) => `${model} ${pointsText(gains[i])}`);
      return `${texts.join(', ')}, mean ${pointsText((gains[0] + gains[1]) / 2)} points (printed averages of Table 2)`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference to Search-R1, the strongest baseline that is trained here, above 0 from both models',
      parts: (numbers) =>
        aheadFromEachModel(numbers, { against: 'search-r1', benchmark: 'average', subset: 'all' }),
    },
  },
  {
    id: 'every-benchmark',
    claim: 'Is ahead of Search-R1 on the single benchmarks, not only on average',
    paper: 'Table 2',
    tables: () => {
      const gaps = benchmarkGaps();
      return `ahead in ${gaps.filter((gap) => gap > 0).length} of ${gaps.length} cells of Table 2`;
    },
    evidence: {
      cell: 'gap-table',
      rule: 'Difference above 0 on each of the seven benchmarks from both models',
      parts: (numbers) =>
        INITIAL_MODELS.flatMap((model) =>
          Object.keys(BENCHMARK_TITLES).flatMap((benchmark) => {
            const of = `${titleOf('benchmark', benchmark)} (${model})`;
            return partsAhead(numbers, of, { against: 'search-r1', model, benchmark, subset: 'all' });
          }),
        ),
    },
  },
  {
    id: 'other-baselines',
    claim: 'Is ahead of OTC and ZeroSearch on average as well',
    paper: 'Table 2',
    tables: () =>
      paperRows({ ...WHOLE, benchmark: 'average' })
        .filter(({ method }) => ['OTC', 'ZeroSearch'].includes(method))
        .map(({ model, method, value }) => `${method} ${figureText(value)} (${model})`)
        .join(', '),
    evidence: {
      untestable: 'These baselines are not trained here; ZeroSearch and StepSearch use other training sets.',
    },
  },
  {
    id: 'level',
    claim: 'Reaches this level of exact match with a 7B model over Wikipedia',
    paper: '0.458 (base), 0.425 (instruct)',
    tables: () => {
      const means = INITIAL_MODELS.toReversed().map((model) => {
        const columns = paperRows({ ...WHOLE, method: 'parallelsearch', model });
        const benchmarks = columns.filter(({ benchmark }) => benchmark !== 'average');
        return `${figureText(
          mean(benchmarks, ({ value }) => value),
          4,
        )} (${model})`;
      });
      return `${means.join(', ')} as means of the seven columns`;
    },
    evidence: { untestable: 'Levels of a small world and a small transformer say nothing about it.' },
  },
];

/** Every run of the main comparison, the most telling first. An untrained policy answers greedily: one seed says it all. */
export function mainRuns(): PolicyRun[] {
  const names = METHODS.names();
  const trained = names.filter((name) => trainedBy(name) === name).reverse();
  const untrained = names.filter((name) => trainedBy(name) === null);
  const others = names.filter((name) => ![...trained, ...untrained].includes(name));
  const models = [...INITIAL_MODELS].reverse();
  const runsOf = (methods: string[], seeds: number[]): PolicyRun[] =>
    seeds.flatMap((seed) => models.flatMap((model) => methods.map((method) => ({ method, model, seed }))));
  return [...runsOf(trained, SEEDS), ...runsOf(untrained, SEEDS.slice(0, 1)), ...runsOf(others, SEEDS)];
}

export const mainResults: Experiment = {
  name: 'main-results',
  title: 'every method on all test questions',
  computation: answersOf(mainRuns),
  claims: mainClaims,
};

/** What the report shows of training. */
const DYNAMICS = [
  ...['reward', 'rewards/outcome', 'turns', 'decomposition_ratio', 'completions/mean_length'],
  ...['kl', 'entropy'],
];

const SIDES = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all', model: 'all' };
const SHARE = { method: 'parallelsearch', benchmark: 'all', metric: 'decomposition_ratio' };

/**
 * What ParallelSearch was to achieve beside Search-R1, each with the figure that decides it: over all test questions,
 * every question counted once, and over both models where the prediction compares two methods.
 */
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'Answers as many questions as Search-R1 (interval of the difference above −1 point)',
    figure: { ...SIDES, subset: 'all', metric: 'em', kind: 'difference' },
    holds: ({ low }) => low > -0.01,
  },
  {
    prediction: 'Needs at most 70 % of the model calls of Search-R1 on parallelizable questions',
    figure: { ...SIDES, subset: 'parallelizable', metric: 'model_calls', kind: 'ratio' },
    holds: ({ value }) => value <= 0.7,
  },
  ...INITIAL_MODELS.flatMap((model): Predicted[] => [
    {
      prediction: `Decomposes at least 90 % of parallelizable questions (${model})`,
      figure: { ...SHARE, model, subset: 'parallelizable' },
      holds: ({ value }) => value >= 0.9,
    },
    {
      prediction: `Decomposes at most 10 % of sequential questions (${model})`,
      figure: { ...SHARE, model, subset: 'sequential' },
      holds: ({ value }) => value <= 0.1,
    },
  ]),
];

/**
 * Reads the main comparison's answers and computes its figures with intervals, which takes some seconds.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadMainResults(folder?: string, options: SummaryOptions = {}) {
  const read = await loadAnswers(mainResults, folder);
  const tidy = summarise(read, {}, options);
  const [answers, figures, comparisons] = [read.answers, tidy.rows, tidy.contrasts].map(count);
  return reportOf({
    summary: `${answers} answers, ${figures} figures, ${comparisons} comparisons.`,
    ...{ tidy, predicted: PREDICTED, contrasts: withPaper(tidy.contrasts) },
    // Training curves: a row for each metric, run and window of steps.
    frames: { training: trainingRows(read.curves, DYNAMICS) },
  });
}
export type MainResults = Awaited<ReturnType<typeof loadMainResults>>;
