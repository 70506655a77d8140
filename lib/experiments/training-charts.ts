/** Charts of the conditions of training: leads, figures by training, and RL curves. */
import { matching, type Fields, type TidyRow } from '../evaluation/table.js';
import { bandChart, intervalChart, SMALL_WORLD_NOTE } from '../report/chart.js';
import type { TrainingRow } from '../report/curves.js';
import { metricInfo, valueTitle } from '../report/titles.js';
import type { Chart } from '../report/vega-lite.js';
import { conditionsChart, type ChartedCondition } from './conditions-charts.js';
import type { Training } from './training-test.js';

/** Hasty models answer after several numbers of steps. */
const nameTraining = ({ training, step }: Training): string =>
  training === 'hasty' ? `${valueTitle('training', training)}, ${step} steps` : training;

/** The rows of the charts, each with its test. */
interface Charted {
  rows: readonly (TidyRow & Training & { test: string })[];
  conditions: readonly (ChartedCondition & { test: string })[];
  curves: readonly (TrainingRow & { test: string })[];
}

export function drawTrainings({ rows, conditions, curves }: Charted): Record<string, Chart> {
  const leads = (name: string, shown: Fields, what: string): Record<string, Chart> => {
    const judged = matching(conditions, shown);
    const title = `${what}, with 95 % intervals`;
    return judged.length > 0 ? { [name]: conditionsChart(judged, title) } : {};
  };
  const bars = (name: string, fields: { metric: string } & Fields, what: string) => {
    const shown = matching(rows, fields).map((row) => ({ ...row, training: nameTraining(row) }));
    const chart = (): Chart =>
      intervalChart(shown, {
        title: `${metricInfo(fields.metric).title} ${what}, with 95 % intervals`,
        subtitle: SMALL_WORLD_NOTE,
        x: 'training',
        xTitle: 'Training',
        color: 'method',
      });
    return shown.length > 0 ? { [name]: chart() } : {};
  };
  const curve = (name: string, fields: Fields, spec: { title: string; panel?: string }) => {
    const shown = matching(curves, fields);
    const chart = (): Chart =>
      bandChart(shown, {
        ...spec,
        subtitle: 'Band: range of initial models (small world)',
        x: 'step',
        color: 'method',
        points: fields.benchmark === 'dev',
      });
    return shown.length > 0 ? { [name]: chart() } : {};
  };
  const perQuery = (): Record<string, Chart> => {
    const answers = { test: 'passages-200', metric: 'em', subset: 'all' };
    const shown = matching(rows, { ...answers, benchmark: ['all', 'many'] });
    const chart = (): Chart =>
      intervalChart(shown, {
        title:
          'Exact match by passages per query among near misses, with 95 % intervals (Figure 6)',
        subtitle: SMALL_WORLD_NOTE,
        x: 'k',
        xTitle: 'k (passages per query)',
        color: 'method',
        column: 'training',
        row: 'benchmark',
        height: 160,
        zoomed: true,
      });
    return shown.length > 0 ? { passages_answers: chart() } : {};
  };
  const answers = 'ParallelSearch’s lead in exact match over Search-R1';
  const hybrid = { benchmark: 'all', subset: 'hybrid' };
  const many = { benchmark: 'many', subset: 'all' };
  const inTraining = { benchmark: 'training', metric: 'turns' };
  return {
    ...bars(
      'hybrid_answers',
      { test: 'paired', metric: 'em', ...hybrid },
      'on hybrid questions by training',
    ),
    ...leads(
      'habit_evidence_leads',
      { test: 'habit', metric: 'evidence_seen' },
      'Lead in evidence over Search-R1 from hasty models',
    ),
    ...leads(
      'habit_leads',
      { test: 'habit', metric: 'em' },
      'Lead in exact match over Search-R1 from hasty models',
    ),
    ...curve(
      'habit_evidence',
      { test: 'habit', benchmark: 'dev', metric: 'evidence_seen' },
      { title: 'Evidence found by RL steps from models that search once, dev questions' },
    ),
    ...curve(
      'habit_searches',
      { ...inTraining, test: 'habit' },
      {
        title: 'Search turns by RL steps from models that search once, training rollouts',
        panel: 'subset',
      },
    ),
    ...leads('hybrid_leads', { test: 'hybrids', metric: 'em' }, `${answers} by training`),
    ...bars(
      'hybrid_calls',
      { test: 'hybrids', metric: 'model_calls', ...hybrid },
      'on hybrid questions by training',
    ),
    ...leads(
      'reward_leads',
      { test: 'which-reward', metric: 'em' },
      'Lead in exact match over Search-R1 by reward',
    ),
    ...leads(
      'reward_evidence_leads',
      { test: 'which-reward', metric: 'evidence_seen' },
      'Lead in evidence over Search-R1, or over both rewards',
    ),
    ...bars(
      'reward_answers',
      { test: 'which-reward', metric: 'em', ...many },
      'on comparisons of two to eight by training',
    ),
    ...perQuery(),
    ...curve(
      'reward_searches',
      { ...inTraining, test: 'which-reward' },
      {
        title: 'Search turns by RL steps and reward from models that search once',
        panel: 'subset',
      },
    ),
  };
}
