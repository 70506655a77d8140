/**
 * Decomposition against the verified dependency graphs, whether or not the answer is
 * right.
 */
import { join } from 'node:path';
import { readQuestions } from '../../data/flashrag.js';
import type { Interval } from '../../evaluation/bootstrap.js';
import { MANY } from '../../evaluation/selections.js';
import { matching, type MethodPair, type SummaryOptions } from '../../evaluation/table.js';
import { SMALL_WORLD } from '../../io/paths.js';
import { trainingRows } from '../../report/curves.js';
import { figureText } from '../../report/text.js';
import { listed } from '../../text/listed.js';
import { count, loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results/experiment.js';
import { reportOf, summarise, told, type Predicted } from '../report.js';
import { INITIAL_MODELS } from '../runs.js';
import { OURS, partsWhere, type Numbers, type PaperClaim } from '../verdicts.js';
import { decompositionMeasures, parallelizingCurves } from './measures.js';

/**
 * F1 of a policy that decomposes every question: what there is to beat. Null where the
 * rows do not say how many there are.
 */
export function alwaysF1(rows: Numbers['rows']): number | null {
  const size = (subset: string, metric: string): unknown =>
    matching(rows, { benchmark: 'all', subset, metric })[0]?.n;
  const [all, parallel] = [size('all', 'parallelizing_f1'), size('parallelizable', 'coverage')];
  return typeof all === 'number' && typeof parallel === 'number'
    ? (2 * parallel) / (all + parallel)
    : null;
}

export const decompositionClaims: readonly PaperClaim[] = [
  {
    id: 'recognises',
    claim: 'Recognises which questions are parallelizable',
    paper: 'stated, no figure',
    tables: () => 'nothing: decomposition is counted on parallelizable questions only',
    evidence: {
      cell: 'parallelizing-table',
      rule: 'F1 against the dependency graphs from both models above that of decomposing every question',
      parts: ({ rows }) => {
        const always = alwaysF1(rows);
        if (always === null) return [];
        return INITIAL_MODELS.flatMap((model) => {
          const cell = { ...OURS, model, subset: 'all', metric: 'parallelizing_f1' };
          const of = `F1 (${model}; always: ${figureText(always)})`;
          return partsWhere(rows, cell, { of, unit: 'number', side: 'above', threshold: always });
        });
      },
    },
  },
];

export const decomposition: Experiment = {
  name: 'decomposition',
  title: 'what was asked, against the dependency graphs',
  reads: [mainResults.name],
  claims: decompositionClaims,
};

/** What is shown over training. */
const DYNAMICS = [
  'parallelizing_precision',
  'parallelizing_recall',
  'parallelizing_f1',
  'decomposition_ratio/parallelizable',
  'decomposition_ratio/sequential',
  'coverage/parallelizable',
];

/** Which questions are decomposed, and how much of them is asked. */
const PREDICTED: readonly Predicted[] = INITIAL_MODELS.flatMap((model): Predicted[] => {
  const ours = { method: 'parallelsearch', model, benchmark: 'all' };
  const holds = ({ value }: Interval): boolean => value >= 0.95;
  return [
    {
      prediction: `F1 of parallelizing is at least 0.95 on wordings never seen (${model})`,
      figure: { ...ours, subset: 'wording_unseen', metric: 'parallelizing_f1' },
      holds,
    },
    {
      prediction: `Asks for at least 95 % of the sub-questions of parallelizable questions (${model})`,
      figure: { ...ours, subset: 'parallelizable', metric: 'coverage' },
      holds,
    },
  ];
});

/** How well ParallelSearch tells parallelizable questions from others, in a sentence. */
function findingOf(rows: Numbers['rows']): string {
  const f1 = { ...OURS, subset: 'all', metric: 'parallelizing_f1' };
  const found = INITIAL_MODELS.map((model) => `${told(rows, { ...f1, model }).text} from ${model}`);
  return `ParallelSearch tells parallelizable questions from others with an F1 of ${listed(found)}; decomposing every question would give ${figureText(alwaysF1(rows))}.`;
}

/**
 * ParallelSearch beside what is sequential, what the prompt alone does, and what there
 * was before.
 */
const PAIRS = ['search-r1', 'search-r1-parallel-prompt', 'untrained:parallel'].map(
  (against): MethodPair => ['parallelsearch', against],
);
const SHOWN = new Set(PAIRS.flat());

/**
 * Wordings, numbers of entities and the like are of all questions and of comparisons of
 * many; single benchmarks are given by shape.
 */
const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
  ['all', MANY].includes(benchmark) ||
  (benchmark !== 'average' && ['all', 'parallelizable', 'sequential'].includes(subset));

/**
 * Reads the main comparison's answers and holds them against the graphs of their
 * questions, with intervals.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadDecomposition(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => SHOWN.has(method));
  const questions = await readQuestions(join(SMALL_WORLD, 'questions.jsonl'));
  const measures = decompositionMeasures(questions);
  const tidy = summarise({ answers, provenance }, { measures, selects, pairs: PAIRS }, options);
  const training = trainingRows(parallelizingCurves(curves), DYNAMICS);
  return reportOf({
    finding: findingOf(tidy.rows.map((row) => ({ ...row }))),
    summary: `${count(answers)} answers, each held against the dependency graph of its question.`,
    tidy,
    training,
    predicted: PREDICTED,
    // Training curves: a row for each metric, run and window of steps.
    frames: { training },
  });
}
export type Decomposition = Awaited<ReturnType<typeof loadDecomposition>>;
