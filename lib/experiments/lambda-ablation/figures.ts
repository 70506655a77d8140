/** The report on the weights of the decomposition reward (lambda_d) and of the search-count reward (lambda_s): Table 4. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Lambdas } from '../../methods/config.js';
import {
  CONTROL,
  FAINT,
  identicalSettings,
  lambdaMethod,
  lambdaSettings,
  lambdasOfMethod,
  lambdaTitle,
  paperLambdaFigure,
  RECOMMENDED,
} from './settings.js';
import { readEvaluation, type CurvePoint } from '../../evaluation/load.js';
import { mainMeasure } from '../../evaluation/measures.js';
import { loadPaperTables } from '../paper.js';
import {
  summariseResults,
  type MethodPair,
  type SummaryOptions,
  type TidyResults,
  type TidyRow,
} from '../../evaluation/table.js';
import type { ReportResults } from '../../report/display.js';
import { tableOf, type Table } from '../../report/frame.js';
import { lambdaSpeedRows } from './speed.js';
import { LAMBDA_METRICS, PARALLEL, type LambdaMetric } from './charts.js';
import {
  benchmarkTitle,
  figureText,
  findContrast,
  findRow,
  intervalText,
  pointsIntervalText,
  SUBSET_TITLES,
} from '../../report/select.js';
import type { Claim } from '../main-results/tables.js';
import { trainingRows } from '../../report/training-rows.js';

export interface LambdaAblation extends ReportResults {
  figures: TidyResults;
  curves: CurvePoint[];
  /** The settings that were evaluated, in the paper's order. */
  settings: Lambdas[];
}

const BENCHMARKS = ['hotpotqa', '2wikimultihopqa', 'all'];
const SUBSETS = ['all', 'single_hop', 'parallelizable', 'sequential'];
const DYNAMICS = ['turns', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'];

/** Reads what the experiment wrote and compares its settings, with intervals. */
export function loadLambdaAblation(
  folder: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): LambdaAblation {
  if (!existsSync(path.join(folder, 'results.jsonl'))) {
    throw new Error(
      `Expected results in ${folder}, but there are none. Run "npx parallelsearch experiment lambda-ablation" first.`,
    );
  }
  const { questions, curves, provenance } = readEvaluation(folder);
  const methods = new Set(questions.map(({ method }) => method));
  const settings = lambdaSettings().filter((setting) => methods.has(lambdaMethod(setting)));
  const figures = summariseResults(questions, {
    ...{
      measures: (Object.keys(LAMBDA_METRICS) as LambdaMetric[]).map(mainMeasure),
      pairs: pairsOf(settings),
      provenance,
    },
    selects: ({ benchmark, subset }) => BENCHMARKS.includes(benchmark) && SUBSETS.includes(subset),
    ...options,
  });
  figures.rows = figures.rows.map(withPaper);
  figures.provenance.headlines = headlines(figures);
  const training = [...trainingRows(curves, DYNAMICS), ...lambdaSpeedRows({ curves, settings })];
  const rows = [...figures.rows, ...training].map(withLambdas);
  const contrasts = figures.contrasts.map(withLambdas);
  const summary = `${questions.length.toLocaleString('en')} answers after training with ${settings.length} settings of the two weights.`;
  const tidy = { rows, contrasts, provenance: figures.provenance };
  return { kind: 'results', summary, figures, curves, settings, tidy };
}

/** One of the two rewards, as strong as in the paper or hardly there, without the other. */
function aloneSettings(): Lambdas[] {
  const { lambdaD, lambdaS } = lambdasOfMethod(RECOMMENDED);
  return [{ lambdaD: 0, lambdaS }, { lambdaD, lambdaS: 0 }, ...FAINT];
}

/**
 * The paper's setting beside every other, the two whose rows in the paper are the same beside each other, and each reward alone
 * beside none.
 */
function pairsOf(settings: readonly Lambdas[]): MethodPair[] {
  const names = settings.map(lambdaMethod);
  const others = names.filter((name) => name !== RECOMMENDED);
  const twins = identicalSettings().map(lambdaMethod);
  const pairs: MethodPair[] = [
    ...others.map((other): MethodPair => [RECOMMENDED, other]),
    ...twins.slice(1).map((twin): MethodPair => [twins[0], twin]),
    ...aloneSettings().map((alone): MethodPair => [lambdaMethod(alone), lambdaMethod(CONTROL)]),
  ];
  return pairs.filter((pair) => pair.every((name) => names.includes(name)));
}

const withPaper = (row: TidyRow): TidyRow => ({
  ...row,
  paper: paperLambdaFigure(loadPaperTables(), { ...row, ...lambdasOfMethod(row.method) }),
});

function withLambdas<T extends { method: string }>(item: T): T & { lambda_d: number; lambda_s: number } {
  const { lambdaD, lambdaS } = lambdasOfMethod(item.method);
  return { ...item, lambda_d: lambdaD, lambda_s: lambdaS };
}

function headlines(figures: TidyResults): Claim[] {
  const { lambdaD, lambdaS } = lambdasOfMethod(RECOMMENDED);
  const savedBy = (who: string, method: Lambdas, against: Lambdas): Claim[] => {
    const sides = { method: lambdaMethod(method), against: lambdaMethod(against) };
    const calls = findContrast(figures, { ...PARALLEL, ...sides, metric: 'model_calls', kind: 'difference' });
    const claim = `${who} model calls on parallelizable questions`;
    return calls ? [{ claim, found: `${intervalText(calls, 2)} calls`, holds: calls.high < 0 }] : [];
  };
  return [
    ...savedBy('The two rewards together save', { lambdaD, lambdaS }, CONTROL),
    ...savedBy('The search-count reward alone saves', { lambdaD: 0, lambdaS }, CONTROL),
    ...savedBy(
      'The search-count reward beside the other saves',
      { lambdaD, lambdaS },
      { lambdaD, lambdaS: 0 },
    ),
  ];
}

/** Table 4: each setting on the parallelizable questions of a data set, the paper's figures beside ours. */
export function lambdaTable({ figures, settings }: LambdaAblation, benchmark: string): Table {
  const printed: readonly LambdaMetric[] = ['em', 'decomposition_ratio', 'model_calls'];
  const records = settings.map((setting) => {
    const record: Record<string, string> = { '(lambda_d, lambda_s)': lambdaTitle(setting) };
    for (const metric of Object.keys(LAMBDA_METRICS) as LambdaMetric[]) {
      const cell = { method: lambdaMethod(setting), benchmark, subset: 'parallelizable', metric };
      const row = findRow(figures, cell);
      const decimals = ['turns', 'model_calls'].includes(metric) ? 2 : 3;
      if (benchmark !== 'all' && printed.includes(metric))
        record[`${LAMBDA_METRICS[metric][0]} · paper`] = figureText(row?.paper, decimals);
      record[`${LAMBDA_METRICS[metric][0]} · here [95 %]`] = intervalText(row, decimals);
    }
    return record;
  });
  return tableOf(
    `Small world. The paper’s Table 4: parallelizable questions, ${benchmarkTitle(benchmark)}, paper and here.`,
    records,
  );
}

/** One setting minus others: exact match and decomposition in points, and model calls. */
function differenceRows(
  figures: TidyResults,
  method: string,
  others: readonly { against: string; subset: string }[],
): Record<string, string>[] {
  return others.map(({ against, subset }) => {
    const cell = { method, against, benchmark: 'all', subset, kind: 'difference' } as const;
    const found = (metric: LambdaMetric) => findContrast(figures, { ...cell, metric });
    return {
      ...{ Questions: SUBSET_TITLES[subset], Setting: lambdaTitle(lambdasOfMethod(method)) },
      minus: lambdaTitle(lambdasOfMethod(against)),
      'points of · exact match': pointsIntervalText(found('em')),
      'points of · decomposed': pointsIntervalText(found('decomposition_ratio')),
      'points of · coverage': pointsIntervalText(found('coverage')),
      'Model calls': intervalText(found('model_calls'), 2),
    };
  });
}

/** The paper's setting minus every other on one kind of question. */
export function lambdaContrastTable({ figures, settings }: LambdaAblation, subset = 'parallelizable'): Table {
  const others = settings.map(lambdaMethod).filter((method) => method !== RECOMMENDED);
  const rows = differenceRows(
    figures,
    RECOMMENDED,
    others.map((against) => ({ against, subset })),
  );
  return tableOf('Small world. The paper’s setting minus every other [95 %].', rows);
}

/** What each of the two rewards does: neither, each alone, and both, by kind of question. */
export function eachRewardTable({ figures }: LambdaAblation): Table {
  const shown = [CONTROL, ...aloneSettings(), lambdasOfMethod(RECOMMENDED)];
  const records = SUBSETS.flatMap((subset) =>
    shown.map((setting) => {
      const record: Record<string, string> = {
        ...{ Questions: SUBSET_TITLES[subset], '(lambda_d, lambda_s)': lambdaTitle(setting) },
      };
      for (const metric of Object.keys(LAMBDA_METRICS) as LambdaMetric[]) {
        const row = findRow(figures, { method: lambdaMethod(setting), benchmark: 'all', subset, metric });
        record[`${LAMBDA_METRICS[metric][0]} [95 %]`] = intervalText(row);
      }
      return record;
    }),
  );
  return tableOf('Small world. Neither of the two rewards, each alone, and both as in the paper.', records);
}

/** Each reward alone minus neither, as strong as in the paper and hardly there. */
export function rewardAloneTable({ figures }: LambdaAblation, subset = 'parallelizable'): Table {
  const rows = aloneSettings().flatMap((alone) =>
    differenceRows(figures, lambdaMethod(alone), [{ against: lambdaMethod(CONTROL), subset }]),
  );
  return tableOf('Small world. Each reward alone minus neither [95 %].', rows);
}

/** Two settings that the paper gives the same figures, trained by themselves here. */
export function identicalRowsTable({ figures }: LambdaAblation): Table {
  const [one, ...others] = identicalSettings().map(lambdaMethod);
  const pairs = ['parallelizable', 'sequential'].flatMap((subset) =>
    others.map((against) => ({ against, subset })),
  );
  return tableOf(
    'Small world. Settings whose rows in Table 4 are the same to the last digit: their difference here [95 %].',
    differenceRows(figures, one, pairs),
  );
}
