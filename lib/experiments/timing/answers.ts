/** How long questions take that are answered one at a time, with several policies in turn. */
import { rolloutConfigOf } from '../../methods/index.js';
import type { Question } from '../../data/question.js';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import type { TimedAnswer } from './measures.js';
import type { Policy } from '../../policy/policy.js';
import type { Retriever } from '../../retrieval/retriever.js';
import { stratifiedSample } from '../question-sample.js';
import type { PolicyRun } from '../runs.js';

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
