/** Behaviour labels, failures first: rates by method and during training, and cases. */
import { greatest } from 'd3-array';
import type { Question } from '../data/question.js';
import {
  BEHAVIOUR_LABELS,
  behaviourMeasures,
  labelAnswer,
  labelTrajectory,
  type BehaviourLabel,
} from '../evaluation/behaviour.js';
import { measure, type QuestionResult } from '../evaluation/measurement.js';
import { matching, where, meanValue } from '../evaluation/figures.js';
import type { MethodPair } from '../evaluation/table.js';
import { intervalChart } from '../report/charts/chart.js';
import { trainingRows } from '../report/training-rows.js';
import { metricInfo } from '../report/titles.js';
import { loadWorld } from '../retrieval/small-world.js';
import { formatList, countText } from '../text/english.js';
import { BOTH_METHODS, trainedBy } from '../training/methods.js';
import { rolloutForRun, type PolicyRun } from './running/policy-runs.js';
import { baselines } from './baselines/experiment.js';
import type { Experiment } from './experiment.js';
import { lambdaAblation, onLines, runLambdas } from './lambda-ablation.js';
import { mainResults } from './main-results.js';
import { lambdaName } from './results/paper.js';
import { percent, summarise, type Answered } from './results/summary.js';
import { loadAnswers } from './running/load-answers.js';
import { findResults } from './running/records.js';
import {
  loadTrajectories,
  policyTitle,
  trajectories,
  type TrajectoryLine,
} from './trajectories.js';

/** The labels that are failures; others may come with a good answer. */
export const FAILURES = [
  'over_parallelized',
  'no_search',
  'half_decomposed',
  'wrong_aggregation',
  'repeated_query',
  'evidence_unused',
  'incomplete_evidence',
] as const satisfies readonly BehaviourLabel[];

/** Labels that answers do not tell; they are counted in the recorded trajectories. */
const OF_TRAJECTORIES = ['over_search'] as const;

const PAIRS: readonly MethodPair[] = [
  BOTH_METHODS,
  ['parallelsearch', 'search-r1-parallel-prompt'],
];
const DYNAMICS = [
  'decomposition_ratio/sequential',
  'turns',
  'coverage/parallelizable',
  'completions/clipped_ratio',
];
const MAX_CASES = 3;
/** Failures that are rarer in both methods are not drawn. */
const MIN_RATE = 0.01;

/** How ParallelSearch commits each failure, for sentences. */
const FAILURE_PHRASES: Readonly<Record<(typeof FAILURES)[number], string>> = {
  over_parallelized: 'decomposes what cannot be decomposed',
  no_search: 'answers without a search',
  half_decomposed: 'asks for only some of the parts',
  wrong_aggregation: 'finds every part and still answers wrongly',
  repeated_query: 'repeats a query',
  evidence_unused: 'sees all evidence and still answers wrongly',
  incomplete_evidence: 'answers before it has found all evidence',
};

/** An answer with a failure, and its address on the page of trajectories. */
export interface FailureCase {
  failure: BehaviourLabel;
  line: TrajectoryLine;
  address: string;
}

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
  const ours = lines.filter(({ run }) => run.method === 'parallelsearch');
  const labelled = labelLines(ours, questions);
  return FAILURES.flatMap((failure) =>
    labelled
      .filter(({ behaviour }) => behaviour[failure])
      .slice(0, MAX_CASES)
      .map(({ line }) => ({ failure, line, address: lineAddress(line) })),
  );
}

function labelLines(lines: readonly TrajectoryLine[], questions: readonly Question[]) {
  const byId = new Map(questions.map((question) => [question.id, question]));
  return lines.map((line) => {
    const question = byId.get(line.questionId)!;
    const { maxSearchTurns } = rolloutForRun(line.run);
    return { line, question, behaviour: labelTrajectory({ ...line, maxSearchTurns }, question) };
  });
}

function labelAnswers(
  answers: readonly QuestionResult[],
  questions: readonly Question[],
  labels?: readonly BehaviourLabel[],
) {
  const byId = new Map(questions.map((question) => [question.id, question]));
  return answers.map((answer) => ({
    ...answer,
    behaviour: labelAnswer(answer, byId.get(answer.questionId), labels),
  }));
}

/** The rates of labels, with intervals. @param answers with their labels */
export const behaviourRates = (
  read: Answered,
  {
    labels,
    pairs = PAIRS,
  }: { labels?: readonly BehaviourLabel[]; pairs?: readonly MethodPair[] } = {},
) => {
  const measures = behaviourMeasures(read.answers, labels);
  const filter = where({ benchmark: 'all', subset: 'all' });
  return summarise(read, { measures, pairs, filter });
};

interface RateOptions {
  folder?: string;
  questions: readonly Question[];
  nameMethod?: (run: PolicyRun) => string;
}

/** The rates of failures in an experiment's runs; empty if records are missing. */
async function optionalRates(
  experiment: Experiment,
  { folder, questions, nameMethod }: RateOptions,
) {
  if (!(await findResults(experiment, folder))) return [];
  const { provenance, ...read } = await loadAnswers(experiment, folder, nameMethod);
  const answers = labelAnswers(read.answers, questions, FAILURES);
  return behaviourRates({ answers, provenance }, { labels: FAILURES, pairs: [] }).rows;
}

/** Rates in the recorded trajectories, for one run of each method and model. */
async function trajectoryRates({ folder, questions }: RateOptions) {
  const { lines, provenance } = await loadTrajectories(folder);
  const answers = labelLines(lines, questions)
    .filter(({ line: { run } }) => trainedBy(run.method) !== null)
    .map(({ line, question, behaviour }): QuestionResult => {
      return { ...line.run, ...measure(question, line), behaviour };
    });
  return behaviourRates({ answers, provenance }, { labels: OF_TRAJECTORIES });
}

/** ParallelSearch's first cases of each failure. @param folder this machine's results */
export async function loadFailureCases(folder?: string): Promise<FailureCase[]> {
  const [{ lines }, { questions }] = [await loadTrajectories(folder), await loadWorld()];
  return pickCases(lines, questions);
}

export const failures: Experiment = {
  name: 'failures',
  title: 'failures by method, with cases to read',
  reads: [mainResults.name, trajectories.name],
  async result(folder) {
    const { questions } = await loadWorld();
    const read = { folder, questions };
    const { answers: all, curves, provenance } = await loadAnswers(mainResults, folder);
    const trained = all.filter(({ method }) => trainedBy(method) !== null);
    const answers = labelAnswers(trained, questions);
    const labels = [...new Set<BehaviourLabel>([...FAILURES, ...BEHAVIOUR_LABELS])];
    const ofAnswers = behaviourRates({ answers, provenance }, { labels });
    const ofTrajectories = await trajectoryRates(read);
    const rows = [...ofAnswers.rows, ...ofTrajectories.rows];
    const contrasts = [...ofAnswers.contrasts, ...ofTrajectories.contrasts];
    const isFailure = where({ metric: FAILURES });
    const tidy = { rows: rows.filter(isFailure), contrasts, provenance };
    const rate = (metric: string, method = 'parallelsearch'): number =>
      meanValue(tidy.rows, { metric, method });
    const most = greatest(FAILURES, (metric) => rate(metric))!;
    const byWeight = (run: PolicyRun): string => lambdaName(runLambdas(run));
    const compared = matching(tidy.rows, { method: BOTH_METHODS });
    const isCommon = (metric: string): boolean =>
      matching(compared, { metric }).some(({ value }) => value >= MIN_RATE);
    const common = FAILURES.filter(isCommon);
    const rare = FAILURES.filter((metric) => !isCommon(metric)).map((metric) =>
      metricInfo(metric).title.toLowerCase(),
    );
    return {
      ...tidy,
      finding: `On ${percent(rate(most))} of the questions ParallelSearch ${FAILURE_PHRASES[most]}, its most frequent failure; Search-R1 does so on ${percent(rate(most, 'search-r1'))}.`,
      card: { rates: 'instruct' },
      summary: `${countText(answers.length)} answers.`,
      frames: {
        behaviour: rows.filter((row) => !isFailure(row)),
        training: trainingRows(curves, DYNAMICS),
        // Every method of Table 2, from the initial models that they share.
        others: await optionalRates(baselines, read),
        lambdas: onLines(await optionalRates(lambdaAblation, { ...read, nameMethod: byWeight })),
      },
      figures: {
        rates: intervalChart(matching(compared, { metric: common }), {
          title: 'How often each failure happens, with 95 % intervals',
          subtitle: rare.length > 0 ? `Below 1 % with both methods: ${formatList(rare)}` : '',
          x: 'metric',
          xTitle: 'Failure',
          yTitle: 'Failed (share of questions)',
          color: 'method',
          column: 'model',
          zoomed: true,
          isHorizontal: true,
        }),
      },
    };
  },
};
