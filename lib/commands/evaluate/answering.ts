/** What `evaluate` does for the answers of one method: resume, answer, save. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { dataSetFiles, type Question } from '../../data/flashrag.js';
import { labelTrajectory } from '../../evaluation/behaviour.js';
import { mapAnswers } from '../../evaluation/evaluate.js';
import { measure, type Measurement } from '../../evaluation/measurement.js';
import { readJsonLines, targetPath, writeLines } from '../../io/files.js';
import { withFileLocks } from '../../io/folder-lock.js';
import { shortPath } from '../../io/paths.js';
import { startProgress } from '../../io/progress.js';
import { configHash, contentHash } from '../../io/provenance.js';
import { openJournal, type Journal } from '../../io/records.js';
import type { TokenUsage } from '../../policy/chat-policy.js';
import { listFolders, readModelConfig, settingFiles } from '../../policy/folders/policy-folders.js';
import { isLarge } from '../../policy/model/families.js';
import { encoderFiles } from '../../retrieval/retrievers.js';
import {
  formatTrajectory,
  tokenUsage,
  type TotalUsage,
  type Trajectory,
} from '../../rollout/trajectory.js';
import { isCpuBackend } from '../../tensor/backend-names.js';
import { log } from '../common/cli-utils.js';
import type { PolicySpec } from '../common/options.js';
import { setUp, type Setup } from '../common/setup.js';
import { withHelpers } from './workers.js';

export interface EvaluateSettings extends PolicySpec {
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

/** What the journal keeps of an answer until all are there. */
export interface Answer {
  result: Measurement & { method: string; model: string; seed: number };
  usage: TotalUsage;
  seconds: number;
  /** Kept with `--trajectories`, and to compare methods. */
  trajectory?: Trajectory;
}

const safetensorsFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.safetensors'))
    .sort()
    .map((name) => join(folder, name));

/**
 * Hashes everything that answers depend on, except a server's address, since the same
 * model may be served elsewhere. A journal with another hash is not resumed.
 */
async function hashSettings(
  { run, rollout, search, folders }: Setup,
  { data, split, trajectories, policy }: EvaluateSettings,
): Promise<string> {
  const { passages, questions } = dataSetFiles(data);
  const { encoder } = search.options;
  const inputs = await contentHash([
    ...(folders ? listFolders(folders) : []).flatMap((folder) => [
      ...safetensorsFiles(folder),
      ...settingFiles(folder),
    ]),
    ...questions,
    ...(passages ? [passages] : []),
    ...(encoder === undefined ? [] : encoderFiles(encoder)),
  ]);
  const hasTrajectories = Boolean(trajectories);
  const served = policy?.replace(/https?:.*/i, '');
  return configHash({ run, rollout, search, inputs, split, hasTrajectories, policy: served });
}

/**
 * Paths of outputs while they are unfinished, without those of devices. Links to one file
 * have one.
 */
export const partialFiles = (...outputs: readonly (string | undefined)[]): string[] =>
  outputs
    .filter(
      (out) => out !== undefined && (statSync(out, { throwIfNoEntry: false })?.isFile() ?? true),
    )
    .map((out) => `${targetPath(out!)}.partial`);

/** @throws Error if a file has answers that the new ones would not replace */
async function requireSameAnswers(
  file: string,
  { hash, ids }: { hash: string; ids: ReadonlySet<string> },
): Promise<void> {
  const schema = z.object({ questionId: z.string(), settingsHash: z.string().default(hash) });
  const lines = readJsonLines(file, (line) => schema.parse(line), 'answers of `evaluate`');
  for await (const { questionId, settingsHash } of lines)
    if (settingsHash !== hash || !ids.has(questionId))
      throw new Error(
        `Expected ${shortPath(file)} to have answers of the same settings to the same questions, but ${questionId} ${settingsHash === hash ? 'is not asked now' : 'was answered with other settings'}. Choose another output, or remove that file.`,
      );
  log(`${shortPath(file)} exists. It is replaced when all questions are answered.`);
}

/** All answers, what failed in them, and how long the new ones took. */
export interface EvaluatedQuestions extends Pick<Setup, 'run' | 'rollout'> {
  answers: Answer[];
  failures: Failures;
  numNew: number;
  seconds: number;
  /** The caller closes it when it no longer needs the answers. */
  journal: Journal<Answer>;
}

/**
 * Answers the questions that the journal of an interrupted evaluation lacks, and writes
 * what the settings ask for.
 */
export async function evaluateQuestions(
  questions: readonly Question[],
  settings: EvaluateSettings,
  signal: AbortSignal,
): Promise<EvaluatedQuestions> {
  const setup = await setUp(settings, signal);
  const hash = await hashSettings(setup, settings);
  const ids = new Set(questions.map(({ id }) => id));
  const [partial] = partialFiles(settings.out);
  if (partial && existsSync(settings.out!)) await requireSameAnswers(settings.out!, { hash, ids });
  // Where unfinished answers are stored.
  const file = partial ?? join('runs', `evaluate-${hash}.partial`);
  return withFileLocks([file, ...partialFiles(settings.trajectories)], async (lost) => {
    const journal = await openJournal<Answer>(file, hash, { dropsOthers: false });
    const items = journal.items.filter(({ result }) => ids.has(result.questionId));
    const numOthers = journal.items.length - items.length;
    // Answers to more questions, such as with a larger --limit, may have been paid for.
    const close = async (): Promise<void> =>
      numOthers === 0
        ? journal.close()
        : log(`${numOthers} answers to other questions are kept in ${shortPath(file)}.`);
    const kept: Journal<Answer> = { ...journal, items, close };
    const task = { setup, journal: kept, signal: AbortSignal.any([signal, lost]) };
    const answered = await answerOpen(questions, settings, task);
    await writeAnswers(answered.answers, { run: setup.run, hash }, settings);
    const { run, rollout } = setup;
    return { run, rollout, journal: kept, ...answered };
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
 * The number of processes that answer besides this one. Default: one if a small model
 * runs on the CPU, where it uses only one core, and there are more than two batches:
 * fewer are not worth loading the model and indexing a small corpus again.
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
export const MAX_NAMED = 20;
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
  const options: Parameters<typeof mapAnswers>[3] = {
    rollout,
    batchSize,
    signal,
    toResult: (question, trajectory, seconds) => {
      const behaviour = labelTrajectory(trajectory, question);
      const measured = { ...measure(question, trajectory), question: question.question };
      const result = { ...run, ...measured, behaviour };
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
    mapAnswers(policy, retriever, open, { ...options, helpers }),
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
  { run, hash }: { run: Setup['run']; hash: string },
  { out, trajectories }: EvaluateSettings,
): Promise<void> {
  if (out)
    await writeLines(
      out,
      answers.map(({ result }) => ({ ...result, settingsHash: hash })),
    );
  if (trajectories)
    await writeLines(trajectories, answers, ({ trajectory, result }) => {
      const { benchmark, subset: questionType } = result;
      const known = Object.entries({ benchmark, questionType }).filter(([, x]) => x !== 'unknown');
      return formatTrajectory({ ...run, ...Object.fromEntries(known), ...trajectory! });
    });
}
