/**
 * What goes wrong, found by the graphs of the questions: how often, by method and over
 * training, and cases to read.
 */
import { greatest } from 'd3-array';
import { type Question, questionShape } from '../data/question.js';
import { measure } from '../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { matching, type MethodPair, type SummaryOptions } from '../evaluation/table.js';
import { trainedBy } from '../methods/index.js';
import { trainingRows } from '../report/curves.js';
import { metricInfo } from '../report/metrics.js';
import { intervalText } from '../report/text.js';
import { listed } from '../text/listed.js';
import { type AnsweredRuns, count, loadAnswers } from './answers.js';
import { baselines } from './baselines.js';
import type { Experiment } from './experiment.js';
import {
  lambdaAblation,
  lambdaMethod,
  lambdasOf,
  lambdasOfMethod,
  onLines,
} from './lambda-ablation.js';
import { mainResults } from './main-results.js';
import { reportOf, summarise } from './report.js';
import { resultsOf } from './results.js';
import type { PolicyRun } from '../methods/checkpoints.js';
import {
  loadTrajectories,
  policyTitle,
  trajectories,
  type TrajectoryLine,
} from './trajectories.js';
import { loadWorld } from '../retrieval/world.js';

export interface Failure {
  /** Its name among metrics. */
  metric: string;
  /** Of which kind of question it can be; all by default. */
  of?: Measurement['subset'];
  /** Whether an answer to such a question failed so. */
  isSeen: (answer: Measurement) => boolean;
}

const isParallel = 'parallelizable';
const hasAll = (share: number): boolean => share === 1;
const { of: repeated } = mainMeasure('repeated_queries');

/** Who answered does not matter here. */
const NOBODY = { method: '', model: 'base', seed: 1 } as const;

/** The ways to fail; an answer can fail in several. */
export const FAILURES: readonly Failure[] = [
  { metric: 'failure_over_parallelized', of: 'sequential', isSeen: ({ decomposed }) => decomposed },
  { metric: 'failure_no_search', isSeen: ({ turns }) => turns === 0 },
  {
    metric: 'failure_half_decomposed',
    of: isParallel,
    isSeen: ({ decomposed, coverage }) => decomposed && !hasAll(coverage),
  },
  {
    metric: 'failure_aggregation',
    of: isParallel,
    isSeen: ({ em, decomposed, coverage, evidenceSeen }) =>
      em === 0 && decomposed && hasAll(coverage) && hasAll(evidenceSeen),
  },
  { metric: 'failure_repeats', isSeen: (answer) => repeated({ ...NOBODY, ...answer }) > 0 },
  {
    metric: 'failure_ignored_evidence',
    isSeen: ({ em, decomposed, subset, evidenceSeen }) =>
      em === 0 && hasAll(evidenceSeen) && !(decomposed && subset === isParallel),
  },
  {
    metric: 'failure_from_memory',
    isSeen: ({ answer, evidenceSeen }) => answer !== null && evidenceSeen < 1,
  },
];

/** A failure as a share of the answers that could fail so. */
const measureOf = ({ metric, of, isSeen }: Failure): Measure => ({
  metric,
  of: (answer) => Number(isSeen(answer)),
  among: ({ subset }) => of === undefined || subset === of,
});

export const failures: Experiment = {
  name: 'failures',
  title: 'what goes wrong, by method, with cases to read',
  reads: [mainResults.name, trajectories.name],
};

const PAIRS: readonly MethodPair[] = [
  ['parallelsearch', 'search-r1'],
  ['parallelsearch', 'search-r1-parallel-prompt'],
];
/** What training says of failures at every step. */
const DYNAMICS = [
  'decomposition_ratio/sequential',
  'turns',
  'coverage/parallelizable',
  'completions/clipped_ratio',
];
const MOST_CASES = 3;

/** A failed answer to read. */
export interface Case {
  failure: string;
  line: TrajectoryLine;
}

/**
 * The page of trajectories with a case, beside the answer of the method that it is
 * compared with.
 */
export function caseAddress(
  { line: { question, method, run } }: Case,
  against = 'search-r1',
): string {
  const search = `"${question}"`;
  const partner = policyTitle({ ...run, method: against });
  return `trajectories.html#${new URLSearchParams({ search, method, partner }).toString()}`;
}

/** The first cases of each failure by one method. @param lines answers to `questions` */
export function casesOf(
  lines: readonly TrajectoryLine[],
  questions: readonly Question[],
  method = 'parallelsearch',
): Case[] {
  const byId = new Map(questions.map((question) => [question.id, question]));
  const own = lines.filter(({ run }) => run.method === method);
  return FAILURES.flatMap(({ metric, of, isSeen }) =>
    own
      .filter((line) => {
        const question = byId.get(line.questionId)!;
        const isOfKind = of === undefined || questionShape(question.metadata.graph ?? []) === of;
        return isOfKind && isSeen(measure(question, line));
      })
      .slice(0, MOST_CASES)
      .map((line) => ({ failure: metric, line })),
  );
}

/** The rates of failures, with intervals. */
export const failureRates = (
  read: Pick<AnsweredRuns, 'answers' | 'provenance'>,
  options: SummaryOptions = {},
) =>
  summarise(
    read,
    {
      measures: FAILURES.map(measureOf),
      pairs: PAIRS,
      selects: ({ benchmark, subset }) => benchmark === 'all' && subset === 'all',
    },
    options,
  );

/** The rates of an experiment's runs; none where it has not been answered. */
async function ratesOf(
  experiment: Experiment,
  folder?: string,
  options?: SummaryOptions,
  methodOf?: (run: PolicyRun) => string,
) {
  const known = await resultsOf(experiment, folder);
  if (known.length === 0 || known.some(({ done }) => done === null)) return [];
  const read = await loadAnswers(experiment, folder, methodOf);
  return failureRates(read, { ...options, pairs: [] }).rows;
}

/** Rates over the weights of the two rewards, on the lines of Table 4. */
async function ratesByLambda(folder?: string, options?: SummaryOptions) {
  const rows = await ratesOf(lambdaAblation, folder, options, (run) =>
    lambdaMethod(lambdasOf(run)),
  );
  return onLines(
    rows.map((row) => {
      const { lambdaD, lambdaS } = lambdasOfMethod(row.method);
      return { ...row, lambda_d: lambdaD, lambda_s: lambdaS };
    }),
  );
}

/**
 * Reads the main comparison's answers and the trajectories to read, and the answers of
 * the baselines and of other weights of the rewards where they are there.
 * @param folder of this machine's results; what is not there is taken from the recorded
 * ones
 */
export async function loadFailures(folder?: string, options: SummaryOptions = {}) {
  const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => trainedBy(method) !== null);
  const [{ lines }, { questions }] = [await loadTrajectories(folder), await loadWorld()];
  const cases = casesOf(lines, questions);
  const tidy = failureRates({ answers, provenance }, options);
  const training = trainingRows(curves, DYNAMICS);
  const own = matching(tidy.rows, { method: 'parallelsearch' });
  const { metric } = greatest(own, ({ value }) => value)!;
  const { title, unit } = metricInfo(metric);
  const rates = matching(own, { metric }).map((row) => `${row.model} ${intervalText(row)}`);
  const report = reportOf({
    finding: `What goes wrong most often with ParallelSearch is “${title.toLowerCase()}”: ${listed(rates)} (${unit}).`,
    summary: `${count(answers)} answers, and ${count(cases)} cases to read out of ${count(lines)} trajectories.`,
    tidy,
    training,
    frames: {
      training,
      // Rates of every method of Table 2, over the initial models that all of them were
      // trained from.
      others: await ratesOf(baselines, folder, options),
      // Rates on the two lines of Table 4, with the `weight` that is varied on each
      // `line`.
      lambdas: await ratesByLambda(folder, options),
    },
  });
  return { ...report, casesOf: (failure: string) => matching(cases, { failure }) };
}
export type Failures = Awaited<ReturnType<typeof loadFailures>>;
