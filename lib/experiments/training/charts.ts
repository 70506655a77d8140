/** The charts of the experiment `training`. */
import { matching, type Fields } from '../../evaluation/figures.js';
import { intervalChart, lineChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import type { Chart } from '../../report/charts/spec.js';
import { metricInfo, valueTitle } from '../../report/titles.js';
import type { TrainingRow } from '../../report/training-rows.js';
import { conditionsChart, type ConditionRow } from '../results/judged-predictions.js';
import type { Training, TrainingTestResults } from './fresh-test-experiment.js';

export type TestedCondition = ConditionRow & { test: string };

interface Tables {
  rows: TrainingTestResults['rows'];
  conditions: readonly TestedCondition[];
  curves: readonly (TrainingRow & { test: string })[];
}

type Draw = (tables: Tables) => Chart;

const leads =
  (fields: Fields, what: string): Draw =>
  ({ conditions }) =>
    conditionsChart(matching(conditions, fields), `${what}, with 95 % intervals`);

/** Hasty models answer after several numbers of steps. */
const nameTraining = ({ training, step }: Training): string =>
  training === 'hasty' ? `${valueTitle('training', training)}, ${step} steps` : training;

const bars =
  (fields: { metric: string } & Fields, what: string): Draw =>
  ({ rows }) => {
    const shown = matching(rows, fields).map((row) => ({ ...row, training: nameTraining(row) }));
    return intervalChart(shown, {
      title: `${metricInfo(fields.metric).title} ${what}, with 95 % intervals`,
      subtitle: SMALL_WORLD_NOTE,
      x: 'training',
      xTitle: 'Training',
      color: 'method',
    });
  };

const curve =
  (fields: Fields, title: string, panel?: string): Draw =>
  ({ curves }) =>
    lineChart(matching(curves, fields), {
      title,
      panel,
      subtitle: 'Band: range of initial models (small world)',
      x: 'step',
      color: 'method',
      points: fields.benchmark === 'dev',
    });

const passagesPerQuery: Draw = ({ rows }) => {
  const answers = { test: 'passages-200', metric: 'em', subset: 'all' };
  const shown = matching(rows, { ...answers, benchmark: ['all', 'many'] });
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

const LEAD = 'ParallelSearch’s lead in exact match over Search-R1';
const HYBRID = { benchmark: 'all', subset: 'hybrid' };
const MANY_ENTITIES = { benchmark: 'many', subset: 'all' };
const TRAINING_TURNS = { benchmark: 'training', metric: 'turns' };

const CHARTS: Readonly<Record<string, Draw>> = {
  hybrid_answers: bars(
    { test: 'paired', metric: 'em', ...HYBRID },
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
    { ...TRAINING_TURNS, test: 'habit' },
    'Search turns by RL steps from models that search once, training rollouts',
    'subset',
  ),
  hybrid_leads: leads({ test: 'hybrids', metric: 'em' }, `${LEAD} by training`),
  hybrid_calls: bars(
    { test: 'hybrids', metric: 'model_calls', ...HYBRID },
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
    { test: 'which-reward', metric: 'em', ...MANY_ENTITIES },
    'on comparisons of two to eight by training',
  ),
  passages_answers: passagesPerQuery,
  cut_leads: leads(
    { test: 'information-cut', metric: 'em' },
    `${LEAD} with half of the information`,
  ),
  reward_searches: curve(
    { ...TRAINING_TURNS, test: 'which-reward' },
    'Search turns by RL steps and reward from models that search once',
    'subset',
  ),
};

export const drawTrainings = (tables: Tables): Record<string, Chart> =>
  Object.fromEntries(Object.entries(CHARTS).map(([name, draw]) => [name, draw(tables)]));
