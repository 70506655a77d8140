/**
 * When does parallel search answer more? Each condition is a difference in exact match
 * between the methods, predicted before its questions were drawn. The policies are
 * trained with six search turns; conditions that need other trainings are further rows of
 * `data/conditions/predictions.json`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { range } from 'd3-array';
import { z } from 'zod';
import type { Interval } from '../evaluation/bootstrap.js';
import { BENCHMARK_TITLES, MANY } from '../evaluation/selections.js';
import { matching, type Fields, type SummaryOptions, type TidyTable } from '../evaluation/table.js';
import { CONDITIONS } from '../io/paths.js';
import {
  axisTitle,
  bandChart,
  createChart,
  SMALL_WORLD_NOTE,
  STYLES,
  type Chart,
} from '../report/chart.js';
import type { Prediction } from '../report/opening.js';
import { figureText, pointsIntervalText, pointsText, shareWords } from '../report/text.js';
import type { PolicyRun } from '../training/stored-policies.js';
import { count, listSeeds } from './answers.js';
import {
  answerWithinBudgets,
  BUDGET_METHODS,
  describeBudgetQuestions,
  limitMeasures,
  limitName,
  listBudgetJobs,
  listLimits,
  readBudgetQuestions,
  timePerToken,
  type BudgetRecord,
  type Limit,
} from './budget.js';
import { computation, type Experiment, type ResultParts } from './experiment.js';
import { mergeProvenance, requireResults } from './records.js';
import { findFigure, resultParts, summarise } from './report.js';
import { loadTiming, timing } from './timing.js';
import { holm, LEVEL, pValue } from './verdicts.js';

const PREDICTIONS = join(CONDITIONS, 'predictions.json');

const predictionSchema = z.strictObject({
  id: z.string(),
  condition: z.string(),
  /** Fields of the difference that decides. */
  figure: z.record(z.string(), z.union([z.string(), z.number()])),
  /** Whether ParallelSearch answers more than Search-R1, fewer, or as many. */
  expected: z.enum(['more', 'same', 'fewer']),
  /** Difference in exact match, or in the metric of `figure`, in points. */
  points: z.number(),
  /** Smallest difference that is found with 80 % power, in points. */
  detectable: z.number(),
  why: z.string(),
});
export type ConditionPrediction = z.infer<typeof predictionSchema>;

/** The predictions, in the order of the chart. */
export const readPredictions = (file = PREDICTIONS): ConditionPrediction[] =>
  existsSync(file) ? z.array(predictionSchema).parse(JSON.parse(readFileSync(file, 'utf8'))) : [];

export const conditions: Experiment = {
  name: 'conditions',
  title: 'when parallel search answers more: limits of turns, tokens and seconds',
  computation: computation<PolicyRun, BudgetRecord>({
    jobs: listBudgetJobs,
    work: async (run, context) => {
      const questions = await readBudgetQuestions(context.world);
      return { answers: await answerWithinBudgets(run, { ...context, questions }) };
    },
  }),
  reads: ['conditions', timing.name],
  result: compareConditions,
};

/** As many, if the difference is at most this and not significant. */
const SAME_WITHIN = 0.05;

export type Outcome = 'more' | 'same' | 'fewer';

/** A condition as it was predicted and found. */
export interface ConditionRow extends Interval {
  id: string;
  condition: string;
  metric: 'em';
  kind: 'difference';
  expected: Outcome;
  /** Predicted difference, as a share. */
  predicted: number;
  detectable: number;
  /** Two-sided p against no difference, Holm-corrected over the conditions. */
  p: number;
  found: Outcome | 'undecided';
  holds: boolean;
  /** Model calls as a share of Search-R1's, under a limit of turns. */
  calls: number | null;
  why: string;
}

const OVER_SEARCH_R1 = { method: BUDGET_METHODS[0], against: BUDGET_METHODS[1] };

function judge({ value, low, high }: Interval, p: number): ConditionRow['found'] {
  if (p <= LEVEL) return value > 0 ? 'more' : 'fewer';
  return low <= 0 && high >= 0 && Math.abs(value) <= SAME_WITHIN ? 'same' : 'undecided';
}

/** The conditions with their differences; those without a figure are left out. */
export function judgeConditions(
  tables: Pick<TidyTable<Interval, Interval>, 'rows' | 'contrasts'>,
  predictions: readonly ConditionPrediction[],
): ConditionRow[] {
  const found = predictions.flatMap((prediction) => {
    const cell = { ...OVER_SEARCH_R1, ...prediction.figure };
    const gap = findFigure(tables, { ...cell, metric: 'em', kind: 'difference' });
    const calls = findFigure(tables, { ...cell, metric: 'model_calls', kind: 'ratio' });
    return gap ? [{ prediction, gap, calls: calls?.value ?? null }] : [];
  });
  const ps = holm(found.map(({ gap }) => pValue({ found: gap, threshold: 0 })));
  return found.map(({ prediction, gap: { value, low, high }, calls }, i): ConditionRow => {
    const { figure: _, points, detectable, ...named } = prediction;
    const outcome = judge({ value, low, high }, ps[i]);
    return {
      ...named,
      metric: 'em',
      kind: 'difference',
      predicted: points / 100,
      detectable: detectable / 100,
      value,
      low,
      high,
      p: Number(ps[i].toPrecision(3)),
      found: outcome,
      holds: outcome === named.expected,
      calls,
    };
  });
}

const EXPECTED_WORDS: Readonly<Record<Outcome, string>> = {
  more: 'more right answers than Search-R1',
  same: 'as many right answers as Search-R1',
  fewer: 'fewer right answers than Search-R1',
};

const describePrediction = (row: ConditionRow): Prediction => ({
  prediction: `${row.condition}: ${EXPECTED_WORDS[row.expected]} (predicted ${pointsText(row.predicted)} points)`,
  found: `${pointsIntervalText(row)} points`,
  holds: row.holds,
});

/** Takes the limit out of the metric's name. */
const withLimits = <Row extends { metric: string }>(
  rows: readonly Row[],
  limits: readonly Limit[],
): (Row & Limit)[] => {
  const named = new Map(limits.map((limit) => [limitName(limit), limit]));
  return rows.map((row) => {
    const [metric, ...name] = row.metric.split('/');
    return { ...row, metric, ...named.get(name.join('/'))! };
  });
};

const ENTITIES = range(2, 9).map((size) => `entities_${size}`);
const filter: SummaryOptions['filter'] = ({ benchmark, subset }) => {
  if (benchmark === MANY) return subset === 'all' || ENTITIES.includes(subset);
  if (benchmark !== 'all') return subset === 'all';
  const types = ['all', 'single_hop', 'parallelizable', 'sequential', 'hybrid', ENTITIES[0]];
  return types.includes(subset);
};

async function compareConditions(
  folder?: string,
  options: SummaryOptions = {},
): Promise<ResultParts> {
  const done = await requireResults<PolicyRun, BudgetRecord>(conditions, folder);
  const answers = done.flatMap(({ job: { input }, record }) => {
    const { method, model, initSeed, seed } = input;
    return record.value.answers.map((answer) => ({ ...answer, method, model, initSeed, seed }));
  });
  const timed = (await loadTiming(folder))?.answers.filter(({ model }) => model === 'instruct');
  const msPerToken = timed ? timePerToken(timed) : null;
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const provenance = mergeProvenance(done, {
    ...listSeeds(done.map(({ job }) => job.input)),
    ...(await describeBudgetQuestions()),
    numQuestions,
    ...(timed && { msPerToken, timedAnswers: timed.length }),
  });
  const limits = listLimits(msPerToken);
  // One kind of limit at a time: resamples of all of them together take a gigabyte.
  const summaries = ['turns', 'tokens', 'seconds'].flatMap((limit) => {
    const measures = limitMeasures(matching(limits, { limit }), msPerToken);
    const settings = { measures, pairs: [BUDGET_METHODS], filter };
    return measures.length > 0 ? [summarise({ answers, provenance }, settings, options)] : [];
  });
  const tidy = {
    rows: withLimits(
      summaries.flatMap(({ rows }) => rows),
      limits,
    ),
    contrasts: withLimits(
      summaries.flatMap(({ contrasts }) => contrasts),
      limits,
    ),
    provenance,
  };
  const judged = judgeConditions(tidy, readPredictions());
  return {
    ...resultParts({
      summary: `${count(answers)} answers to ${numQuestions} questions, each with up to eight search turns; ${judged.length} conditions.`,
      finding: describeFinding(judged),
      tidy,
      frames: { conditions: judged },
      figures: drawFigures(tidy.rows, judged),
      card: { leads: '' },
    }),
    predictions: judged.map(describePrediction),
  };
}

/** Conditions that the finding names. */
const NAMED: readonly (readonly [id: string, where: string])[] = [
  ['turns-2-many', 'on comparisons of two to eight with two search turns'],
  ['turns-2-hybrid', 'on hybrid questions with two'],
  ['turns-6-many', 'on comparisons of two to eight with six, as in training'],
  ['turns-6-hybrid', 'on hybrid questions with six'],
];

/**
 * Where it answers more, where it only saves calls, where it answers fewer, and what the
 * lead rests on.
 */
export function describeFinding(judged: readonly ConditionRow[]): string {
  const named = NAMED.flatMap(([id, where]) =>
    matching(judged, { id }).map((row) => ({ ...row, where })),
  );
  const list = (title: string, rows: typeof named, size: (row: ConditionRow) => string): string =>
    rows.length > 0
      ? `${title}: ${rows.map((row) => `${size(row)} ${row.where}`).join(', ')}.`
      : '';
  const points = ({ value }: ConditionRow): string => `${Math.round(100 * Math.abs(value))} points`;
  const saved = ({ calls }: ConditionRow): string => `${shareWords(1 - (calls ?? 1))} fewer`;
  const bounds = matching(judged, { id: 'best-seen-2-many' }).map(
    (row) =>
      `Late answers count as wrong: if Search-R1 could name the best entity seen by then, its gap on comparisons with two turns would be ${points(row)}.`,
  );
  return [
    list('Answers more', matching(named, { found: 'more' }), points),
    list('Only saves calls', matching(named, { found: 'same' }), saved),
    list('Answers fewer', matching(named, { found: 'fewer' }), points),
    list(
      'Not decided',
      matching(named, { found: 'undecided' }),
      (row) => `${points(row)} ${row.value < 0 ? 'fewer' : 'more'}`,
    ),
    ...bounds,
  ]
    .filter(Boolean)
    .join(' ');
}

function drawFigures(
  rows: readonly (object & Limit)[],
  judged: readonly ConditionRow[],
): NonNullable<ResultParts['figures']> {
  const own = { metric: 'em', late: 'wrong' };
  const curve = (
    fields: Fields,
    spec: Pick<Parameters<typeof bandChart>[1], 'title' | 'xTitle' | 'panel'>,
  ): Chart =>
    bandChart(matching(rows, { ...own, ...fields }), {
      ...spec,
      subtitle: SMALL_WORLD_NOTE,
      x: 'at_most',
      color: 'method',
      interpolate: 'step-after',
      points: true,
    });
  const turns = axisTitle('Most search turns', 'turns');
  const seconds = axisTitle('Most time', 'seconds per question');
  const types = ['single_hop', 'parallelizable', 'sequential', 'hybrid'];
  const inSeconds = { limit: 'seconds', benchmark: MANY, subset: 'all' };
  return {
    ...(judged.length > 0 && { leads: conditionsChart(judged) }),
    entities: curve(
      { limit: 'turns', benchmark: MANY, subset: ENTITIES },
      {
        title: 'Exact match by search turns allowed and entities compared, with 95 % intervals',
        xTitle: turns,
        panel: 'subset',
      },
    ),
    types: curve(
      { limit: 'turns', benchmark: 'all', subset: types },
      {
        title: 'Exact match by search turns allowed and question type, with 95 % intervals',
        xTitle: turns,
        panel: 'subset',
      },
    ),
    benchmarks: curve(
      { limit: 'turns', benchmark: [...Object.keys(BENCHMARK_TITLES), 'average'], subset: 'all' },
      {
        title: 'Exact match by search turns allowed and benchmark, with 95 % intervals',
        xTitle: turns,
        panel: 'benchmark',
      },
    ),
    ...(matching(rows, inSeconds).length > 0 && {
      seconds: curve(inSeconds, {
        title: 'Exact match within a time, comparisons of two to eight, with 95 % intervals',
        xTitle: seconds,
        panel: 'request_ms',
      }),
    }),
    tokens: curve(
      { limit: 'tokens', benchmark: ['average', MANY], subset: 'all' },
      {
        title: 'Exact match by tokens allowed for the whole transcript, with 95 % intervals',
        xTitle: axisTitle('Longest transcript', 'tokens'),
        panel: 'benchmark',
      },
    ),
  };
}

/** A row for each condition: the difference with its interval, and the prediction. */
export function conditionsChart(judged: readonly ConditionRow[]): Chart {
  const values = judged.map(({ condition, value, low, high, predicted, expected, found }) => {
    const [difference, from, to, before] = [value, low, high, predicted].map((x) => 100 * x);
    return { condition, difference, from, to, predicted: before, expected, found };
  });
  const y = {
    field: 'condition',
    type: 'nominal',
    sort: null,
    title: 'Condition',
    // In two lines: limit, and questions.
    axis: { labelExpr: "split(datum.label, ': ')", labelLimit: 300 },
  };
  const x = { type: 'quantitative', title: axisTitle('Lead', 'points') };
  const legend = (name: string) => ({
    datum: name,
    type: 'nominal',
    title: null,
    legend: { orient: 'top' },
    scale: { domain: ['Found', 'Predicted'], range: [STYLES[0].color, STYLES[2].color] },
  });
  const numbers = ['difference', 'from', 'to', 'predicted'];
  const tooltip = [
    { field: 'condition' },
    ...numbers.map((field) => ({ field, type: 'quantitative', format: '.1f' })),
    { field: 'found' },
  ];
  return createChart({
    title: 'ParallelSearch’s lead in exact match over Search-R1, with 95 % intervals',
    subtitle: 'Predicted before the questions were drawn (small world)',
    alt: `${values
      .map(
        ({ condition, difference, predicted }) =>
          `${condition}: ${figureText(difference, 1)} (predicted ${figureText(predicted, 1)})`,
      )
      .join('; ')} points.`,
    spec: {
      data: { values },
      width: 290,
      height: { step: 32 },
      layer: [
        {
          mark: { type: 'rule', strokeDash: [3, 3], color: '#888888', aria: false },
          encoding: { x: { ...x, datum: 0 } },
        },
        {
          mark: { type: 'rule', strokeWidth: 2 },
          encoding: { y, x: { ...x, field: 'from' }, x2: { field: 'to' }, color: legend('Found') },
        },
        {
          mark: { type: 'point', filled: true, size: 55, opacity: 1 },
          encoding: { y, x: { ...x, field: 'difference' }, color: legend('Found'), tooltip },
        },
        {
          mark: { type: 'point', filled: false, shape: 'diamond', size: 80, opacity: 0.9 },
          encoding: { y, x: { ...x, field: 'predicted' }, color: legend('Predicted'), tooltip },
        },
      ],
    },
  });
}
