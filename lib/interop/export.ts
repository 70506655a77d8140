/**
 * Exports a training setup for any other trainer: questions as rows, rewards and rollout
 * settings, and the Python package, with tests that its rewards are identical.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { selectSplit, questionType, type Question, type QuestionType } from '../data/question.js';
import { hasNoCredentials, splitCredentials } from '../io/credentials.js';
import { jsonLine, readTextSync, writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import type { RewardConstants } from '../rewards/parallelsearch.js';
import {
  CONSTANT_PRESET_NAMES,
  createRewards,
  readsQuestionTypes,
  rewardConstants,
  type RewardPresetName,
} from '../rewards/presets.js';
import {
  scoreRollout,
  scoringInputFromSegments,
  scoringInputFromTranscript,
} from '../rewards/reward.js';
import { rolloutSchema, type RolloutConfig } from '../rollout/options.js';
import type { PromptForm } from '../text/prompts.js';
import type { TextSegment } from '../text/response.js';
import { INVALID_ACTION_NOTICE, INVALID_ACTION_NOTICE_FULL } from '../text/tags.js';
import { METHODS, resolveRollout, type Method } from '../training/methods.js';
import { writeRows } from './rows.js';

export interface RewardCase {
  /** Text, or segments that show which parts the policy wrote. */
  response: string | TextSegment[];
  goldenAnswers: string[];
  questionType: QuestionType | undefined;
}

export interface TrainingExport {
  questions: readonly Question[];
  /** One of {@link exportableMethods}. */
  method: string;
  model: string;
  retriever: string;
  promptForm: PromptForm;
  topK: number;
  /** Whether to record token ids, masks and log-probs for `audit`. Default: false. */
  recordTokens?: boolean;
  /** Cases to test the rewards: recorded responses, and the number of generated ones. */
  rewardTest: { recorded: readonly RewardCase[]; numDrawn: number };
}

type ExportedTraining = { algorithm: string; rewards: RewardPresetName };

/** Algorithm and rewards of a method, if the Python package has both; else null. */
function exportedTraining({ training }: Method): ExportedTraining | null {
  if (!training || !('trainer' in training)) return null;
  const { trainer: algorithm, rewards } = training;
  if (!CONSTANT_PRESET_NAMES.includes(rewards)) return null;
  return algorithm === 'grpo' || algorithm === 'ppo' ? { algorithm, rewards } : null;
}

/** Methods trained by GRPO or PPO with rewards of Eq. 3 to 7. */
export const exportableMethods = (): string[] =>
  METHODS.all().flatMap((method) => (exportedTraining(method) ? [method.name] : []));

/** @throws RangeError for a method whose algorithm or rewards Python lacks */
export function requireExportable(method: string): ExportedTraining {
  const training = exportedTraining(METHODS.get(method));
  if (training) return training;
  throw new RangeError(
    `Expected one of the methods ${exportableMethods().join(', ')}, but got ${method}.`,
  );
}

/** For models without a chat template: renders only the message. */
export const PLAIN_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}";

/** The paper's lengths (App. A.4), and the search turns of the authors' code. */
const PAPER = { maxSearchTurns: 4, maxNewTokens: 500, maxInformationTokens: 500 };
/** RAG-R1's `max_obs_length` is per query, and its prompt allows three. */
const QUERY_CUT_TOKENS = 3 * 1000;
const RETRIEVAL_SECONDS = 10;

/** The method's rollout; models of the small world use the short form. */
export const methodRollout = (method: string, promptForm: PromptForm): RolloutConfig =>
  promptForm === 'short'
    ? resolveRollout(method, 'small-world')
    : rolloutSchema.parse({ ...METHODS.get(method).rollout, promptForm });

/**
 * The method's rollout at the paper's lengths.
 * @throws Error for tool calls, which the exported rollouts do not read
 */
export function exportedRollout(
  training: Pick<TrainingExport, 'method' | 'topK' | 'promptForm'>,
): RolloutConfig {
  const { method, topK, promptForm } = training;
  if (promptForm === 'tools')
    throw new Error('Expected a prompt form other than tools: exported rollouts search with tags.');
  const rollout = methodRollout(method, promptForm);
  return {
    ...rollout,
    ...PAPER,
    ...(rollout.informationCut === 'query' && { maxInformationTokens: QUERY_CUT_TOKENS }),
    maxSearchTurns: Math.min(PAPER.maxSearchTurns, rollout.maxSearchTurns),
    topK,
  };
}

/** Rollout settings under their Python names. */
export const pythonOptions = (
  rollout: Omit<RolloutConfig, 'prompt' | 'topP' | 'retrievalTimeoutMs'>,
) => ({
  max_search_turns: rollout.maxSearchTurns,
  top_k: rollout.topK,
  split_queries: rollout.splitQueries,
  max_sub_queries: rollout.maxSubQueries,
  max_new_tokens: rollout.maxNewTokens,
  max_information_tokens: rollout.maxInformationTokens,
  ...(rollout.querySeparator && { query_separator: rollout.querySeparator }),
  ...(rollout.informationCut && { information_cut: rollout.informationCut }),
  ...(rollout.informationForm && { information_form: rollout.informationForm }),
  ...(rollout.maxPassageWords && { max_passage_words: rollout.maxPassageWords }),
  notice: rollout.promptForm === 'short' ? INVALID_ACTION_NOTICE : INVALID_ACTION_NOTICE_FULL,
});

/** Search and rollout settings for Python. */
export const pythonRollout = (training: TrainingExport) => ({
  retriever: training.retriever,
  timeout_seconds: RETRIEVAL_SECONDS,
  record_tokens: training.recordTokens ?? false,
  rollout: pythonOptions(exportedRollout(training)),
});

/**
 * Training questions, and validation questions: `test` or else `dev`.
 * @throws Error if there are none, or if the rewards need question types and none is
 * known
 */
function splitQuestions({
  questions,
  method,
}: TrainingExport): Record<'train' | 'val', Question[]> {
  const [train, test, dev] = ['train', 'test', 'dev'].map((split) => selectSplit(questions, split));
  const val = test.length > 0 ? test : dev;
  for (const [name, { length }] of Object.entries({ train, 'test or dev': val }))
    if (length === 0)
      throw new Error(
        `Expected questions of ${name}, but none of ${questions.length} are. Use another --data.`,
      );
  const { rewards } = requireExportable(method);
  if (readsQuestionTypes(rewards) && train.every((question) => !questionType(question)))
    throw new Error(
      'Expected questions with a type or a dependency graph, which the rewards need, but none has either. ' +
        'See docs/data.md, or use --method search-r1.',
    );
  return { train, val };
}

/**
 * Writes the Parquet files, the Python package and its tests; counts questions.
 * @throws Error for a retriever's address with a password
 */
export async function writeExport(
  folder: string,
  training: TrainingExport,
): Promise<{ train: number; val: number }> {
  const { retriever } = training;
  if (!hasNoCredentials(retriever))
    throw new Error(
      `Expected a retriever without a password, which the export would record, but got ${splitCredentials(retriever).shown} with one. Set RETRIEVAL_TOKEN to the server's key instead.`,
    );
  const rollout = exportedRollout(training);
  const { train, val } = splitQuestions(training);
  for (const [name, questions] of Object.entries({ train, val }))
    await writeRows(path.join(folder, 'data', `${name}.parquet`), questions, rollout);
  const constants = rewardConstants(requireExportable(training.method).rewards);
  await writePython(folder, formatRewardTest(constants, training.rewardTest));
  return { train: train.length, val: val.length };
}

/** Keyword arguments of Python's `compute_score`. */
export function rewardKeywords(
  constants: RewardConstants,
  { querySeparator }: Pick<RolloutConfig, 'querySeparator'> = {},
): Record<string, number | boolean | string> {
  return {
    lambda_d: constants.lambdaD,
    lambda_s: constants.lambdaS,
    lambda_f: constants.lambdaF,
    ...(constants.finalFormatScore && { final_format_score: constants.finalFormatScore }),
    alpha: constants.alpha,
    search_count_shifted: constants.searchCountShifted,
    decomposed_by: constants.decomposedBy,
    ...(querySeparator !== undefined && { query_separator: querySeparator }),
  };
}

const PYTHON = packagePath('data', 'templates', 'python');

/** Generated cases: `rewards`, and `rollouts` with their expected results. */
function readDrawn(name: 'rewards' | 'rollouts'): string {
  const file = path.join(PYTHON, 'cases', `${name}.jsonl.gz`);
  return readTextSync(file);
}

/** The arguments of Python's `compute_score`, and the expected result. */
function rewardTestLine({ response, ...truth }: RewardCase, constants: RewardConstants): object {
  const isText = typeof response === 'string';
  const input = isText
    ? scoringInputFromTranscript(response, truth)
    : scoringInputFromSegments(response, truth);
  const { total: score, ...parts } = scoreRollout(createRewards(constants), input).components;
  const argument = isText
    ? { solution_str: response }
    : { segments: response.map(({ kind, text }) => [kind, text]) };
  const ground_truth = { target: truth.goldenAnswers, shape: truth.questionType ?? null };
  return { ...argument, ground_truth, expected: { score, ...parts } };
}

/**
 * JSON lines: the weights, then recorded and generated cases with their rewards. JSON
 * prints doubles exactly, so that the test can require equality.
 */
export function formatRewardTest(
  constants: RewardConstants,
  { numDrawn, recorded = [] }: { numDrawn: number; recorded?: readonly RewardCase[] },
): string {
  const drawn = readDrawn('rewards').split('\n').slice(0, numDrawn);
  const cases = [...recorded, ...drawn.map((line) => JSON.parse(line) as RewardCase)];
  const lines = [
    { reward_kwargs: rewardKeywords(constants) },
    ...cases.map((one) => rewardTestLine(one, constants)),
  ];
  return lines.map(jsonLine).join('');
}

/** Writes the Python package and its tests; `rewardTest` has their cases as lines. */
export async function writePython(folder: string, rewardTest: string): Promise<void> {
  const filter = (file: string): boolean => !file.includes('__pycache__');
  const to = path.join(folder, 'parallelsearch');
  await cp(path.join(PYTHON, 'parallelsearch'), to, { recursive: true, filter });
  const testFile = (name: string): string => path.join(folder, 'tests', name);
  for (const name of ['test_rewards.py', 'test_rollout.py'])
    await cp(path.join(PYTHON, name), testFile(name));
  await writeFileSafely(testFile('rewards.jsonl'), rewardTest);
  await writeFileSafely(testFile('rollouts.jsonl'), readDrawn('rollouts'));
}
