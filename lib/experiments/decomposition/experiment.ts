/** Decomposition against the verified dependency graphs, whether or not the answer is right. */
import { join } from 'node:path';
import { readQuestions } from '../../data/flashrag.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import { summariseResults, type SummaryOptions, type TidyRow } from '../../evaluation/table.js';
import { readJson } from '../../io/files.js';
import { MINI_WIKI } from '../../io/paths.js';
import { trainingRows } from '../../report/curves.js';
import { resultsOf, type ReportResults } from '../../report/display.js';
import { frameOf, type Frame } from '../../report/frame.js';
import { createTokenizer } from '../../text/tokenizer.js';
import { count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results/experiment.js';
import { paperFigure } from '../paper.js';
import { predictionsFrom, type Prediction } from '../predictions.js';
import { INITIAL_MODELS, modelFolder } from '../runs.js';
import { decompositionClaims } from './claims.js';
import { decompositionMeasures, parallelizingCurves } from './measures.js';
import { countNames, nameGroupRows, nameMeasures, nameReader, omissionMeasures } from './names.js';

export const decomposition: Experiment = {
  name: 'decomposition',
  title: 'what was asked, against the dependency graphs',
  reads: [mainResults.name],
  claims: decompositionClaims,
};

/** What is shown over training. */
const DYNAMICS = [
  ...['parallelizing_precision', 'parallelizing_recall', 'parallelizing_f1'],
  ...['decomposition_ratio/parallelizable', 'decomposition_ratio/sequential', 'coverage/parallelizable'],
];

export interface Decomposition extends ReportResults {
  /** Training curves: a row for each metric, run and window of steps. */
  training: Frame;
  /** Groups of names, with the share of them that a search held whole, a row for each policy. */
  nameGroups: Frame;
  /** How often ParallelSearch left out each name of the parallelizable questions, the most often first. */
  names: Frame;
  predictions: Frame;
}

/**
 * Reads the main comparison's answers and holds them against the graphs of their questions, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded ones
 */
export async function loadDecomposition(
  folder?: string,
  options: Omit<SummaryOptions, 'provenance'> = {},
): Promise<Decomposition> {
  const { answers, curves, provenance } = await loadAnswers(mainResults, folder);
  const questions = await readQuestions(join(MINI_WIKI, 'questions.jsonl'));
  const tokenizer = createTokenizer((await readJson(join(modelFolder('base'), 'tokenizer.json'))) as object);
  const tokensOf = nameReader(questions, tokenizer);
  const figures = summariseResults(answers, {
    measures: [
      ...decompositionMeasures(questions),
      ...omissionMeasures(questions),
      ...nameMeasures(questions, tokensOf),
    ],
    ...{ provenance, paper: paperFigure, selects: ({ benchmark }) => benchmark !== 'average' },
    ...options,
  });
  const predictions = predictionsOf(figures.rows);
  figures.provenance.predictions = predictions;
  const training = trainingRows(parallelizingCurves(curves), DYNAMICS);
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  const summary = `${count(answers.length)} answers, each held against the dependency graph of its question.`;
  return {
    ...resultsOf(summary, { ...figures, rows: [...figures.rows, ...training] }),
    ...{ rows: frameOf(figures.rows), training: frameOf(training), predictions: frameOf(predictions) },
    nameGroups: frameOf(nameGroupRows(figures.rows)),
    names: frameOf(countNames(ours, questions, tokensOf)),
  };
}

/** Which questions are decomposed, and how much of them is asked. */
const predictionsOf = (rows: readonly TidyRow[]): Prediction[] =>
  INITIAL_MODELS.flatMap((model) => {
    const ours = { method: 'parallelsearch', model, benchmark: 'all' };
    const holds = ({ value }: Interval): boolean => value >= 0.95;
    return predictionsFrom(rows, [
      {
        prediction: `F1 of parallelizing is at least 0.95 (${model})`,
        ...{ figure: { ...ours, subset: 'all', metric: 'parallelizing_f1' }, holds },
      },
      {
        prediction: `Asks for at least 95 % of the sub-questions of parallelizable questions (${model})`,
        ...{ figure: { ...ours, subset: 'parallelizable', metric: 'coverage' }, holds },
      },
    ]);
  });
