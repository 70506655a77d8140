/**
 * When does parallel search answer more? Limits on turns, tokens and seconds are put on
 * the main comparison's policies, which were trained with six search turns. Each
 * condition is a difference in exact match between the methods, predicted before its
 * questions were drawn.
 */
import { matching, type Fields } from '../../evaluation/figures.js';
import { BENCHMARK_TITLES, ENTITY_SUBSETS, MANY } from '../../evaluation/selections.js';
import { axisTitle, lineChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import type { Chart } from '../../report/charts/spec.js';
import type { ResultParts } from '../../report/result.js';
import { shareWords } from '../../report/text.js';
import { countText } from '../../text/english.js';
import { BOTH_METHODS } from '../../training/methods.js';
import { defineComputation, type Experiment } from '../experiment.js';
import {
  conditionsChart,
  describeOutcome,
  describePrediction,
  isShown,
  judgeConditions,
  readPredictions,
  describeJudged,
  type ConditionRow,
} from '../results/judged-predictions.js';
import { summarise } from '../results/summary.js';
import { describeFreshTest, readFreshTest } from '../running/fresh-test.js';
import type { PolicyRun } from '../running/policy-runs.js';
import { mergeProvenance, requireResults, listSeeds, type Recorded } from '../running/records.js';
import { identify } from '../running/runs.js';
import { loadTiming, timing } from '../timing.js';
import {
  answerWithinLimits,
  LIMITS,
  LIMITS_TEST,
  limitMeasures,
  listLimitJobs,
  readLimit,
  timePerToken,
  type LimitedAnswer,
  type Limit,
} from './limits.js';

export const conditions: Experiment = {
  name: 'conditions',
  title: 'when parallel search answers more: limits of turns, tokens and seconds',
  computation: defineComputation<PolicyRun, Recorded<LimitedAnswer>>({
    jobs: listLimitJobs,
    work: async (run, context) => {
      const questions = await readFreshTest(LIMITS_TEST, context.world);
      return { answers: await answerWithinLimits(run, { ...context, questions }) };
    },
  }),
  reads: ['conditions', timing.name],
  result: compareConditions,
};

async function compareConditions(folder?: string): Promise<ResultParts> {
  const done = await requireResults<PolicyRun, Recorded<LimitedAnswer>>(conditions, folder);
  const answers = done.flatMap(({ job: { input }, record }) => {
    return record.value.answers.map((answer) => ({ ...answer, ...identify(input) }));
  });
  const timed = matching((await loadTiming(folder)).answers, { model: 'instruct' });
  const msPerToken = timePerToken(timed);
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const provenance = mergeProvenance(done, {
    ...listSeeds(done.map(({ job }) => job.input)),
    ...(await describeFreshTest(LIMITS_TEST)),
    numQuestions,
    msPerToken,
    timedAnswers: timed.length,
  });
  // One kind of limit at a time: the resamples of all would take a gigabyte.
  const summaries = ['turns', 'tokens', 'seconds'].map((limit) => {
    const measures = limitMeasures(matching(LIMITS, { limit }), msPerToken);
    const settings = { measures, pairs: [BOTH_METHODS], filter: isShown };
    return summarise({ answers, provenance }, settings);
  });
  const tidy = {
    rows: summaries.flatMap(({ rows }) => rows.map(readLimit)),
    contrasts: summaries.flatMap(({ contrasts }) => contrasts.map(readLimit)),
    provenance,
  };
  const judged = judgeConditions(tidy, readPredictions());
  return {
    ...tidy,
    summary: `${countText(answers.length)} answers to ${numQuestions} questions, each with up to eight search turns; ${judged.length} conditions.`,
    finding: describeConditions(judged),
    frames: { conditions: judged },
    figures: drawFigures(tidy.rows, judged),
    card: { entities: 'compares 4', types: 'hybrid' },
    predictions: judged.map(describePrediction),
  };
}

function drawFigures(
  rows: readonly (object & Limit)[],
  judged: readonly ConditionRow[],
): ResultParts['figures'] {
  const curve = (fields: Fields, by: string, axes: { xTitle: string; panel: string }): Chart =>
    lineChart(matching(rows, { metric: 'em', late: 'wrong', ...fields }), {
      ...axes,
      title: `Exact match by ${by}, with 95 % intervals`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'at_most',
      color: 'method',
      interpolate: 'step-after',
      points: true,
    });
  const byTurns = (cells: Fields, by: string, panel = 'subset'): Chart => {
    const xTitle = axisTitle('Turn limit', 'search turns');
    return curve({ limit: 'turns', ...cells }, `search turns allowed and ${by}`, { xTitle, panel });
  };
  const types = ['single_hop', 'parallelizable', 'sequential', 'hybrid'];
  const benchmarks = [...Object.keys(BENCHMARK_TITLES), 'average'];
  const inSeconds = { limit: 'seconds', benchmark: MANY, subset: 'all' };
  return {
    leads: conditionsChart(
      judged,
      'ParallelSearch’s lead in exact match over Search-R1, with 95 % intervals',
    ),
    entities: byTurns({ benchmark: MANY, subset: ENTITY_SUBSETS }, 'entities compared'),
    types: byTurns({ benchmark: 'all', subset: types }, 'question type'),
    benchmarks: byTurns({ benchmark: benchmarks, subset: 'all' }, 'benchmark', 'benchmark'),
    seconds: curve(inSeconds, 'time allowed, comparisons of two to eight', {
      xTitle: axisTitle('Time limit', 'seconds per question'),
      panel: 'request_ms',
    }),
    tokens: curve(
      { limit: 'tokens', benchmark: ['average', MANY], subset: 'all' },
      'tokens allowed for the whole transcript',
      { xTitle: axisTitle('Token limit', 'per transcript'), panel: 'benchmark' },
    ),
  };
}

/** Says where ParallelSearch answers more, and where it only saves calls. */
export const describeConditions = (judged: readonly ConditionRow[]): string =>
  describeJudged(judged, [
    {
      lead: 'With two search turns instead of six, ParallelSearch is',
      parts: {
        'turns-2-many': (row) => `${describeOutcome(row)} on comparisons of two to eight`,
        'turns-2-hybrid': (row) => `${describeOutcome(row)} on hybrid questions`,
      },
    },
    {
      lead: 'With six it is',
      parts: {
        'turns-6-many': (row) =>
          `${describeOutcome(row)} on comparisons (${shareWords(1 - (row.calls ?? 1))} fewer model calls)`,
        'turns-6-hybrid': (row) => `${describeOutcome(row)} on hybrid questions`,
      },
    },
  ]);
