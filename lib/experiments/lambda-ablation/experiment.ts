/** The weights of the two rewards (Table 4): every setting is trained, answers the test questions, and is compared. */
import type { DataFrame } from 'danfojs-node';
import { mainMeasure, type Metric } from '../../evaluation/metrics.js';
import { summariseResults, type MethodPair, type SummaryOptions } from '../../evaluation/table.js';
import type { Lambdas } from '../../methods/config.js';
import { trainingRows } from '../../report/curves.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf } from '../../report/frame.js';
import { answersOf, count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { paperFigure } from '../paper.js';
import { predictionsFrom } from '../predictions.js';
import { trainingOf } from '../train-runs.js';
import { lambdaClaims } from './claims.js';
import { learningRows } from './learning.js';
import {
  ALONE,
  CONTROL,
  identicalSettings,
  lambdaMethod,
  lambdaRuns,
  lambdaSettings,
  lambdasOf,
  lambdasOfMethod,
  lambdaTitle,
  onLines,
  PAPER,
  rewardsOf,
} from './settings.js';

export const lambdaAblation: Experiment = {
  name: 'lambda-ablation',
  title: 'training with other weights of the decomposition and the search-count reward',
  computation: answersOf(lambdaRuns, { prepare: trainingOf(lambdaRuns) }),
  claims: lambdaClaims,
};

const METRICS: readonly Metric[] = ['em', 'decomposition_ratio', 'coverage', 'turns', 'model_calls'];
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];
const DYNAMICS = ['turns', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'];

/** In `rows` and `contrasts`, `setting` and `against_setting` are as the paper writes them, and `rewards` says which a setting has. */
export interface LambdaAblation extends ReportResults {
  /** The rows of settings on the two lines through the grid that cross at the paper's setting: `line`, and the `weight` varied. */
  lines: DataFrame;
  /** Training curves on the same two lines. */
  training: DataFrame;
  /** How soon each setting learns, and what its training costs. */
  learning: DataFrame;
  /** What the two rewards were to save, and what was found. */
  predictions: DataFrame;
}

/**
 * The paper's setting beside every other, the two whose rows in the paper are the same beside each other, and each reward alone
 * beside none.
 */
function pairs(): MethodPair[] {
  const named = (one: Lambdas, against: Lambdas): MethodPair => [lambdaMethod(one), lambdaMethod(against)];
  const [twin, ...twins] = identicalSettings();
  return [
    ...lambdaSettings()
      .map((other) => named(PAPER, other))
      .filter(([paper, other]) => paper !== other),
    ...twins.map((other) => named(twin, other)),
    ...ALONE.map((alone) => named(alone, CONTROL)),
  ];
}

function withLambdas<T extends { method: string }>(item: T): T & { lambda_d: number; lambda_s: number } {
  const { lambdaD, lambdaS } = lambdasOfMethod(item.method);
  return { ...item, lambda_d: lambdaD, lambda_s: lambdaS };
}

/** Rows with what tables and charts of this report call a setting. */
const withTitles = <T extends { method: string; against?: string }>(rows: readonly T[]) =>
  rows.map((row) => {
    const setting = lambdasOfMethod(row.method);
    const against = row.against && { against_setting: lambdaTitle(lambdasOfMethod(row.against)) };
    return { ...row, setting: lambdaTitle(setting), ...against, rewards: rewardsOf(setting) };
  });

/** Whom a reward was to save model calls, and beside whom. */
const SAVINGS: readonly [who: string, setting: Lambdas, against: Lambdas][] = [
  ['The two rewards together save', PAPER, CONTROL],
  ['The search-count reward alone saves', { ...PAPER, lambdaD: 0 }, CONTROL],
  ['The search-count reward beside the other saves', PAPER, { ...PAPER, lambdaS: 0 }],
];

/**
 * Reads the answers of every setting and computes their figures with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadLambdaAblation(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<LambdaAblation> {
  const methodOf = (run: Parameters<typeof lambdasOf>[0]): string => lambdaMethod(lambdasOf(run));
  const { answers, curves, provenance } = await loadAnswers(lambdaAblation, folder, methodOf);
  const figures = summariseResults(answers, {
    ...{ measures: METRICS.map(mainMeasure), pairs: pairs(), paper: paperFigure },
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
    ...options,
  });
  const predictions = predictionsFrom(
    figures.contrasts,
    SAVINGS.map(([who, setting, against]) => ({
      prediction: `${who} model calls on parallelizable questions`,
      figure: {
        ...{ method: lambdaMethod(setting), against: lambdaMethod(against), benchmark: 'all' },
        ...{ subset: 'parallelizable', metric: 'model_calls', kind: 'difference' },
      },
      holds: ({ high }) => high < 0,
    })),
  );
  const rows = figures.rows.map(withLambdas);
  const training = trainingRows(curves, DYNAMICS).map(withLambdas);
  const learning = learningRows(curves).map(withLambdas);
  const contrasts = figures.contrasts.map(withLambdas);
  const summary = `${count(answers.length)} answers after training with ${lambdaSettings().length} settings of the two weights.`;
  const tidy = {
    ...{ rows: [...rows, ...training, ...learning], contrasts },
    provenance: { ...provenance, predictions },
  };
  return {
    ...resultsOf(summary, tidy),
    ...{ rows: frameOf(withTitles(rows)), contrasts: frameOf(withTitles(contrasts)) },
    ...{ lines: frameOf(onLines(rows)), training: frameOf(onLines(training)) },
    ...{ learning: frameOf(withTitles(learning)), predictions: frameOf(predictions) },
  };
}
