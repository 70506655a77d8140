import { readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { group, mean, sort, sum } from 'd3-array';
import { Command, InvalidArgumentError } from 'commander';
import { dataSetFiles, loadQuestions, type Question } from '../data/flashrag.js';
import { selectSplit, evaluatedSplit } from '../data/question.js';
import { answerQuestions, measure } from '../evaluation/evaluate.js';
import { meanMetrics } from '../evaluation/metrics.js';
import type { Measurement } from '../evaluation/result.js';
import { writeFileSafely } from '../io/files.js';
import { createBreather, startProgress } from '../io/progress.js';
import { openJournal } from '../io/records.js';
import { settingFiles } from '../policy/model-files.js';
import {
  printTrajectory,
  tokenUsage,
  type TokenUsage,
  type Trajectory,
} from '../rollout/trajectory.js';
import { listed } from '../text/listed.js';
import { interruptible, parseCount, parseWeight, log } from './cli-utils.js';
import { setUp, withPolicyOptions, type PolicySpec } from './setup.js';
import { configHash, contentHash } from '../io/provenance.js';

interface EvaluateSettings extends PolicySpec {
  split?: string;
  limit?: number;
  batchSize: number;
  out?: string;
  trajectories?: string;
  price?: TokenUsage;
}

/** What is kept of an answer until all are there. */
interface Answer {
  result: Measurement & { method: string; model: string; seed: number };
  usage: TokenUsage;
  /** Where they are asked for. */
  trajectory?: Trajectory;
}

/**
 * Questions of the wanted split, by default those of test, else of dev; those that name
 * no benchmark are of that which the folder is called.
 * @throws Error naming the splits that there are
 */
export async function askedQuestions({
  data,
  split,
  limit,
}: Pick<EvaluateSettings, 'data' | 'split' | 'limit'>): Promise<Question[]> {
  const questions = await loadQuestions(data);
  const wanted = split ?? evaluatedSplit(questions);
  const asked = selectSplit(questions, wanted).slice(0, limit);
  const benchmark = data === undefined ? undefined : basename(resolve(data));
  if (asked.length > 0)
    return asked.map((question) => ({
      ...question,
      metadata: { benchmark, ...question.metadata },
    }));
  const splits = listed([...new Set(questions.map(({ split: name }) => name!))]);
  throw new Error(
    `Expected questions of split ${wanted}, but there are none. Name another by --split: there is ${splits}.`,
  );
}

/** Names of the files of weights in a folder. */
const weightFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.safetensors'))
    .sort()
    .map((name) => join(folder, name));

/**
 * Answers questions with a policy; results go to `--out`, a summary to stdout. The exit
 * code is 130 after Ctrl-C.
 */
export async function runEvaluate(settings: EvaluateSettings): Promise<number> {
  const questions = await askedQuestions(settings);
  const { policy, run, rollout, search, retriever, folders } = await setUp(settings);
  const { passages, questions: files } = dataSetFiles(settings.data);
  const inputs = await contentHash([
    ...folders.flatMap((folder) => [...weightFiles(folder), ...settingFiles(folder)]),
    ...files,
    ...(passages ? [passages] : []),
  ]);
  const { batchSize, trajectories: trajectoryFile } = settings;
  const hash = configHash({
    run,
    rollout,
    search,
    inputs,
    split: settings.split,
    hasTrajectories: Boolean(trajectoryFile),
    policy: settings.policy,
  });
  const out = settings.out ?? join('runs', `evaluate-${hash}`);
  const work = async (signal: AbortSignal): Promise<void> => {
    const journal = await openJournal<Answer>(`${out}.partial`, hash);
    const answers = new Map(journal.items.map((answer) => [answer.result.questionId, answer]));
    const left = questions.filter(({ id }) => !answers.has(id));
    if (left.length < questions.length)
      log(`Going on after ${questions.length - left.length} answers.`);
    const progress = startProgress('Evaluating', questions.length, questions.length - left.length);
    const start = performance.now();
    const keep = (question: Question, trajectory: Trajectory): void => {
      const result = { ...run, ...measure(question, trajectory) };
      const usage = tokenUsage(trajectory);
      answers.set(question.id, { result, usage, ...(trajectoryFile ? { trajectory } : {}) });
    };
    const onBatch = async (_: number, batch: readonly Trajectory[]): Promise<void> => {
      for (const { questionId } of batch) await journal.append(answers.get(questionId)!);
      progress.update(answers.size);
    };
    const asked = { ...rollout, onToken: createBreather() };
    const options = { rollout: asked, batchSize, signal, keep, onBatch };
    await answerQuestions(policy, retriever, left, options)
      .catch((error: unknown) => {
        if (!signal.aborted)
          log(`${answers.size} answers are kept: the same command goes on after them.`);
        throw error;
      })
      .finally(() => progress.stop());
    const seconds = (performance.now() - start) / 1000;
    policy.dispose?.();
    const done = questions.map(({ id }) => answers.get(id)!);
    const results = done.map(({ result }) => result);
    if (settings.out)
      await writeFileSafely(
        settings.out,
        results.map((result) => `${JSON.stringify(result)}\n`).join(''),
      );
    if (trajectoryFile) {
      const lines = done.map(({ trajectory }) => printTrajectory({ ...run, ...trajectory! }));
      await writeFileSafely(trajectoryFile, lines.join(''));
    }
    await journal.close();
    process.stdout.write(summaryOf(results));
    if (settings.policy) process.stdout.write(usageLine(done, settings.price));
    if (left.length > 0)
      process.stdout.write(
        `time             ${seconds.toFixed(1)} s, ${(seconds / left.length).toFixed(2)} s a question\n`,
      );
  };
  return interruptible('Stopping.', work);
}

/**
 * Tokens of all answers, and what they cost. @param price US dollars for a million of
 * each
 */
function usageLine(answers: readonly Answer[], price?: TokenUsage): string {
  const [read, written] = (['read', 'written'] as const).map((kind) =>
    sum(answers, ({ usage }) => usage[kind]),
  );
  const calls = sum(answers, ({ result }) => result.modelCalls);
  const cost = price && (read * price.read + written * price.written) / 1e6;
  return `tokens           ${read} read, ${written} written in ${calls} calls${cost === undefined ? '' : `, $${cost.toFixed(4)}`}\n`;
}

/** Two prices out of `0.5,1.5`. */
function parsePrice(text: string): TokenUsage {
  const [read, written, ...others] = text.split(',').map(parseWeight);
  if (written !== undefined && others.length === 0) return { read, written };
  throw new InvalidArgumentError(`Expected two prices, such as 0.5,1.5, but got ${text}.`);
}

/**
 * Means of all and by subset, a line each; what needs a dependency graph says so where no
 * question has one.
 */
function summaryOf(results: readonly Measurement[]): string {
  const subsets = sort(
    group(results, ({ subset }) => subset),
    ([subset]) => subset,
  );
  return [['all', results] as const, ...subsets]
    .map(([name, some]) => {
      const metrics = Object.entries(meanMetrics(some)).map(
        ([metric, value]) =>
          `${metric} ${Number.isNaN(value) ? 'needs graphs' : value.toFixed(3)}  `,
      );
      const valid = mean(some, ({ formatOk }) => Number(formatOk))!.toFixed(3);
      return `${name.padEnd(16)} n ${String(some.length).padStart(5)}  ${metrics.join('')}valid ${valid}\n`;
    })
    .join('');
}

/** The `evaluate` command. */
export function evaluateCommand(): Command {
  const command = new Command('evaluate')
    .description(
      'answer questions with a policy and measure every answer; goes on where an earlier call stopped',
    )
    .option('--split <name>', 'train, dev or test; by default test where there is one')
    .option('--limit <n>', 'only the first n questions', parseCount)
    .option('--batch-size <n>', 'questions answered side by side', parseCount, 128)
    .option(
      '--price <read,written>',
      'US dollars for a million tokens of each, to say what it cost',
      parsePrice,
    )
    .option('--out <file>', 'one line a question (JSONL)')
    .option('--trajectories <file>', 'every trajectory (JSONL)');
  return withPolicyOptions(command).action(async (settings: EvaluateSettings) => {
    process.exitCode = await runEvaluate(settings);
  });
}
