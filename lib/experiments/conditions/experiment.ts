/**
 * When does parallel search answer more? Limits on turns, tokens and seconds are put on
 * the main comparison's policies, which were trained with six search turns. Each
 * condition is a difference in exact match between the methods, predicted before its
 * questions were drawn.
 */
import { range } from 'd3-array';
import { matching, type SummaryOptions } from '../../evaluation/table.js';
import { shareWords } from '../../report/text.js';
import type { PolicyRun } from '../../training/policy-runs.js';
import {
  answerWithinLimits,
  LIMITS_TEST,
  limitMeasures,
  listLimitJobs,
  listLimits,
  readLimit,
  timePerToken,
  type LimitedRecord,
} from './limits.js';
import { drawFigures } from './charts.js';
import { BOTH_METHODS } from '../../training/methods.js';
import { defineComputation, type Experiment } from '../experiment.js';
import type { ResultParts } from '../../report/result.js';
import { describeFreshTest, readFreshTest } from '../running/fresh-test.js';
import {
  describeOutcome,
  describePrediction,
  isShown,
  judgeConditions,
  readPredictions,
  describeJudged,
  type ConditionRow,
} from './predictions.js';
import { mergeProvenance, requireResults, listSeeds } from '../running/records.js';
import { identify } from '../running/runs.js';
import { summarise } from '../results/summary.js';
import { loadTiming, timing } from '../timing.js';
import { countText } from '../../text/english.js';

export const conditions: Experiment = {
  name: 'conditions',
  title: 'when parallel search answers more: limits of turns, tokens and seconds',
  computation: defineComputation<PolicyRun, LimitedRecord>({
    jobs: listLimitJobs,
    work: async (run, context) => {
      const questions = await readFreshTest(LIMITS_TEST, context.world);
      return { answers: await answerWithinLimits(run, { ...context, questions }) };
    },
  }),
  reads: ['conditions', timing.name],
  result: compareConditions,
};

const ENTITIES = range(2, 9).map((size) => `entities_${size}`);

async function compareConditions(
  folder?: string,
  options: SummaryOptions = {},
): Promise<ResultParts> {
  const done = await requireResults<PolicyRun, LimitedRecord>(conditions, folder);
  const answers = done.flatMap(({ job: { input }, record }) => {
    return record.value.answers.map((answer) => ({ ...answer, ...identify(input) }));
  });
  const timed = (await loadTiming(folder))?.answers.filter(({ model }) => model === 'instruct');
  const msPerToken = timed ? timePerToken(timed) : null;
  const numQuestions = new Set(answers.map(({ questionId }) => questionId)).size;
  const provenance = mergeProvenance(done, {
    ...listSeeds(done.map(({ job }) => job.input)),
    ...(await describeFreshTest(LIMITS_TEST)),
    numQuestions,
    ...(timed && { msPerToken, timedAnswers: timed.length }),
  });
  const limits = listLimits(msPerToken);
  // One kind of limit at a time: the resamples of all would take a gigabyte.
  const summaries = ['turns', 'tokens', 'seconds'].flatMap((limit) => {
    const measures = limitMeasures(matching(limits, { limit }), msPerToken);
    const settings = { measures, pairs: [BOTH_METHODS], filter: isShown };
    return measures.length > 0 ? [summarise({ answers, provenance }, settings, options)] : [];
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
    finding: describeFinding(judged),
    frames: { conditions: judged },
    figures: drawFigures(tidy.rows, { judged, entities: ENTITIES }),
    card: { entities: 'compares 4', types: 'hybrid' },
    predictions: judged.map(describePrediction),
  };
}

/** Says where ParallelSearch answers more, and where it only saves calls. */
export const describeFinding = (judged: readonly ConditionRow[]): string =>
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
