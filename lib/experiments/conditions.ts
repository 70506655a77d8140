/**
 * When does parallel search answer more? Each condition is a difference in exact match
 * between the methods, predicted before its questions were drawn. Limits are put on the
 * main comparison's policies, trained with six search turns; conditions that need other
 * trainings have a fresh test of their own.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { range } from 'd3-array';
import { z } from 'zod';
import type { Interval } from '../evaluation/bootstrap.js';
import { MANY } from '../evaluation/selections.js';
import { matching, type SummaryOptions, type TidyTable } from '../evaluation/table.js';
import { CONDITIONS } from '../io/paths.js';
import type { Prediction } from '../report/opening.js';
import { pointsIntervalText, pointsText, shareWords } from '../report/text.js';
import type { PolicyRun } from '../training/stored-policies.js';
import { count, listSeeds } from './answers.js';
import {
  answerWithinBudgets,
  BUDGET_METHODS,
  BUDGET_TEST,
  limitMeasures,
  limitName,
  listBudgetJobs,
  listLimits,
  timePerToken,
  type BudgetRecord,
  type Limit,
} from './budget.js';
import { drawFigures, drawHabit, drawHybrids } from './conditions-charts.js';
import { computation, type Experiment, type ResultParts } from './experiment.js';
import { mergeProvenance, requireResults } from './records.js';
import { describeFreshTest, readFreshTest } from './fresh-test.js';
import { HABIT, loadHabit } from './habit.js';
import { HYBRIDS, loadHybrids, PAIRED } from './hybrids.js';
import { findFigure, percent, resultParts, summarise } from './report.js';
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
      const questions = await readFreshTest(BUDGET_TEST, context.world);
      return { answers: await answerWithinBudgets(run, { ...context, questions }) };
    },
  }),
  // Runs of the other two experiments are shown once they are recorded.
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
  /** `em` or `evidence_seen`. */
  metric: string;
  kind: 'difference';
  expected: Outcome;
  /** Predicted difference, as a share. */
  predicted: number;
  detectable: number;
  /** Two-sided p against no difference, Holm-corrected over a test's conditions. */
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
    const cell = { ...OVER_SEARCH_R1, metric: 'em', ...prediction.figure };
    const gap = findFigure(tables, { ...cell, kind: 'difference' });
    const calls = findFigure(tables, { ...cell, metric: 'model_calls', kind: 'ratio' });
    return gap ? [{ prediction, gap, calls: calls?.value ?? null }] : [];
  });
  const ps = holm(found.map(({ gap }) => pValue({ found: gap, threshold: 0 })));
  return found.map(({ prediction, gap: { value, low, high }, calls }, i): ConditionRow => {
    const { figure, points, detectable, ...named } = prediction;
    const outcome = judge({ value, low, high }, ps[i]);
    return {
      ...named,
      metric: String(figure.metric ?? 'em'),
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
  more: 'more than Search-R1',
  same: 'as much as Search-R1',
  fewer: 'less than Search-R1',
};
const METRIC_WORDS: Readonly<Record<string, string>> = { em: 'answers', evidence_seen: 'finds' };

const describePrediction = (row: ConditionRow): Prediction => ({
  prediction: `${row.condition}: ${METRIC_WORDS[row.metric]} ${EXPECTED_WORDS[row.expected]} (predicted ${pointsText(row.predicted)} points)`,
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
  const fromHabit = await loadHabit(folder, { ...options, filter });
  const onHybrids = await loadHybrids(HYBRIDS, folder, { ...options, filter });
  const onPaired = await loadHybrids(PAIRED, folder, { ...options, filter });
  const others = [fromHabit, onHybrids, onPaired].flatMap((read) => read?.done ?? []);
  const provenance = mergeProvenance([...done, ...others], {
    ...listSeeds(done.map(({ job }) => job.input)),
    ...(await describeFreshTest(BUDGET_TEST)),
    numQuestions,
    ...(fromHabit && (await describeFreshTest(HABIT))),
    ...(onHybrids && (await describeFreshTest(HYBRIDS))),
    ...(onPaired && (await describeFreshTest(PAIRED))),
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
  // Each test has a correction of its own.
  const predictions = readPredictions();
  const judged = judgeConditions(tidy, predictions);
  const judgedHabit = fromHabit ? judgeConditions(fromHabit, predictions) : [];
  const judgedHybrids = onHybrids ? judgeConditions(onHybrids, predictions) : [];
  // A prediction is judged by the first test that can.
  const isOpen = ({ id }: ConditionPrediction): boolean =>
    !judgedHybrids.some((row) => row.id === id);
  const judgedPaired = onPaired ? judgeConditions(onPaired, predictions.filter(isOpen)) : [];
  const allJudged = [...judged, ...judgedHabit, ...judgedHybrids, ...judgedPaired];
  return {
    ...resultParts({
      summary: `${count(answers)} answers to ${numQuestions} questions, each with up to eight search turns; ${allJudged.length} conditions.`,
      finding: describeFinding(allJudged),
      tidy,
      frames: {
        conditions: judged,
        ...(fromHabit && {
          habit_conditions: judgedHabit,
          habit: fromHabit.rows,
          habit_gaps: fromHabit.contrasts,
          habit_trainings: fromHabit.trainings,
          habit_curves: fromHabit.curves,
        }),
        ...(onHybrids && {
          hybrid_conditions: judgedHybrids,
          hybrids: onHybrids.rows,
          hybrid_gaps: onHybrids.contrasts,
        }),
        ...(onPaired && {
          paired_conditions: judgedPaired,
          paired: onPaired.rows,
          paired_gaps: onPaired.contrasts,
        }),
      },
      figures: {
        ...drawFigures(tidy.rows, { judged, entities: ENTITIES }),
        ...(fromHabit && drawHabit(fromHabit.curves, judgedHabit)),
        ...(onHybrids && drawHybrids('hybrid', onHybrids.rows, judgedHybrids)),
        ...(onPaired && drawHybrids('paired', onPaired.rows, judgedPaired)),
      },
      card: { entities: 'compares 4', types: 'hybrid' },
    }),
    predictions: allJudged.map(describePrediction),
  };
}

/**
 * Where ParallelSearch answers more, only saves calls, or answers fewer; only what has
 * been judged is said.
 */
export function describeFinding(judged: readonly ConditionRow[]): string {
  const say = (id: string, words: (row: ConditionRow) => string): string[] =>
    matching(judged, { id }).map(words);
  const points = ({ value }: ConditionRow): string => `${Math.round(100 * Math.abs(value))} points`;
  const quality = (row: ConditionRow): string => {
    if (row.found === 'same') return 'equally good';
    const side = `${points(row)} ${row.value > 0 ? 'better' : 'worse'}`;
    return row.found === 'undecided' ? `${side} (not significant)` : side;
  };
  const evidence = (row: ConditionRow): string =>
    row.found === 'same' ? 'as much' : `${points(row)} ${row.value > 0 ? 'more' : 'less'}`;
  const sentences = [
    [
      'With two search turns in place of six, ParallelSearch is',
      ...say('turns-2-many', (row) => `${quality(row)} on comparisons of two to eight`),
      ...say('turns-2-hybrid', (row) => `${quality(row)} on hybrid questions`),
    ],
    [
      'With six it is',
      ...say(
        'turns-6-many',
        (row) =>
          `${quality(row)} on comparisons with ${shareWords(1 - (row.calls ?? 1))} fewer model calls`,
      ),
      ...say('main-hybrid', (row) => `${quality(row)} on hybrid questions`),
    ],
    [
      'With a fifth of hybrid questions in RL it is',
      ...say(
        'mixed-hybrid',
        (row) => `${quality(row)} on them (at ${percent(row.calls ?? 1)} of the calls)`,
      ),
      ...say('without-rd-hybrid', (row) => `${quality(row)} without the decomposition reward`),
    ],
    [
      'From models that search once and answer, it finds',
      ...say('habit-50-evidence', (row) => `${evidence(row)} of the evidence after 50 RL steps`),
    ],
  ];
  return sentences
    .filter(([, ...parts]) => parts.length > 0)
    .map(([lead, ...parts]) => `${lead} ${parts.join(' and ')}.`)
    .join(' ');
}
