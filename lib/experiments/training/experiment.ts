/**
 * What does parallel search learn from? Both methods are trained from other models, with
 * other questions and with other rewards than in the main comparison. Differences were
 * predicted before the fresh tests that decide them were drawn.
 */
import { mean } from 'd3-array';
import { mainMeasure } from '../../evaluation/metrics.js';
import { MANY } from '../../evaluation/selections.js';
import { matching, type SummaryOptions, type Fields } from '../../evaluation/table.js';
import type { Provenance } from '../../io/provenance.js';
import { intervalChart, lineChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import { trainingRows, type TrainingRow } from '../../report/training-rows.js';
import type { Chart } from '../../report/charts/spec.js';
import type { ResultParts } from '../../report/result.js';
import { metricInfo, valueTitle } from '../../report/titles.js';
import { countText } from '../../text/english.js';
import { modelNameForRun } from '../../training/policy-runs.js';
import {
  describeOutcome,
  describePrediction,
  isShown,
  judgeConditions,
  readPredictions,
  describeJudged,
  conditionsChart,
  type ConditionRow,
} from '../conditions/predictions.js';
import type { Experiment } from '../experiment.js';
import { percent } from '../results/summary.js';
import { readCurves } from '../running/answers.js';
import { describeFreshTest, isDrawn } from '../running/fresh-test.js';
import { mergeProvenance } from '../running/records.js';
import { HABIT, HASTY_STEPS, morePassages, TRAINING_TESTS } from './conditions.js';
import {
  STAGE_METRICS,
  listTestRuns,
  loadTrainingTest,
  type TrainingTestResults,
  type Training,
} from './fresh-test-experiment.js';

export const training: Experiment = {
  name: 'training',
  title: 'what parallel search learns from: initial models, questions and rewards',
  reads: TRAINING_TESTS.filter(isDrawn).map(({ name }) => name),
  claims: [morePassages],
  result: compareTrainings,
};

/** A condition with the test that judged it. */
export type TestedCondition = ConditionRow & { test: string };

/** Judges each prediction by the first test with its figure; corrects per test. */
function judgeTests(tested: readonly TrainingTestResults[]): TestedCondition[] {
  const judged: TestedCondition[] = [];
  for (const { test, ...results } of tested) {
    const open = readPredictions().filter(({ id }) => !judged.some((row) => row.id === id));
    judged.push(...judgeConditions(results, open).map((row) => ({ ...row, test: test.name })));
  }
  return judged;
}

async function compareTrainings(
  folder?: string,
  options: SummaryOptions = {},
): Promise<ResultParts> {
  const tested: TrainingTestResults[] = [];
  for (const test of TRAINING_TESTS) {
    const results = await loadTrainingTest(test, folder, { ...options, filter: isShown });
    if (results) tested.push(results);
  }
  if (tested.length === 0)
    throw new Error(
      `Expected results of ${HABIT.name}, but there are none. Run "npx parallelsearch experiment ${HABIT.name}".`,
    );
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
    finding: describeFinding(conditions),
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
export const describeFinding = (judged: readonly ConditionRow[]): string =>
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

/** Hasty models answer after several numbers of steps. */
const nameTraining = ({ training, step }: Training): string =>
  training === 'hasty' ? `${valueTitle('training', training)}, ${step} steps` : training;

function drawTrainings({
  rows,
  conditions,
  curves,
}: {
  rows: TrainingTestResults['rows'];
  conditions: readonly TestedCondition[];
  curves: readonly (TrainingRow & { test: string })[];
}): Record<string, Chart> {
  const leads = (shown: Fields, what: string): Chart | null => {
    const judged = matching(conditions, shown);
    return judged.length > 0 ? conditionsChart(judged, `${what}, with 95 % intervals`) : null;
  };
  const bars = (fields: { metric: string } & Fields, what: string): Chart | null => {
    const shown = matching(rows, fields).map((row) => ({ ...row, training: nameTraining(row) }));
    if (shown.length === 0) return null;
    return intervalChart(shown, {
      title: `${metricInfo(fields.metric).title} ${what}, with 95 % intervals`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'training',
      xTitle: 'Training',
      color: 'method',
    });
  };
  const curve = (fields: Fields, title: string, panel?: string): Chart | null => {
    const shown = matching(curves, fields);
    if (shown.length === 0) return null;
    return lineChart(shown, {
      title,
      panel,
      subtitle: 'Band: range of initial models (small world)',
      x: 'step',
      color: 'method',
      points: fields.benchmark === 'dev',
    });
  };
  const perQuery = (): Chart | null => {
    const answers = { test: 'passages-200', metric: 'em', subset: 'all' };
    const shown = matching(rows, { ...answers, benchmark: ['all', 'many'] });
    if (shown.length === 0) return null;
    return intervalChart(shown, {
      title: 'Exact match by passages per query among near misses, with 95 % intervals (Figure 6)',
      subtitle: SMALL_WORLD_NOTE,
      x: 'k',
      xTitle: 'k (passages per query)',
      color: 'method',
      column: 'training',
      row: 'benchmark',
      height: 160,
      zoomed: true,
    });
  };
  const answers = 'ParallelSearch’s lead in exact match over Search-R1';
  const hybrid = { benchmark: 'all', subset: 'hybrid' };
  const many = { benchmark: 'many', subset: 'all' };
  const inTraining = { benchmark: 'training', metric: 'turns' };
  const charts = {
    hybrid_answers: bars(
      { test: 'paired', metric: 'em', ...hybrid },
      'on hybrid questions by training',
    ),
    habit_evidence_leads: leads(
      { test: 'habit', metric: 'evidence_seen' },
      'Lead in evidence over Search-R1 from hasty models',
    ),
    habit_leads: leads(
      { test: 'habit', metric: 'em' },
      'Lead in exact match over Search-R1 from hasty models',
    ),
    habit_evidence: curve(
      { test: 'habit', benchmark: 'dev', metric: 'evidence_seen' },
      'Evidence found by RL steps from models that search once, dev questions',
    ),
    habit_searches: curve(
      { ...inTraining, test: 'habit' },
      'Search turns by RL steps from models that search once, training rollouts',
      'subset',
    ),
    hybrid_leads: leads({ test: 'hybrids', metric: 'em' }, `${answers} by training`),
    hybrid_calls: bars(
      { test: 'hybrids', metric: 'model_calls', ...hybrid },
      'on hybrid questions by training',
    ),
    reward_leads: leads(
      { test: 'which-reward', metric: 'em' },
      'Lead in exact match over Search-R1 by reward',
    ),
    reward_evidence_leads: leads(
      { test: 'which-reward', metric: 'evidence_seen' },
      'Lead in evidence over Search-R1, or over both rewards',
    ),
    reward_answers: bars(
      { test: 'which-reward', metric: 'em', ...many },
      'on comparisons of two to eight by training',
    ),
    passages_answers: perQuery(),
    cut_leads: leads(
      { test: 'information-cut', metric: 'em' },
      `${answers} with half of the information`,
    ),
    reward_searches: curve(
      { ...inTraining, test: 'which-reward' },
      'Search turns by RL steps and reward from models that search once',
      'subset',
    ),
  };
  return Object.fromEntries(
    Object.entries(charts).flatMap(([name, chart]) => (chart ? [[name, chart]] : [])),
  );
}
