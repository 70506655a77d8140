/**
 * The two initial models compared: where training from each ends (Table 2), and its
 * course (Figure 5).
 */
import { MAIN_MEASURES } from '../evaluation/metrics.js';
import type { SummaryOptions } from '../evaluation/table.js';
import { UNTRAINED } from '../methods/untrained.js';
import { trainingRows } from '../report/curves.js';
import { pointsText } from '../report/text.js';
import { count, loadAnswers } from './answers.js';
import type { Experiment } from './experiment.js';
import { mainResults } from './main-results.js';
import { paperMean, withPaper } from './paper.js';
import { reportOf, summarise, told } from './report.js';
import { INITIAL_MODELS } from '../methods/checkpoints.js';
import { type PaperClaim, partsAhead } from './verdicts.js';

const baseOverInstruct: PaperClaim = {
  id: 'base-over-instruct',
  claim: 'The base model ends above the instruct model',
  paper: '+3.3',
  tables: () => {
    const average = { method: 'parallelsearch', benchmark: 'average', subset: 'all', metric: 'em' };
    const [base, instruct] = INITIAL_MODELS.map((model) => paperMean({ ...average, model }));
    return `${pointsText(base - instruct)} points (printed averages of Table 2)`;
  },
  evidence: {
    cell: 'gap-table',
    rule: 'Base minus instruct of ParallelSearch, average of the benchmarks, above 0',
    parts: (numbers) => {
      const sides = { against: 'parallelsearch', model: 'base', against_model: 'instruct' };
      return partsAhead(numbers, 'average of seven benchmarks', {
        ...sides,
        benchmark: 'average',
        subset: 'all',
      });
    },
  },
};

export const baseVsInstruct: Experiment = {
  name: 'base-vs-instruct',
  title: 'the same training from either initial model',
  reads: [mainResults.name],
  claims: [baseOverInstruct],
};

/** What Figure 5 shows, and what explains it. */
const DYNAMICS = [
  'reward',
  'rewards/outcome',
  'turns',
  'completions/mean_length',
  'decomposition_ratio',
];
const SUBSETS = ['all', 'parallelizable', 'sequential'];
/** The two that are trained, and what there was before. */
const SHOWN = ['search-r1', 'parallelsearch', ...UNTRAINED.map(({ name }) => name)];

/**
 * Reads the main comparison's answers and compares its initial models, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadBaseVsInstruct(folder?: string, options: SummaryOptions = {}) {
  const read = await loadAnswers(mainResults, folder);
  const shown = { ...read, answers: read.answers.filter(({ method }) => SHOWN.includes(method)) };
  const selects: SummaryOptions['selects'] = ({ subset }) => SUBSETS.includes(subset);
  const own = { measures: MAIN_MEASURES, selects, pairs: [], comparesModels: true };
  const tidy = summarise(shown, own, options);
  const training = trainingRows(read.curves, DYNAMICS);
  const sides = {
    method: 'parallelsearch',
    model: 'base',
    against_model: 'instruct',
    kind: 'difference',
  };
  const gap = told(tidy.contrasts, { ...sides, benchmark: 'average', subset: 'all', metric: 'em' });
  const place = { above: 'above', below: 'below', undecided: 'undecidedly beside' }[gap.side];
  return reportOf({
    finding: `After ParallelSearch’s training the base model ends ${place} the instruct model in exact match: ${gap.text}, average of seven benchmarks.`,
    summary: `${count(shown.answers)} answers from two initial models, and ${count(read.curves)} steps of training.`,
    tidy,
    training,
    contrasts: withPaper(tidy.contrasts),
    // Training curves, a row for each metric, run and window of steps; and the same in
    // ten windows.
    frames: { training, tenths: trainingRows(read.curves, DYNAMICS, 10) },
  });
}
export type BaseVsInstruct = Awaited<ReturnType<typeof loadBaseVsInstruct>>;
