/** How long questions take that are answered one at a time, with several policies in turn. */
import { sum } from 'd3-array';
import type { Question } from '../../data/question.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import type { Measure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { rolloutConfigOf } from '../../methods/index.js';
import type { Policy } from '../../policy/policy.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { stratifiedSample } from '../question-sample.js';
import type { PolicyRun } from '../runs.js';

/** An answer with the wall clock of its question, retrieval included. */
export type TimedAnswer = QuestionResult & { seconds: number };

export const SECONDS: Measure = {
  metric: 'seconds',
  of: (answer) => (answer as TimedAnswer).seconds,
  byRatio: true,
};

/** The data sets of the paper's Tables 3 and 6 that the mini-wiki has, and the kinds of question they tell apart. */
const BENCHMARKS = ['hotpotqa', '2wikimultihopqa'];

/** One of `oneOf` test questions of these data sets. */
export function timedQuestions(questions: readonly Question[], oneOf: number): Question[] {
  const ofBenchmarks = questions.filter(({ metadata }) => BENCHMARKS.includes(metadata.benchmark ?? ''));
  return stratifiedSample(ofBenchmarks, { oneOf, seed: 'timing' });
}

export interface Contestant {
  run: PolicyRun;
  policy: Policy;
}

interface TimeAnswersOptions {
  /** Milliseconds; default the process's clock. */
  now?: () => number;
  /** @param done answers so far */
  onAnswer?: (done: number) => void;
}

/**
 * Every contestant answers every question, greedily and by itself. Who begins changes from question to question; the first
 * question is answered once more beforehand, so that nobody pays for what is only done once.
 */
export async function timeAnswers(
  contestants: readonly Contestant[],
  retriever: Retriever,
  questions: readonly Question[],
  { now = () => performance.now(), onAnswer }: TimeAnswersOptions = {},
): Promise<TimedAnswer[]> {
  const answers: TimedAnswer[] = [];
  const answerWith = async ({ run, policy }: Contestant, question: Question): Promise<TimedAnswer> => {
    const { method, model, seed } = run;
    const options = { rollout: rolloutConfigOf(method), batchSize: 1 };
    const begin = now();
    const [measurement] = await evaluatePolicy(policy, retriever, [question], options);
    const seconds = Number(((now() - begin) / 1000).toFixed(6));
    return { method, model, seed, ...measurement, seconds };
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

/** Milliseconds of a call of the trained model: the seconds of ParallelSearch's answers over its model calls. */
export function generationTimeOf(answers: readonly TimedAnswer[], backend: string): GenerationTime {
  const ours = answers.filter(({ method }) => method === 'parallelsearch');
  return {
    msPerCall: (1000 * sum(ours, ({ seconds }) => seconds)) / sum(ours, ({ modelCalls }) => modelCalls),
    source: `${ours.length.toLocaleString('en')} answers of ParallelSearch, one question at a time, on ${backend}: seconds over model calls`,
  };
}
