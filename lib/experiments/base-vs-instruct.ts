/** Both initial models: where training from each ends (Table 2), its course (Fig. 5). */
import { matching, where, findFigure } from '../evaluation/figures.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../report/charts/chart.js';
import { trainingRows } from '../report/training-rows.js';
import { gapWords, pointsText } from '../report/text.js';
import { countText } from '../text/english.js';
import { BOTH_METHODS, UNTRAINED } from '../training/methods.js';
import { INITIAL_MODELS } from '../training/models.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { partsAhead, type PaperClaim } from './results/claims.js';
import { paperMean, withPaper } from './results/paper.js';
import { summarise } from './results/summary.js';
import { loadAnswers } from './running/load-answers.js';

/** Selects the contrast base minus instruct. */
const SIDES = { model: 'base', against_model: 'instruct' };
const GAP = { ...SIDES, subset: 'all', metric: 'em', kind: 'difference' };

const baseOverInstruct: PaperClaim = {
  id: 'base-over-instruct',
  claim: 'The base model ends above the instruct model',
  paper: '+3.3',
  tables: () => {
    const average = { method: 'parallelsearch', benchmark: 'average', subset: 'all', metric: 'em' };
    const [base, instruct] = INITIAL_MODELS.map((model) => paperMean({ ...average, model }));
    return `${pointsText(base - instruct)} points (printed averages of Table 2)`;
  },
  cell: 'gap-table',
  rule: 'Base minus instruct of ParallelSearch, average of the benchmarks, above 0',
  parts: partsAhead([
    ['average of seven benchmarks', { ...GAP, against: 'parallelsearch', benchmark: 'average' }],
  ]),
};

/** The metrics of Figure 5, and metrics that explain them. */
const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'completions/mean_length',
  'decomposition_ratio',
];
/** The trained methods, and the untrained models for comparison. */
const SHOWN = ['search-r1', 'parallelsearch', ...UNTRAINED.map(({ name }) => name)];

export const baseVsInstruct: Experiment = {
  name: 'base-vs-instruct',
  title: 'training from the base and from the instruct model',
  reads: [mainResults.name],
  claims: [baseOverInstruct],
  async result(folder) {
    const { answers, curves, provenance } = await loadAnswers(mainResults, folder);
    const shown = matching(answers, { method: SHOWN });
    const filter = where({ subset: ['all', 'parallelizable', 'sequential'] });
    const settings = { filter, pairs: [], comparesModels: true };
    const tidy = summarise({ answers: shown, provenance }, settings);
    const contrasts = withPaper(tidy.contrasts);
    const training = trainingRows(curves, DYNAMICS);
    const gap = findFigure(tidy, { ...GAP, method: 'parallelsearch', benchmark: 'average' })!;
    const drawn = matching(contrasts, { ...GAP, method: BOTH_METHODS });
    return {
      ...tidy,
      contrasts,
      finding: `Trained from the base instead of the instruct model, ParallelSearch’s answers are ${gapWords(gap, 'neither better nor worse')}.`,
      summary: `${countText(shown.length)} answers from two initial models, and ${countText(curves.length)} steps of training.`,
      // A row for each metric, run and window of steps; `tenths` has ten windows.
      frames: { training, tenths: trainingRows(curves, DYNAMICS, 10) },
      figures: {
        gaps: intervalChart(
          drawn.filter(({ benchmark }) => benchmark !== 'all'),
          {
            title: 'Base minus instruct in exact match: here, and in the paper (hollow)',
            subtitle: SMALL_WORLD_NOTE,
            yTitle: 'Difference in exact match (share of questions)',
            x: 'benchmark',
            color: 'method',
          },
        ),
      },
    };
  },
};
