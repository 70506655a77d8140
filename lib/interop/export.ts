/**
 * What a training elsewhere is given, whatever the trainer: questions as rows, the
 * rewards, and how a rollout goes.
 */
import path from 'node:path';
import { questionsOfSplit, type Question, questionType } from '../data/question.js';
import { METHODS, rolloutConfigOf, type Method } from '../methods/index.js';
import { REWARD_PRESETS, rewardOptions, type RewardPresetName } from '../rewards/presets.js';
import type { PromptForm } from '../text/prompts.js';
import { INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL } from '../text/tags.js';
import { printRewardTest, writePython } from './python.js';
import type { RewardCase } from './test-cases.js';
import { writeRows } from './rows.js';

/** A training to be handed over. */
export interface TrainingExport {
  questions: readonly Question[];
  /** One of {@link methodsElsewhere}. */
  method: string;
  /** A folder in Hugging Face format, or a name on the hub. */
  model: string;
  /** Address of a server with Search-R1's protocol. */
  retriever: string;
  promptForm: PromptForm;
  /** Passages per query. */
  topK: number;
  /** The test of the rewards: recorded responses, and how many are drawn beside them. */
  rewardTest: { recorded: readonly RewardCase[]; numDrawn: number };
}

/** The trainer and the rewards of a method, where Python has both; else null. */
function trainingElsewhere({
  training,
}: Method): { algorithm: string; rewards: RewardPresetName } | null {
  if (!training || !('trainer' in training) || REWARD_PRESETS[training.rewards].options.rewards)
    return null;
  const { trainer: algorithm, rewards } = training;
  return algorithm === 'grpo' || algorithm === 'ppo' ? { algorithm, rewards } : null;
}

/**
 * The methods that other trainers can be given: by GRPO or PPO, with the rewards of Eq. 3
 * to 7 or some of them.
 */
export const methodsElsewhere = (): string[] =>
  METHODS.all().flatMap((method) => (trainingElsewhere(method) ? [method.name] : []));

/**
 * How a method is trained elsewhere. @throws RangeError for one that Python has no
 * trainer or rewards for
 */
export function requireTraining(method: string): { algorithm: string; rewards: RewardPresetName } {
  const training = trainingElsewhere(METHODS.get(method));
  if (training) return training;
  throw new RangeError(
    `Expected one of the methods ${methodsElsewhere().join(', ')}, but got ${method}.`,
  );
}

/**
 * A chat template without anything around the message, for models that have none and
 * prompts that are no message.
 */
export const PLAIN_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}";

/**
 * The lengths of the paper (App. A.4), and the search turns of its authors' code, unless
 * a method has fewer.
 */
const PAPER = { maxSearchTurns: 4, maxNewTokens: 500, maxInformationTokens: 500 };
const RETRIEVAL_SECONDS = 10;

/** Where and how the rollout in Python searches, and Algorithm 1's limits. */
export function pythonRollout({ method, retriever, topK, promptForm }: TrainingExport) {
  const { splitQueries, maxSubQueries, maxSearchTurns } = rolloutConfigOf(method);
  return {
    retriever,
    timeout_seconds: RETRIEVAL_SECONDS,
    rollout: {
      max_search_turns: Math.min(PAPER.maxSearchTurns, maxSearchTurns),
      top_k: topK,
      split_queries: splitQueries,
      max_sub_queries: maxSubQueries,
      max_new_tokens: PAPER.maxNewTokens,
      max_information_tokens: PAPER.maxInformationTokens,
      notice: promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL,
    },
  };
}

/**
 * The questions to train on, and those to validate with: of test, or else of dev. @throws
 * Error where there are none, or none with a shape that the rewards need
 */
function splitsOf({ questions, method }: TrainingExport): { train: Question[]; val: Question[] } {
  const named = (split: string): Question[] => questionsOfSplit(questions, split);
  const [train, test, dev] = ['train', 'test', 'dev'].map(named);
  const val = test.length > 0 ? test : dev;
  for (const [name, some] of Object.entries({ train, 'test or dev': val }))
    if (some.length === 0)
      throw new Error(
        `Expected questions of ${name}, but there are none among ${questions.length}. Name another --data.`,
      );
  const { lambdaD, lambdaS } = rewardOptions(requireTraining(method).rewards);
  if (
    (lambdaD > 0 || lambdaS > 0) &&
    train.every((question) => questionType(question) === undefined)
  )
    throw new Error(
      'Expected questions with a type or a dependency graph, which tell the rewards what is parallelizable, but none has either. ' +
        'See docs/data.md, or choose --method search-r1.',
    );
  return { train, val };
}

/**
 * Writes what every trainer needs: `data/train.parquet` and `data/val.parquet`, the
 * package in Python, the test of its rewards.
 */
export async function writeExport(
  folder: string,
  handOver: TrainingExport,
): Promise<{ train: number; val: number }> {
  const { method, promptForm, rewardTest } = handOver;
  const { train, val } = splitsOf(handOver);
  const row = { prompt: rolloutConfigOf(method).prompt, promptForm };
  for (const [name, questions] of Object.entries({ train, val }))
    await writeRows(path.join(folder, 'data', `${name}.parquet`), questions, row);
  await writePython(
    folder,
    printRewardTest(rewardOptions(requireTraining(method).rewards), rewardTest),
  );
  return { train: train.length, val: val.length };
}
