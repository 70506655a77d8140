/**
 * What does parallel search learn from? Both methods are trained from other models, with
 * other questions and with other rewards than in the main comparison. Differences were
 * predicted before the fresh tests that decide them were drawn.
 */
import { mean } from 'd3-array';
import { mainMeasure } from '../../evaluation/metrics.js';
import { MANY } from '../../evaluation/selections.js';
import { matching } from '../../evaluation/figures.js';
import type { Provenance } from '../../io/provenance.js';
import { trainingRows, type TrainingRow } from '../../report/training-rows.js';
import type { ResultParts } from '../../report/result.js';
import { countText } from '../../text/english.js';
import { modelNameForRun } from '../running/policy-runs.js';
import {
  describeOutcome,
  describePrediction,
  judgeConditions,
  readPredictions,
  describeJudged,
  type ConditionRow,
} from '../results/judged-predictions.js';
import type { Experiment } from '../experiment.js';
import { percent } from '../results/summary.js';
import { readCurves } from '../running/load-answers.js';
import { describeFreshTest, isDrawn } from '../running/fresh-test.js';
import { mergeProvenance } from '../running/records.js';
import { drawTrainings, type TestedCondition } from './charts.js';
import { HASTY_STEPS, morePassages, TRAINING_TESTS } from './tests.js';
import {
  STAGE_METRICS,
  listTestRuns,
  loadTrainingTest,
  type TrainingTestResults,
} from './fresh-test-experiment.js';

export const training: Experiment = {
  name: 'training',
  title: 'what parallel search learns from: initial models, questions and rewards',
  reads: TRAINING_TESTS.filter(isDrawn).map(({ name }) => name),
  claims: [morePassages],
  result: compareTrainings,
};

/** Judges each prediction by the first test with its figure; corrects per test. */
function judgeTests(tested: readonly TrainingTestResults[]): TestedCondition[] {
  const judged: TestedCondition[] = [];
  for (const { test, ...results } of tested) {
    const open = readPredictions().filter(({ id }) => !judged.some((row) => row.id === id));
    judged.push(...judgeConditions(results, open).map((row) => ({ ...row, test: test.name })));
  }
  return judged;
}

async function compareTrainings(folder?: string): Promise<ResultParts> {
  const tested: TrainingTestResults[] = [];
  for (const test of TRAINING_TESTS.filter(isDrawn))
    tested.push(await loadTrainingTest(test, folder));
  const rows = tested.flatMap((results) => results.rows);
  const conditions = judgeTests(tested);
  const curves = await readHastyCurves(tested);
  const draws = await Promise.all(tested.map(({ test }) => describeFreshTest(test)));
  const answers = tested.flatMap(({ answered }) => answered.flatMap((one) => one.answers));
  return {
    rows,
    contrasts: tested.flatMap(({ contrasts }) => contrasts),
    provenance: mergeProvenance(
      tested.flatMap(({ done }) => done),
      Object.assign({}, ...draws) as Provenance,
    ),
    summary: `${countText(answers.length)} answers to ${tested.length} fresh tests; ${conditions.length} conditions.`,
    finding: describeTrainings(conditions),
    frames: { conditions, trainings: tested.flatMap(listTrainings), curves },
    figures: drawTrainings({ rows, conditions, curves }),
    card: { hybrid_answers: '', reward_answers: '', passages_answers: 'Many' },
    predictions: conditions.map(describePrediction),
  };
}

/** Means of single runs over comparisons of two to eight, without intervals. */
const listTrainings = ({ test, answered }: TrainingTestResults) =>
  answered.flatMap(({ run, step, topK, method, answers }) =>
    STAGE_METRICS.map((metric) => ({
      initial_model: modelNameForRun(run),
      method,
      step,
      ...(topK && { k: topK }),
      metric,
      value: mean(matching(answers, { benchmark: MANY }), mainMeasure(metric).numerator)!,
      test: test.name,
    })),
  );

const CURVES = ['turns', 'turns/sequential', 'decomposition_ratio/parallelizable'];

/** From hasty models: searches in training rollouts; evidence and searches on dev. */
async function readHastyCurves(
  tested: readonly TrainingTestResults[],
): Promise<(TrainingRow & { test: string })[]> {
  const curves = tested.map(async ({ test }) => {
    const runs = listTestRuns(test).filter(({ model }) => model === 'hasty');
    const dev = await readCurves(runs, test.nameMethod, 'dev.jsonl');
    const points = dev.map(({ evidenceSeen, modelCalls, ...point }) => ({
      ...point,
      evidence_seen: evidenceSeen,
      // The last generation answers.
      turns: Number(modelCalls) - 1,
    }));
    const curves = await readCurves(runs, test.nameMethod);
    return [
      ...trainingRows(curves, CURVES, HASTY_STEPS / 5),
      ...trainingRows(points, ['evidence_seen', 'turns'], Infinity).map((row) => ({
        ...row,
        benchmark: 'dev' as const,
      })),
    ].map((row) => ({ ...row, test: test.name }));
  });
  return (await Promise.all(curves)).flat();
}

/** Says how each training changes the difference; mentions only judged conditions. */
export const describeTrainings = (judged: readonly ConditionRow[]): string =>
  describeJudged(judged, [
    {
      lead: 'On hybrid questions ParallelSearch is',
      parts: {
        'main-hybrid': (row) => `${describeOutcome(row)} with none of them in RL`,
        'mixed-hybrid': (row) =>
          `${describeOutcome(row)} with a fifth (at ${percent(row.calls ?? 1)} of the calls)`,
      },
    },
    {
      lead: 'From models that search only once, the search-count reward makes Search-R1',
      parts: {
        'reward-100-many': (row) => `${describeOutcome(row)} on comparisons of two to eight`,
      },
    },
    {
      lead: 'With ten passages per query among near misses, ParallelSearch is',
      parts: {
        'passages-200-10-many': (row) => `${describeOutcome(row)} on comparisons of two to eight`,
      },
    },
  ]);
