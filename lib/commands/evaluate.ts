import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, extname, join, parse, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { sum } from 'd3-array';
import { dataSetFiles, loadQuestions, type Question } from '../data/flashrag.js';
import { selectSplit, evaluatedSplit, requireUniqueIds } from '../data/question.js';
import { labelTrajectory } from '../evaluation/behaviour.js';
import { answerQuestions } from '../evaluation/evaluate.js';
import { measure, type Measurement } from '../evaluation/result.js';
import { writeFileSafely, writeLines } from '../io/files.js';
import { withFileLock } from '../io/folder-lock.js';
import { shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { configHash, contentHash } from '../io/provenance.js';
import { openJournal, type Journal } from '../io/records.js';
import { compareHtml } from '../pages/compare/page.js';
import type { TokenUsage } from '../policy/chat-policy.js';
import { listFolders, readModelConfig, settingFiles } from '../policy/folders/folder-settings.js';
import { isLarge } from '../policy/model/families.js';
import { encoderFiles } from '../retrieval/retrievers.js';
import {
  formatTrajectory,
  tokenUsage,
  type TotalUsage,
  type Trajectory,
} from '../rollout/trajectory.js';
import { isCpuBackend } from '../tensor/backend-names.js';
import { formatList } from '../text/english.js';
import { METHODS, methodTitle } from '../training/methods.js';
import { exitWith, interruptible, parseCount, parseWeight, log } from './common/cli-utils.js';
import { limitOption, withPolicyOptions, type PolicySpec } from './common/options.js';
import { inputFiles, requireDistinctFiles } from './common/outputs.js';
import { sampleAndLog, setUp, type Setup } from './common/setup.js';
import { behaviourTable, meanRows, formatTable, type Column } from './common/tables.js';
import {
  comparedRun,
  comparisonText,
  cost,
  MEASURED_COLUMNS,
  type Answer,
  type Evaluation,
} from './evaluate-comparison.js';
import { withHelpers } from './evaluate-workers.js';

interface EvaluateSettings extends PolicySpec {
  split?: string;
  limit?: number;
  /** Default: {@link defaultBatchSize}. */
  batchSize?: number;
  out?: string;
  trajectories?: string;
  price?: TokenUsage;
  /** Methods to compare; replaces `method`. */
  methods?: string[];
  /** Where the comparison of several methods is written. Default: compare.html. */
  page?: string;
}

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

const weightFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.safetensors'))
    .sort()
    .map((name) => join(folder, name));

/**
 * Hashes everything that answers depend on, except a server's address, since the same
 * model may be served elsewhere. A journal with another hash is not resumed.
 */
async function evaluationHash(
  { run, rollout, search, folders }: Setup,
  { data, split, trajectories, policy }: EvaluateSettings,
): Promise<string> {
  const { passages, questions } = dataSetFiles(data);
  const { encoder } = search.options;
  const inputs = await contentHash([
    ...(folders ? listFolders(folders) : []).flatMap((folder) => [
      ...weightFiles(folder),
      ...settingFiles(folder),
    ]),
    ...questions,
    ...(passages ? [passages] : []),
    ...(encoder === undefined ? [] : encoderFiles(encoder)),
  ]);
  const hasTrajectories = Boolean(trajectories);
  const served = policy?.replace(/https?:.*/, '');
  return configHash({ run, rollout, search, inputs, split, hasTrajectories, policy: served });
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
    ofMethods.flatMap(({ out, trajectories }) => [out ?? [], trajectories ?? []].flat()),
    [settings.config ?? [], settings.data ?? []].flat().flatMap(inputFiles),
  );
  return interruptible(async (signal) => {
    const evaluated: Journaled[] = [];
    for (const each of ofMethods) {
      log(`${methodTitle(each.method!)}:`);
      evaluated.push(await evaluate(questions, each, signal));
    }
    const runs = evaluated.map((one) => comparedRun(one, settings.price));
    process.stdout.write(comparisonText(evaluated, runs, settings.price));
    const data = settings.data && basename(resolve(settings.data));
    await writeFileSafely(page, await compareHtml(runs, { questions, data }));
    // Only now, so that resuming in a later method does not repeat the earlier ones.
    for (const { journal } of evaluated) await journal.close();
    log(`Compared with intervals and transcripts: ${page}`);
  });
}

/** Each method has its own files, such as `answers-search-r1.jsonl`. */
function methodSettings(settings: EvaluateSettings, method: string): EvaluateSettings {
  const forMethod = (file: string | undefined): string | undefined =>
    file && join(dirname(file), `${parse(file).name}-${method}${extname(file)}`);
  const { out, trajectories } = settings;
  return { ...settings, method, out: forMethod(out), trajectories: forMethod(trajectories) };
}

/** Where unfinished answers are stored: next to the results if they go to a file. */
function journalFile(out: string | undefined, hash: string): string {
  const old = out && statSync(out, { throwIfNoEntry: false });
  const isFile = out && (!old || old.isFile());
  if (isFile && old && !existsSync(`${out}.partial`))
    log(`${shortPath(out)} exists. It is replaced when all questions are answered.`);
  return `${isFile ? out : join('runs', `evaluate-${hash}`)}.partial`;
}

type Journaled = Evaluation & { journal: Journal<Answer> };

/** The caller closes the journal when it no longer needs the answers. */
async function evaluate(
  questions: readonly Question[],
  settings: EvaluateSettings,
  signal: AbortSignal,
): Promise<Journaled> {
  const setup = await setUp(settings, signal);
  const hash = await evaluationHash(setup, settings);
  const file = journalFile(settings.out, hash);
  return withFileLock(file, async (lost) => {
    const journal = await openJournal<Answer>(file, hash, { dropsOthers: false });
    const ids = new Set(questions.map(({ id }) => id));
    const items = journal.items.filter(({ result }) => ids.has(result.questionId));
    const numOthers = journal.items.length - items.length;
    // Answers to more questions, such as with a larger --limit, may have been paid for.
    const close = async (): Promise<void> =>
      numOthers === 0
        ? journal.close()
        : log(`${numOthers} answers to other questions are kept in ${shortPath(file)}.`);
    const kept: Journal<Answer> = { ...journal, items, close };
    const task = { setup, journal: kept, signal: AbortSignal.any([signal, lost]) };
    return { ...(await answerAll(questions, settings, task)), journal: kept };
  });
}

const readIsLarge = async ({ folders }: Setup): Promise<boolean> =>
  folders !== undefined && isLarge(await readModelConfig(folders.model));

/**
 * The number of questions to answer at a time. Only whole batches are saved and counted,
 * and a large model on the CPU needs a few minutes for 32 questions.
 */
export const defaultBatchSize = async (setup: Setup): Promise<number> =>
  setup.backend && isCpuBackend(setup.backend) && (await readIsLarge(setup)) ? 32 : 128;

/**
 * The number of processes to answer besides this one. Default: one for a small model on
 * the CPU, of which it uses one core only, and more than two batches, because it must
 * load the model and index a small corpus again.
 * @throws RangeError if several are requested for a policy on a GPU or a server
 */
async function countHelpers(
  setup: Setup,
  { processes, batchSize }: { processes?: number; batchSize: number },
  numQuestions: number,
): Promise<number> {
  const { folders, backend } = setup;
  if (!folders || !backend || !isCpuBackend(backend)) {
    if (processes === undefined || processes === 1) return 0;
    throw new RangeError(
      `Expected one process ${folders ? 'on a GPU' : 'for a remote policy'}, which a second would not make faster. Use --processes 1.`,
    );
  }
  if (processes !== undefined) return processes - 1;
  const isSplit = numQuestions > 2 * batchSize && !(await readIsLarge(setup));
  return isSplit && availableParallelism() > 1 ? 1 : 0;
}

/** Maximum number of questions named per kind of failure. */
const MAX_NAMED = 20;
/** Rejected answers in a row that stop an evaluation: the server is broken. */
const MAX_REJECTED_IN_A_ROW = 20;

/** Ids of questions whose answer was refused or whose searches failed. */
type Failures = Record<'refused' | 'timedOut' | 'failed', string[]>;

const failedIds = (failures: Failures): Set<string> => new Set(Object.values(failures).flat());

/** Notes what failed in an answer, and logs the first failures of each kind. */
function noteFailures(failures: Failures, trajectory: Trajectory): void {
  const { questionId: id, refusal } = trajectory;
  const note = (kind: keyof Failures, text: string): void => {
    if (failures[kind].push(id) <= MAX_NAMED) log(text);
  };
  const searches = trajectory.searchTurns.flatMap(({ results }) => results);
  const failed = searches.filter((search) => search.status === 'failed');
  const fault = failed.find(({ isTimeout }) => !isTimeout);
  if (refusal !== undefined) note('refused', `Rejected the answer to question ${id}: ${refusal}`);
  if (failed.some(({ isTimeout }) => isTimeout))
    note('timedOut', `A search for question ${id} timed out.`);
  if (fault) note('failed', `A search for question ${id} failed: ${fault.detail}`);
}

interface Task {
  setup: Setup;
  journal: Journal<Answer>;
  signal: AbortSignal;
}

/** Answers the questions that are not in the journal yet. @returns all answers */
async function answerOpen(
  questions: readonly Question[],
  settings: EvaluateSettings,
  { setup, journal, signal }: Task,
) {
  const { policy, run, rollout, retriever } = setup;
  const { processes, trajectories, methods } = settings;
  const batchSize = settings.batchSize ?? (await defaultBatchSize(setup));
  const keepsTrajectory = trajectories !== undefined || methods !== undefined;
  const answers = new Map(journal.items.map((answer) => [answer.result.questionId, answer]));
  const open = questions.filter(({ id }) => !answers.has(id));
  const numDone = questions.length - open.length;
  if (numDone > 0) log(`Resuming: ${numDone} answers already done.`);
  const failures: Failures = { refused: [], timedOut: [], failed: [] };
  const maxRejected = Math.min(MAX_REJECTED_IN_A_ROW, questions.length);
  let numRejected = 0;
  const numHelpers = await countHelpers(setup, { processes, batchSize }, open.length);
  const progress = startProgress('Evaluating', questions.length, numDone);
  const start = performance.now();
  const options: Parameters<typeof answerQuestions>[3] = {
    rollout,
    batchSize,
    signal,
    toResult: (question, trajectory, seconds) => {
      const behaviour = labelTrajectory(trajectory, question);
      const result = { ...run, ...measure(question, trajectory), behaviour };
      const usage = tokenUsage(trajectory);
      answers.set(question.id, { result, usage, seconds, ...(keepsTrajectory && { trajectory }) });
      noteFailures(failures, trajectory);
    },
    onBatch: async (_, batch) => {
      // Resuming repeats questions whose answer was refused or whose searches failed.
      const failed = failedIds(failures);
      for (const { questionId } of batch)
        if (!failed.has(questionId)) await journal.append(answers.get(questionId)!);
      for (const { refusal } of batch) numRejected = refusal === undefined ? 0 : numRejected + 1;
      if (numRejected >= maxRejected)
        throw new Error(
          `Expected usable answers from ${policy.name}, but rejected ${numRejected} in a row; see above.`,
        );
      progress.update(answers.size);
    },
  };
  await withHelpers(numHelpers, { setup, settings, signal }, (helpers) =>
    answerQuestions(policy, retriever, open, { ...options, helpers }),
  )
    .catch((error: unknown) => {
      const numSaved = answers.size - failedIds(failures).size;
      if (!signal.aborted) log(`${numSaved} answers are saved; the same command resumes.`);
      throw error;
    })
    .finally(() => progress.stop());
  policy.dispose?.();
  return {
    answers: questions.map(({ id }) => answers.get(id)!),
    failures,
    numNew: open.length,
    seconds: (performance.now() - start) / 1000,
  };
}

async function writeAnswers(
  answers: readonly Answer[],
  run: Setup['run'],
  { out, trajectories }: EvaluateSettings,
): Promise<void> {
  if (out)
    await writeLines(
      out,
      answers.map(({ result }) => result),
    );
  if (trajectories)
    await writeLines(trajectories, answers, ({ trajectory, result }) => {
      const { benchmark, subset: questionType } = result;
      const known = Object.entries({ benchmark, questionType }).filter(([, x]) => x !== 'unknown');
      return formatTrajectory({ ...run, ...Object.fromEntries(known), ...trajectory! });
    });
}

/** Answers all questions, and writes what the settings ask for. */
async function answerAll(
  questions: readonly Question[],
  settings: EvaluateSettings,
  task: Task,
): Promise<Evaluation> {
  const { run, rollout } = task.setup;
  const { answers, failures, numNew, seconds } = await answerOpen(questions, settings, task);
  await writeAnswers(answers, run, settings);
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
