/** Charts of the training conditions: leads, figures by training, and RL curves. */
import { matching, type Fields, type TidyRow } from '../../evaluation/table.js';
import { bandChart, intervalChart, SMALL_WORLD_NOTE } from '../../report/charts/chart.js';
import type { TrainingRow } from '../../report/charts/curves.js';
import { metricInfo, valueTitle } from '../../report/titles.js';
import type { Chart } from '../../report/charts/spec.js';
import { conditionsChart } from '../conditions/charts.js';
import type { ConditionRow } from '../conditions/predictions.js';
import type { Training } from './training-test.js';

/** Hasty models answer after several numbers of steps. */
const nameTraining = ({ training, step }: Training): string =>
  training === 'hasty' ? `${valueTitle('training', training)}, ${step} steps` : training;

/** The rows of the charts, each with its test. */
interface Charted {
  rows: readonly (TidyRow & Training & { test: string })[];
  conditions: readonly (ConditionRow & { test: string })[];
  curves: readonly (TrainingRow & { test: string })[];
}

export function drawTrainings({ rows, conditions, curves }: Charted): Record<string, Chart> {
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
    return bandChart(shown, {
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
