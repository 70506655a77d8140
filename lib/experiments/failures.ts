/**
 * How answers fail, judged by the graphs of their questions: rates by method and over
 * training, and cases to read.
 */
import { greatest } from 'd3-array';
import { type Question, graphQuestionType } from '../data/question.js';
import { measure } from '../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { matching, type MethodPair, type SummaryOptions } from '../evaluation/table.js';
import { trainedBy } from '../methods/index.js';
import type { PolicyRun } from '../methods/checkpoints.js';
import { trainingRows } from '../report/curves.js';
import { metricInfo } from '../report/titles.js';
import { loadWorld } from '../retrieval/world.js';
import { count, loadAnswers, type AnsweredRuns } from './answers.js';
import { baselines } from './baselines.js';
import type { Experiment } from './experiment.js';
import { lambdaAblation, lambdaMethod, onLines, runLambdas } from './lambda-ablation.js';
import { mainResults } from './main-results.js';
import { percent, reportOf, summarise } from './report.js';
import { resultsOf } from './results.js';
import {
  loadTrajectories,
  policyTitle,
  trajectories,
  type TrajectoryLine,
} from './trajectories.js';

export interface Failure {
  metric: string;
  /** The question type that can fail so; default all. */
  of?: Measurement['subset'];
  isSeen: (answer: Measurement) => boolean;
}

const { of: repeatedQueries } = mainMeasure('repeated_queries');
/** The measure of repeats ignores whose answer it is. */
const ANYBODY = { method: '', model: 'base', seed: 1 } as const;

/** An answer can fail in several ways. */
export const FAILURES: readonly Failure[] = [
  { metric: 'failure_over_parallelized', of: 'sequential', isSeen: ({ decomposed }) => decomposed },
  { metric: 'failure_no_search', isSeen: ({ turns }) => turns === 0 },
  {
    metric: 'failure_half_decomposed',
    of: 'parallelizable',
    isSeen: ({ decomposed, coverage }) => decomposed && coverage !== 1,
  },
  {
    metric: 'failure_aggregation',
    of: 'parallelizable',
    isSeen: ({ em, decomposed, coverage, evidenceSeen }) =>
      em === 0 && decomposed && coverage === 1 && evidenceSeen === 1,
  },
  { metric: 'failure_repeats', isSeen: (answer) => repeatedQueries({ ...ANYBODY, ...answer }) > 0 },
  {
    metric: 'failure_ignored_evidence',
    isSeen: ({ em, decomposed, subset, evidenceSeen }) =>
      em === 0 && evidenceSeen === 1 && !(decomposed && subset === 'parallelizable'),
  },
  {
    metric: 'failure_from_memory',
    isSeen: ({ answer, evidenceSeen }) => answer !== null && evidenceSeen < 1,
  },
];

export const failures: Experiment = {
  name: 'failures',
  title: 'what goes wrong, by method, with cases to read',
  reads: [mainResults.name, trajectories.name],
};

const MEASURES = FAILURES.map(({ metric, of, isSeen }): Measure => ({
  metric,
  of: (answer) => Number(isSeen(answer)),
  among: ({ subset }) => of === undefined || subset === of,
}));
const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
];
const DYNAMICS = [
  'decomposition_ratio/sequential',
  'turns',
  'coverage/parallelizable',
  'completions/clipped_ratio',
];
const MAX_CASES = 3;

export interface Case {
  failure: string;
  line: TrajectoryLine;
}

/** Where the page of trajectories shows a case with Search-R1's answer. */
export function caseAddress({ line: { question, method, run } }: Case): string {
  const partner = policyTitle({ ...run, method: 'search-r1' });
  const search = new URLSearchParams({ search: `"${question}"`, method, partner });
  return `trajectories.html#${search.toString()}`;
}

/** ParallelSearch's first cases of each failure. @param lines answers to `questions` */
export function pickCases(
  lines: readonly TrajectoryLine[],
  questions: readonly Question[],
): Case[] {
  const byId = new Map(questions.map((question) => [question.id, question]));
  const ours = lines
    .filter(({ run }) => run.method === 'parallelsearch')
    .map((line) => ({ line, question: byId.get(line.questionId)! }));
  return FAILURES.flatMap(({ metric, of, isSeen }) =>
    ours
      .filter(
        ({ line, question }) =>
          (of === undefined || graphQuestionType(question.metadata.graph ?? []) === of) &&
          isSeen(measure(question, line)),
      )
      .slice(0, MAX_CASES)
      .map(({ line }) => ({ failure: metric, line })),
  );
}

/** The rates of failures, with intervals. */
export const failureRates = (
  read: Pick<AnsweredRuns, 'answers' | 'provenance'>,
  options: SummaryOptions = {},
) => {
  const selects: SummaryOptions['selects'] = ({ benchmark, subset }) =>
    benchmark === 'all' && subset === 'all';
  return summarise(read, { measures: MEASURES, pairs: PAIRS, selects }, options);
};

/** The rates of an experiment's runs; none where some are missing. */
async function optionalRates(
  experiment: Experiment,
  {
    folder,
    methodOf,
    ...options
  }: SummaryOptions & { folder?: string; methodOf?: (run: PolicyRun) => string },
) {
  const results = await resultsOf(experiment, folder);
  if (results.length === 0 || results.some(({ done }) => done === null)) return [];
  const read = await loadAnswers(experiment, folder, methodOf);
  return failureRates(read, { ...options, pairs: [] }).rows;
}

/** @param folder this machine's results; recorded results fill the gaps */
export async function loadFailures(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => trainedBy(method) !== null);
  const [{ lines }, { questions }] = [await loadTrajectories(folder), await loadWorld()];
  const cases = pickCases(lines, questions);
  const tidy = failureRates({ answers, provenance }, options);
  const training = trainingRows(curves, DYNAMICS);
  const ours = matching(tidy.rows, { method: 'parallelsearch' });
  const { metric } = greatest(ours, ({ value }) => value)!;
  const rates = matching(ours, { metric }).map(
    ({ model, value }) => `${percent(value)} (${model})`,
  );
  const byWeight = (run: PolicyRun): string => lambdaMethod(runLambdas(run));
  const report = reportOf({
    finding: `ParallelSearch’s most frequent failure is “${metricInfo(metric).title.toLowerCase()}”, in ${rates.join(' and ')} of the answers that can fail so.`,
    summary: `${count(answers)} answers, and ${count(cases)} cases to read out of ${count(lines)} trajectories.`,
    tidy,
    training,
    frames: {
      training,
      // Every method of Table 2, from the initial models that all were trained from.
      others: await optionalRates(baselines, { folder, ...options }),
      lambdas: onLines(
        await optionalRates(lambdaAblation, { folder, methodOf: byWeight, ...options }),
      ),
    },
  });
  return { ...report, casesOf: (failure: string) => matching(cases, { failure }) };
}
export type Failures = Awaited<ReturnType<typeof loadFailures>>;
