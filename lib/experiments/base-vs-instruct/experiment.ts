/** The two initial models compared: where training from each ends (Table 2), and its course (Figure 5). */
import { MAIN_MEASURES, RESPONSE_TOKENS } from '../../evaluation/metrics.js';
import { summariseResults, type SummaryOptions } from '../../evaluation/table.js';
import { trainingRows } from '../../report/curves.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf, type Frame } from '../../report/frame.js';
import { count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results/experiment.js';
import { paperFigure, withPaper } from '../paper.js';
import { baseVsInstructClaims } from './claims.js';

export const baseVsInstruct: Experiment = {
  name: 'base-vs-instruct',
  title: 'the same training from either initial model',
  reads: [mainResults.name],
  claims: baseVsInstructClaims,
};

/** What Figure 5 shows, and what explains it. */
const DYNAMICS = ['reward', 'rewards/outcome', 'turns', 'completions/mean_length', 'decomposition_ratio'];
const SUBSETS = ['all', 'parallelizable', 'sequential'];

export interface BaseVsInstruct extends ReportResults {
  /** Training curves: a row for each metric, run and window of steps. */
  training: Frame;
  /** The same in ten windows. */
  tenths: Frame;
}

/**
 * Reads the main comparison's answers and compares its initial models, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadBaseVsInstruct(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<BaseVsInstruct> {
  const { answers, curves, provenance } = await loadAnswers(mainResults, folder);
  const figures = summariseResults(answers, {
    ...{
      measures: [...MAIN_MEASURES, RESPONSE_TOKENS],
      comparesModels: true,
      provenance,
      paper: paperFigure,
    },
    selects: ({ subset }) => SUBSETS.includes(subset),
    ...options,
  });
  const training = trainingRows(curves, DYNAMICS);
  const summary = `${count(answers.length)} answers from two initial models, and ${count(curves.length)} steps of training.`;
  return {
    ...resultsOf(summary, { ...figures, rows: [...figures.rows, ...training] }),
    ...{ rows: frameOf(figures.rows), contrasts: frameOf(withPaper(figures.contrasts)) },
    ...{ training: frameOf(training), tenths: frameOf(trainingRows(curves, DYNAMICS, 10)) },
  };
}
