/** `parallelsearch evaluate`: answers questions and measures the answers. */
import { basename, dirname, extname, join, parse, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { sum } from 'd3-array';
import { loadQuestions, type Question } from '../../data/flashrag.js';
import { selectSplit, evaluatedSplit, requireUniqueIds } from '../../data/question.js';
import type { Measurement } from '../../evaluation/measurement.js';
import { writeFileSafely } from '../../io/files.js';
import { withFileLocks } from '../../io/folder-lock.js';
import { compareHtml } from '../../pages/runs/comparison-page.js';
import type { TokenUsage } from '../../policy/chat-policy.js';
import { fewQuestionsWarning } from '../../report/compared-runs.js';
import type { TotalUsage } from '../../rollout/trajectory.js';
import { formatList } from '../../text/english.js';
import { METHODS, methodTitle } from '../../training/methods.js';
import { exitWith, interruptible, parseCount, parseWeight, log } from '../common/cli-utils.js';
import { limitOption, withPolicyOptions } from '../common/options.js';
import { inputFiles, requireDistinctFiles } from '../common/outputs.js';
import { sampleAndLog } from '../common/setup.js';
import { behaviourTable, meanRows, formatTable, type Column } from '../common/tables.js';
import {
  evaluateQuestions,
  MAX_NAMED,
  partialFiles,
  type EvaluatedQuestions,
  type EvaluateSettings,
} from './answering.js';
import {
  comparedRun,
  comparisonText,
  cost,
  MEASURED_COLUMNS,
  type Evaluation,
} from './comparison.js';

/** A question without a split belongs to all of these. */
const SPLITS = ['train', 'dev', 'test'];

/**
 * The questions of a split (default: test, else dev). Questions without a benchmark get
 * the data folder's name.
 * @throws Error naming the available splits
 */
export async function selectQuestions(
  settings: Pick<EvaluateSettings, 'data' | 'split' | 'limit'>,
): Promise<Question[]> {
  const { data, split, limit } = settings;
  const all = await loadQuestions(data);
  const wanted = split ?? evaluatedSplit(all);
  const splits = [...new Set(all.flatMap(({ split: name }) => name ?? SPLITS))];
  if (!splits.includes(wanted))
    throw new Error(
      `Expected questions of split ${wanted}, but the data has only ${formatList(splits)}. Choose one with --split.`,
    );
  const inSplit = selectSplit(all, wanted);
  const questions = limit === undefined ? inSplit : sampleAndLog(inSplit, limit);
  const benchmark = data === undefined ? undefined : basename(resolve(data));
  requireUniqueIds(questions);
  return questions.map((question) => ({
    ...question,
    metadata: { benchmark, ...question.metadata },
  }));
}

/** Answers, measures and prints a summary. The exit code is 130 after Ctrl-C. */
export async function runEvaluate(settings: EvaluateSettings): Promise<number> {
  const { methods, policy, price, page = 'compare.html' } = settings;
  if (price && policy === undefined)
    throw new Error('Expected --policy with --price: a local model costs nothing.');
  if (settings.page !== undefined && methods === undefined)
    throw new Error('Expected --methods with --page, the page that compares them.');
  const questions = await selectQuestions(settings);
  if (methods === undefined)
    return interruptible(async (signal) => {
      const { summary, journal } = await evaluate(questions, settings, signal);
      process.stdout.write(summary);
      await journal.close();
    });
  const ofMethods = methods.map((method) => methodSettings(settings, method));
  requireDistinctFiles(
    ofMethods
      .flatMap(({ out, trajectories }) => [out ?? [], trajectories ?? []].flat())
      .concat(page),
    [settings.config ?? [], settings.data ?? []].flat().flatMap(inputFiles),
  );
  const compareAll = async (signal: AbortSignal): Promise<void> => {
    const evaluated: Awaited<ReturnType<typeof evaluate>>[] = [];
    for (const each of ofMethods) {
      log(`${methodTitle(each.method!)}:`);
      evaluated.push(await evaluate(questions, each, signal));
    }
    const runs = evaluated.map((one) => comparedRun(one, settings.price));
    process.stdout.write(comparisonText(evaluated, runs, settings.price));
    const few = fewQuestionsWarning(questions.length);
    if (few) log(few);
    const data = settings.data && basename(resolve(settings.data));
    await writeFileSafely(page, await compareHtml(runs, { questions, data }));
    // Only now, so that resuming in a later method does not repeat the earlier ones.
    for (const { journal } of evaluated) await journal.close();
    log(`Compared with intervals and transcripts: ${page}`);
  };
  return interruptible((signal) =>
    withFileLocks(partialFiles(page), (lost) => compareAll(AbortSignal.any([signal, lost]))),
  );
}

/** Each method has its own files, such as `answers-search-r1.jsonl`. */
function methodSettings(settings: EvaluateSettings, method: string): EvaluateSettings {
  const forMethod = (file: string | undefined): string | undefined =>
    file && join(dirname(file), `${parse(file).name}-${method}${extname(file)}`);
  const { out, trajectories } = settings;
  return { ...settings, method, out: forMethod(out), trajectories: forMethod(trajectories) };
}

/** Answers all questions; the summary has their means and what failed. */
async function evaluate(
  questions: readonly Question[],
  settings: EvaluateSettings,
  signal: AbortSignal,
): Promise<Evaluation & Pick<EvaluatedQuestions, 'journal'>> {
  const answered = await evaluateQuestions(questions, settings, signal);
  const { run, rollout, answers, failures, numNew, seconds, journal } = answered;
  const affected = (ids: readonly string[]): string | false =>
    ids.length > 0 &&
    `searches for ${ids.length} questions, whose answers count all the same: ${formatList([...ids.slice(0, MAX_NAMED), ...(ids.length > MAX_NAMED ? ['others'] : [])])}`;
  const facts = {
    tokens: settings.policy && describeUsage(answers, settings.price),
    refused: failures.refused.length > 0 && `${failures.refused.length} answers, counted as wrong`,
    'timed out': affected(failures.timedOut),
    failed: affected(failures.failed),
    time: numNew > 0 && `${seconds.toFixed(1)} s, ${(seconds / numNew).toFixed(2)} s a question`,
  };
  const lines = Object.entries(facts).map(([name, fact]) => fact && `${name.padEnd(17)}${fact}\n`);
  const table = summaryTable(answers.map(({ result }) => result));
  const { prompt, promptForm, splitQueries, topK, maxSearchTurns } = rollout;
  return {
    name: methodTitle(run.method),
    settings: { ...run, prompt, promptForm, splitQueries, topK, maxSearchTurns },
    answers,
    summary: table + lines.filter(Boolean).join(''),
    journal,
  };
}

/** Tokens of all answers and their cost. @param price US dollars per million tokens */
export function describeUsage(
  answers: readonly { usage: TotalUsage; result: { modelCalls: number } }[],
  price?: TokenUsage,
): string {
  const [read, written] = (['read', 'written'] as const).map((kind) =>
    sum(answers, ({ usage }) => usage[kind]),
  );
  const calls = sum(answers, ({ result }) => result.modelCalls);
  if (read === 0) return `not counted by the server, in ${calls} calls`;
  const dollars = price ? cost({ read, written }, price) : 0;
  const shown = dollars < 1e-3 ? Number(dollars.toPrecision(3)) : dollars.toFixed(4);
  const paid = price ? `, $${shown}` : '';
  const uncounted = sum(answers, ({ usage }) => usage.uncounted ?? 0);
  const rest = uncounted > 0 ? `; ${uncounted} calls more were not counted by the server` : '';
  return `${read} read, ${written} written in ${calls - uncounted} calls${paid}${rest}`;
}

function parsePrice(text: string): TokenUsage {
  const [read, written, ...others] = text.split(',').map(parseWeight);
  if (written !== undefined && others.length === 0) return { read, written };
  throw new InvalidArgumentError(`Expected two prices, such as 0.5,1.5, but got ${text}.`);
}

function parseMethods(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !METHODS.has(name));
  if (unknown !== undefined) throw new InvalidArgumentError(METHODS.unknownNameMessage(unknown));
  if (new Set(names).size === names.length && names.length > 1) return names;
  throw new InvalidArgumentError(`Expected two or more different methods, but got ${text}.`);
}

const GRAPH_COLUMNS: readonly Column<Measurement>[] = [
  { title: 'sub-question recall', value: ({ coverage }) => coverage },
  { title: 'evidence recall', value: ({ evidenceSeen }) => evidenceSeen },
  { title: 'critical path', value: ({ criticalPathRatio }) => criticalPathRatio },
];

/** Means by benchmark, question type and of all, then the shares of behaviour labels. */
function summaryTable(results: readonly Measurement[]): string {
  const hasGraphs = results.some(({ coverage }) => Number.isFinite(coverage));
  const columns = hasGraphs ? [...MEASURED_COLUMNS, ...GRAPH_COLUMNS] : MEASURED_COLUMNS;
  const means = meanRows(results, columns, {
    keys: [({ benchmark }) => benchmark, ({ subset }) => subset],
    all: 'all',
  });
  const table = formatTable(['mean of', '', ...columns.map(({ title }) => title)], means);
  const graphs = hasGraphs
    ? ''
    : `Without dependency graphs there is no ${formatList(GRAPH_COLUMNS.map(({ title }) => title))}.\n`;
  const behaviour = behaviourTable(results.map((result) => ({ ...result, type: result.subset })));
  return `${table}\n${graphs}\n${behaviour}\n`;
}

export function evaluateCommand(): Command {
  const command = new Command('evaluate')
    .description('answer questions with a policy and measure the answers; resumes if interrupted')
    .option('--split <name>', 'train, dev or test (default: test, else dev)')
    .addOption(limitOption())
    .option(
      '--batch-size <n>',
      'questions answered at a time (default: 32 for a large model on the CPU, else 128)',
      parseCount,
    )
    .option(
      '--processes <n>',
      'processes that share the batches, with the same result for any number (default: 2 for a small model and more than 2 batches, unless on a GPU; else 1)',
      parseCount,
    )
    .option(
      '--price <read,written>',
      'US dollars per million tokens, to print the cost',
      parsePrice,
    )
    .option('--out <file>', 'write results (JSONL, one line per question)')
    .option('--trajectories <file>', 'write trajectories (JSONL)')
    .option(
      '--methods <names>',
      'answer with each method’s prompt and compare the others with the first, such as search-r1,parallelsearch',
      parseMethods,
    )
    .option('--page <file>', 'file for the comparison of --methods (default: compare.html)');
  return withPolicyOptions(command).action(exitWith(runEvaluate));
}
