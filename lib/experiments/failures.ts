/**
 * Failures of answers, by the graphs of their questions: rates by method and over
 * training, and cases to read.
 */
import { greatest, mean } from 'd3-array';
import { type Question, graphQuestionType } from '../data/question.js';
import { measure } from '../evaluation/measure.js';
import { mainMeasure, type Measure } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { matching, where, type MethodPair, type SummaryOptions } from '../evaluation/table.js';
import { trainedBy } from '../training/methods.js';
import type { PolicyRun } from '../training/stored-policies.js';
import { intervalChart, SMALL_WORLD_NOTE } from '../report/chart.js';
import { trainingRows } from '../report/curves.js';
import { metricInfo } from '../report/titles.js';
import { loadWorld } from '../retrieval/small-world.js';
import { count, loadAnswers, type AnsweredRuns } from './answers.js';
import { baselines } from './baselines.js';
import type { Experiment, ResultParts } from './experiment.js';
import { lambdaAblation, onLines, runLambdas } from './lambda-ablation.js';
import { mainResults } from './main-results.js';
import { lambdaName } from './paper.js';
import { percent, resultParts, summarise } from './report.js';
import { readRecords } from './records.js';
import {
  loadTrajectories,
  policyTitle,
  trajectories,
  type TrajectoryLine,
} from './trajectories.js';

export interface Failure {
  metric: string;
  /** The question type with this failure; default all. */
  of?: Measurement['subset'];
  isSeen: (answer: Measurement) => boolean;
}

const { numerator: repeatedQueries } = mainMeasure('repeated_queries');
/** Fills fields that the measure of repeated queries ignores. */
const ANY_RUN = { method: '', model: 'base', seed: 1 } as const;

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
  { metric: 'failure_repeats', isSeen: (answer) => repeatedQueries({ ...ANY_RUN, ...answer }) > 0 },
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
  title: 'failures by method, with cases to read',
  reads: [mainResults.name, trajectories.name],
  result: countFailures,
};

const MEASURES = FAILURES.map(
  ({ metric, of, isSeen }): Measure => ({
    metric,
    numerator: (answer) => Number(isSeen(answer)),
    includes: ({ subset }) => of === undefined || subset === of,
  }),
);
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

/** A failed answer, and where the page of trajectories shows it. */
export interface FailureCase {
  failure: string;
  line: TrajectoryLine;
  address: string;
}

/** Where the page of trajectories shows a case with Search-R1's answer. */
function lineAddress({ question, method, run }: TrajectoryLine): string {
  const partner = policyTitle({ ...run, method: 'search-r1' });
  const search = new URLSearchParams({ search: `"${question}"`, method, partner });
  return `trajectories.html#${search.toString()}`;
}

/** ParallelSearch's first cases of each failure. @param lines answers to `questions` */
export function pickCases(
  lines: readonly TrajectoryLine[],
  questions: readonly Question[],
): FailureCase[] {
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
      .map(({ line }) => ({ failure: metric, line, address: lineAddress(line) })),
  );
}

/** The rates of failures, with intervals. */
export const failureRates = (
  read: Pick<AnsweredRuns, 'answers' | 'provenance'>,
  options: SummaryOptions = {},
) => {
  const filter = where({ benchmark: 'all', subset: 'all' });
  return summarise(read, { measures: MEASURES, pairs: PAIRS, filter }, options);
};

/** The rates of an experiment's runs; none where some are missing. */
async function optionalRates(
  experiment: Experiment,
  {
    folder,
    nameMethod,
    ...options
  }: SummaryOptions & { folder?: string; nameMethod?: (run: PolicyRun) => string },
) {
  const results = await readRecords(experiment, folder);
  if (results.length === 0 || results.some(({ done }) => done === null)) return [];
  const read = await loadAnswers(experiment, folder, nameMethod);
  return failureRates(read, { ...options, pairs: [] }).rows;
}

/** ParallelSearch's first cases of each failure. @param folder this machine's results */
export async function loadFailureCases(folder?: string): Promise<FailureCase[]> {
  const [{ lines }, { questions }] = [await loadTrajectories(folder), await loadWorld()];
  return pickCases(lines, questions);
}

async function countFailures(folder?: string, options: SummaryOptions = {}): Promise<ResultParts> {
  const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(({ method }) => trainedBy(method) !== null);
  const tidy = failureRates({ answers, provenance }, options);
  const ours = matching(tidy.rows, { method: 'parallelsearch' });
  const { metric } = greatest(ours, ({ value }) => value)!;
  const rate = mean(matching(ours, { metric }), ({ value }) => value)!;
  const byWeight = (run: PolicyRun): string => lambdaName(runLambdas(run));
  const compared = matching(tidy.rows, { method: ['search-r1', 'parallelsearch'] });
  return resultParts({
    finding: `ParallelSearch’s most frequent failure is “${metricInfo(metric).title.toLowerCase()}”: ${percent(rate)} of the answers that can fail so.`,
    card: { rates: 'instruct' },
    summary: `${count(answers)} answers.`,
    tidy,
    frames: {
      training: trainingRows(curves, DYNAMICS),
      // Every method of Table 2, from the initial models that all were trained from.
      others: await optionalRates(baselines, { folder, ...options }),
      lambdas: onLines(
        await optionalRates(lambdaAblation, { folder, nameMethod: byWeight, ...options }),
      ),
    },
    figures: {
      rates: intervalChart(compared, {
        title: 'Failure rates, with 95 % intervals',
        subtitle: SMALL_WORLD_NOTE,
        x: 'metric',
        xTitle: 'Failure',
        yTitle: 'Failed (share of possible cases)',
        color: 'method',
        column: 'model',
        height: 200,
        zoomed: true,
      }),
    },
  });
}
