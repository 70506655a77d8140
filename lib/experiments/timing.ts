/**
 * Seconds a question (Tables 3 and 6): how long one waits who asks a single question.
 * Both methods answer the same questions in turn in one process, so that whatever else
 * the machine does falls on both.
 */
import { sum } from 'd3-array';
import type { Question } from '../data/question.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import type { Measure } from '../evaluation/metrics.js';
import type { QuestionResult } from '../evaluation/result.js';
import { summariseResults, type SummaryOptions, type TidyResults } from '../evaluation/table.js';
import { configHash } from '../io/hash.js';
import type { Provenance } from '../io/provenance.js';
import type { Policy } from '../policy/policy.js';
import type { Retriever } from '../retrieval/retriever.js';
import type { RolloutConfig } from '../rollout/options.js';
import { drawOf, evaluationHash, seedsOf, stratifiedSample } from './answers.js';
import { computation, type Experiment, type Job, type WorkContext } from './experiment.js';
import { paperFigure } from './paper.js';
import { type Done, provenanceOf, resultsOf } from './results.js';
import {
  INITIAL_MODELS,
  isTrained,
  loadPolicy,
  type PolicyRun,
  rolloutOf,
  SEEDS,
  WARM_UPS,
} from './runs.js';

/** An answer with the wall clock of its question, retrieval included. */
export type TimedAnswer = QuestionResult & { seconds: number };

export const SECONDS: Measure = {
  metric: 'seconds',
  of: (answer) => (answer as TimedAnswer).seconds,
  byRatio: true,
};

/**
 * The data sets of the paper's Tables 3 and 6 that the small world has, and the kinds of
 * question they tell apart.
 */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa'];

/** One of `oneOf` questions of these data sets. */
export function timedQuestions(questions: readonly Question[], oneOf: number): Question[] {
  const ofBenchmarks = questions.filter(({ metadata }) =>
    BENCHMARKS.includes(metadata.benchmark ?? ''),
  );
  return stratifiedSample(ofBenchmarks, { oneOf, seed: 'timing' });
}

/** Who answers, how its answers are called, and how it is asked. */
export interface Contestant {
  run: Pick<QuestionResult, 'method' | 'model' | 'warmUp' | 'seed'>;
  policy: Policy;
  rollout: RolloutConfig;
}

interface TimeAnswersOptions {
  /** Milliseconds; default the process's clock. */
  now?: () => number;
  /** @param done answers so far */
  onAnswer?: (done: number) => void;
}

/**
 * Every contestant answers every question, greedily and by itself. Who begins changes
 * from question to question; the first question is answered once more beforehand, so that
 * nobody pays for what is only done once.
 */
export async function timeAnswers(
  contestants: readonly Contestant[],
  retriever: Retriever,
  questions: readonly Question[],
  { now = () => performance.now(), onAnswer }: TimeAnswersOptions = {},
): Promise<TimedAnswer[]> {
  const answers: TimedAnswer[] = [];
  const answerWith = async (contestant: Contestant, question: Question): Promise<TimedAnswer> => {
    const { run, policy, rollout } = contestant;
    const { method, model, warmUp, seed } = run;
    const begin = now();
    const [measurement] = await evaluatePolicy(policy, retriever, [question], {
      rollout,
      batchSize: 1,
    });
    const seconds = Number(((now() - begin) / 1000).toFixed(6));
    return { method, model, warmUp, seed, ...measurement, seconds };
  };
  for (const contestant of contestants) await answerWith(contestant, questions[0]);
  for (const [i, question] of questions.entries()) {
    const first = i % contestants.length;
    const order = [...contestants.slice(first), ...contestants.slice(0, first)];
    for (const contestant of order) {
      answers.push(await answerWith(contestant, question));
      onAnswer?.(answers.length);
    }
  }
  return answers;
}

/** The time of one call of the model, and what says so. */
export interface GenerationTime {
  msPerCall: number;
  source: string;
}

/**
 * Milliseconds of a call of the trained model: the seconds of ParallelSearch's answers
 * over its model calls.
 */
export function generationTimeOf(answers: readonly TimedAnswer[], backend: string): GenerationTime {
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  return {
    msPerCall:
      (1000 * sum(ours, ({ seconds }) => seconds)) / sum(ours, ({ modelCalls }) => modelCalls),
    source: `${ours.length.toLocaleString('en')} answers of ParallelSearch, one question at a time, on ${backend}: seconds over model calls`,
  };
}

const METHODS = ['parallelsearch', 'search-r1'];
/** Of the questions. */
const ONE_OF = 15;
/** Seconds of a run's 84 answers, roughly. */
const ROUGH_SECONDS = 85;

/** Runs that are timed against each other, apart from all else. */
export type Contest = readonly PolicyRun[];

/** What a contest has found. */
interface Timed {
  answers: TimedAnswer[];
}

/** Both methods from each initial model, with the first seed. */
const contestsOf = (): Contest[] =>
  WARM_UPS.flatMap((warmUp) =>
    INITIAL_MODELS.map((model) =>
      METHODS.map((method) => ({ method, model, warmUp, seed: SEEDS[0] })),
    ),
  ).filter((runs) => runs.every((run) => isTrained(run)));

const timingJobs = (name: string, contests: readonly Contest[]): Promise<Job<Contest>[]> =>
  Promise.all(
    contests.map(async (runs) => {
      const [{ model, warmUp }] = runs;
      const hash = configHash({ oneOf: ONE_OF, runs: await Promise.all(runs.map(evaluationHash)) });
      const seconds = ROUGH_SECONDS * runs.length;
      return { key: `${name}/${model}-${warmUp}`, hash, input: runs, seconds };
    }),
  );

async function timeContest(runs: Contest, { world, onFraction }: WorkContext): Promise<Timed> {
  const questions = timedQuestions(world.questions, ONE_OF);
  const contestants = [];
  for (const run of runs)
    contestants.push({ run, policy: await loadPolicy(run), rollout: rolloutOf(run) });
  const answers = await timeAnswers(contestants, world.retriever, questions, {
    onAnswer: (done) => onFraction(done / (questions.length * runs.length)),
  });
  contestants.forEach(({ policy }) => policy.dispose());
  return { answers };
}

/**
 * An experiment that times runs against each other. Times belong to a machine: the
 * provenance names it.
 */
export const timingOf = (
  name: string,
  title: string,
  contests: () => readonly Contest[],
): Experiment => ({
  name,
  title,
  // Two processes would get into each other's way.
  computation: computation({
    jobs: () => timingJobs(name, contests()),
    work: timeContest,
    processes: 1,
  }),
});

/** What the reports on calls and on latency take their seconds from. */
export const timing = timingOf('timing', 'seconds a question, both methods in turn', contestsOf);

export interface Timing {
  answers: TimedAnswer[];
  provenance: Provenance;
}

/**
 * Answers with the seconds that each took, or null where they were not timed with these
 * weights and data.
 */
export async function loadTiming(folder?: string, experiment = timing): Promise<Timing | null> {
  const results = await resultsOf(experiment, folder);
  const done = results.flatMap((result) => result.done ?? []) as Done<Contest, Timed>[];
  if (done.length === 0 || done.length < results.length) return null;
  return {
    answers: done.flatMap(({ record }) => record.value.answers),
    provenance: provenanceOf(done, {
      ...seedsOf(done.flatMap(({ job }) => job.input)),
      ...(await drawOf()),
    }),
  };
}

/** Rows and contrasts of the seconds that a question takes. */
export const summariseTiming = (
  { answers }: Pick<Timing, 'answers'>,
  options: SummaryOptions = {},
): TidyResults =>
  summariseResults(answers, {
    measures: [SECONDS],
    pairs: [['parallelsearch', 'search-r1']],
    paper: paperFigure,
    // The two were timed side by side seed by seed, while the machine was as fast as it
    // then was: seeds are resampled together.
    weightsOf: () => 'timed together',
    ...options,
  });
