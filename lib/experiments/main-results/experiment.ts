/** The main comparison (Table 2): every method from both initial models, on all test questions. */
import type { SummaryOptions } from '../../evaluation/table.js';
import { METHODS, trainedBy } from '../../methods/index.js';
import { trainingRows } from '../../report/curves.js';
import { answersOf, count, loadAnswers, SEEDS } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { withPaper } from '../paper.js';
import { reportOf, summarise, type Predicted } from '../report.js';
import { INITIAL_MODELS, type PolicyRun } from '../runs.js';
import { mainClaims } from './claims.js';

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
