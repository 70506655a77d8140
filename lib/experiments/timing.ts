/**
 * Seconds per question (Tables 3 and 6), one question at a time. Both methods answer the
 * same questions alternately in one process, so that other load affects both.
 */
import { sum } from 'd3-array';
import { type Question, stratifiedSample } from '../data/question.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import type { Measure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/measurement.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../evaluation/table.js';
import { configHash } from '../io/provenance.js';
import type { Policy } from '../policy/policy.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { RolloutConfig } from '../rollout/options.js';
import { countText } from '../text/english.js';
import { BOTH_METHODS } from '../training/methods.js';
import { INITIAL_MODELS } from '../training/models.js';
import { isTrained, loadPolicy, rolloutForRun, type PolicyRun } from './running/policy-runs.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from './experiment.js';
import { paperFigure } from './results/paper.js';
import type { Answered } from './results/summary.js';
import { evaluationHash } from './running/answers.js';
import {
  requireResults,
  listSeeds,
  mergeProvenance,
  readQuestionProvenance,
  withInitSeeds,
  type Recorded,
} from './running/records.js';
import { INIT_SEEDS, listRuns } from './running/runs.js';

/** An answer with the wall clock of its question, including retrieval. */
export type TimedAnswer = QuestionResult & { seconds: number };

export const SECONDS: Measure = {
  metric: 'seconds',
  numerator: (answer) => (answer as TimedAnswer).seconds,
  byRatio: true,
};

/** The data sets of the paper's Tables 3 and 6 that the small world has. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa'];
const ONE_OF = 15;
/** For a run's 84 answers, for estimates only. */
const ROUGH_SECONDS = 85;

export interface Contestant {
  run: Pick<QuestionResult, 'method' | 'model' | 'initSeed' | 'seed'>;
  policy: Policy;
  rollout: RolloutConfig;
}

/**
 * Every contestant greedily answers every question, one at a time; the order rotates from
 * question to question. Each one first answers the first question as a warm-up. Disposes
 * of the policies.
 * @param options.now milliseconds. Default: the process's clock
 * @param options.onFraction receives the fraction of the answers that are timed
 */
export async function timeAnswers(
  contestants: readonly Contestant[],
  retriever: Retriever,
  questions: readonly Question[],
  options: { now?: () => number; onFraction?: (fraction: number) => void } = {},
): Promise<TimedAnswer[]> {
  const { now = () => performance.now(), onFraction } = options;
  const answers: TimedAnswer[] = [];
  const answer = async (contestant: Contestant, question: Question): Promise<TimedAnswer> => {
    const { run, policy, rollout } = contestant;
    const options = { rollout, batchSize: 1 };
    const start = now();
    const [measurement] = await evaluatePolicy(policy, retriever, [question], options);
    const seconds = Number(((now() - start) / 1000).toFixed(6));
    const { method, model, initSeed, seed } = run;
    return { method, model, initSeed, seed, ...measurement, seconds };
  };
  for (const contestant of contestants) await answer(contestant, questions[0]);
  for (const [i, question] of questions.entries()) {
    const first = i % contestants.length;
    for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      answers.push(await answer(contestant, question));
      onFraction?.(answers.length / (questions.length * contestants.length));
    }
  }
  contestants.forEach(({ policy }) => policy.dispose?.());
  return answers;
}

/** The time of a model call, and how it was measured. */
export interface GenerationTime {
  msPerCall: number;
  source: string;
}

/** The time of ParallelSearch's answers divided by its model calls, in milliseconds. */
export function generationTime(answers: readonly TimedAnswer[], backend: string): GenerationTime {
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  const calls = sum(ours, ({ modelCalls }) => modelCalls);
  return {
    msPerCall: (1000 * sum(ours, ({ seconds }) => seconds)) / calls,
    source: `${countText(ours.length)} answers of ParallelSearch, one question at a time, on ${backend}: seconds over model calls`,
  };
}

type Contest = readonly PolicyRun[];

/** One in 15 questions of HotpotQA and 2WikiMultiHopQA. */
export const timedQuestions = (questions: readonly Question[]): Question[] =>
  stratifiedSample(
    questions.filter(({ metadata }) => BENCHMARKS.includes(metadata.benchmark ?? '')),
    { oneOf: ONE_OF, seed: 'timing' },
  );

async function timeContest(
  runs: Contest,
  { world, onFraction }: WorkContext,
): Promise<Recorded<TimedAnswer>> {
  const contestants: Contestant[] = [];
  for (const run of runs)
    contestants.push({ run, policy: await loadPolicy(run), rollout: rolloutForRun(run) });
  const questions = timedQuestions(world.questions);
  return { answers: await timeAnswers(contestants, world.retriever, questions, { onFraction }) };
}

/** An experiment that times runs against each other, one process at a time. */
export const timingExperiment = (
  { name, title }: Pick<Experiment, 'name' | 'title'>,
  contests: () => readonly Contest[],
): Experiment => {
  const jobs = (): Promise<Job<Contest>[]> =>
    Promise.all(
      contests().map(async (runs) => {
        const [{ model, initSeed }] = runs;
        const policies = await Promise.all(runs.map(evaluationHash));
        const hash = configHash({ oneOf: ONE_OF, runs: policies });
        const seconds = ROUGH_SECONDS * runs.length;
        return { key: `${name}/${model}-${initSeed}`, hash, input: runs, seconds };
      }),
    );
  return { name, title, computation: defineComputation({ jobs, work: timeContest, processes: 1 }) };
};

/** Both methods from each initial model, with the first seed. */
export const timing = timingExperiment(
  { name: 'timing', title: 'seconds per question, methods alternating' },
  () =>
    INIT_SEEDS.flatMap((initSeed) =>
      INITIAL_MODELS.map((model) =>
        listRuns({ methods: BOTH_METHODS, models: [model], initSeeds: [initSeed] }),
      ),
    ).filter((runs) => runs.every((run) => isTrained(run))),
);

/** @throws Error with the command that times missing answers */
export async function loadTiming(
  folder?: string,
  experiment = timing,
): Promise<Answered<TimedAnswer>> {
  const done = await requireResults<Contest, Recorded<TimedAnswer>>(experiment, folder);
  const seeds = listSeeds(done.flatMap(({ job }) => job.input));
  return {
    answers: done.flatMap(({ record }) => withInitSeeds(record.value.answers)),
    provenance: mergeProvenance(done, { ...seeds, ...(await readQuestionProvenance()) }),
  };
}

/** Adds the seconds per question to a table; nothing without timed answers. */
export function addTiming(
  tidy: TidyResults,
  timed: Answered<TimedAnswer> | null | undefined,
  options: SummaryOptions,
): void {
  if (!timed) return;
  const { rows, contrasts } = summariseResults(timed.answers, {
    measures: [SECONDS],
    pairs: [BOTH_METHODS],
    paper: paperFigure,
    // The methods were timed together, seed by seed, so seeds are resampled together.
    weightsId: () => 'timed together',
    ...options,
  });
  tidy.rows.push(...rows);
  tidy.contrasts.push(...contrasts);
  tidy.provenance.timing = timed.provenance;
}
