/** The main comparison (Table 2): every method from both initial models, on all test questions. */
import type { TidyResults } from '../../evaluation/table.js';
import { summariseResults, type SummaryOptions } from '../../evaluation/table.js';
import { METHODS, trainedBy } from '../../methods/index.js';
import { trainingRows } from '../../report/curves.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf, type Frame } from '../../report/frame.js';
import { answersOf, count, loadAnswers, SEEDS } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { paperFigure, withPaper } from '../paper.js';
import { predictionsFrom, type Prediction } from '../predictions.js';
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

export interface MainResults extends ReportResults {
  /** Training curves: a row for each metric, run and window of steps. */
  training: Frame;
  /** What was predicted beforehand, a row each. */
  predictions: Frame;
}

/**
 * Reads the main comparison's answers and computes its figures with intervals, which takes some seconds.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadMainResults(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<MainResults> {
  const { answers, curves, provenance } = await loadAnswers(mainResults, folder);
  const tidy = summariseResults(answers, { paper: paperFigure, ...options, provenance });
  const predictions = predictionsOf(tidy);
  tidy.provenance.predictions = predictions;
  const { rows, contrasts } = tidy;
  const summary = `${count(answers.length)} answers, ${count(rows.length)} figures, ${count(contrasts.length)} comparisons.`;
  return {
    ...resultsOf(summary, tidy),
    contrasts: frameOf(withPaper(contrasts)),
    training: frameOf(trainingRows(curves, DYNAMICS)),
    predictions: frameOf(predictions),
  };
}

/**
 * What ParallelSearch was to achieve beside Search-R1, each with the figure that decides it: over all test questions,
 * every question counted once, and over both models where the prediction compares two methods.
 */
function predictionsOf({ rows, contrasts }: TidyResults): Prediction[] {
  const pair = { method: 'parallelsearch', against: 'search-r1', benchmark: 'all', model: 'all' };
  const share = { method: 'parallelsearch', benchmark: 'all', metric: 'decomposition_ratio' };
  return [
    ...predictionsFrom(contrasts, [
      {
        prediction: 'Answers as many questions as Search-R1 (interval of the difference above −1 point)',
        figure: { ...pair, subset: 'all', metric: 'em', kind: 'difference' },
        holds: ({ low }) => low > -0.01,
      },
      {
        prediction: 'Needs at most 70 % of the model calls of Search-R1 on parallelizable questions',
        figure: { ...pair, subset: 'parallelizable', metric: 'model_calls', kind: 'ratio' },
        holds: ({ value }) => value <= 0.7,
      },
    ]),
    ...INITIAL_MODELS.flatMap((model) =>
      predictionsFrom(rows, [
        {
          prediction: `Decomposes at least 90 % of parallelizable questions (${model})`,
          figure: { ...share, model, subset: 'parallelizable' },
          holds: ({ value }) => value >= 0.9,
        },
        {
          prediction: `Decomposes at most 10 % of sequential questions (${model})`,
          figure: { ...share, model, subset: 'sequential' },
          holds: ({ value }) => value <= 0.1,
        },
      ]),
    ),
  ];
}
