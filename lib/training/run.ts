/**
 * A training run with any trainer: steps with metrics, trajectories, checkpoints and
 * guards. Turns a model into an adapter.
 */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import {
  appendText,
  partialPath,
  readJsonIfExists,
  removePartial,
  replaceFolder,
  writeFileSafely,
  writeJson,
} from '../io/files.js';
import { withFolderLock } from '../io/folder-lock.js';
import { readLog } from '../io/logs.js';
import { shortPath } from '../io/paths.js';
import { configHash, provenanceHere, type Provenance } from '../io/provenance.js';
import { identifyModel, writeBaseModel, type BaseModel } from '../policy/folders/adapter-base.js';
import {
  ADAPTER_CONFIG,
  ADAPTER_WEIGHTS,
  METRICS_FILE,
  RUN_FILE,
  TRAIN_CONFIG_FILE,
  TRAJECTORIES_FILE,
} from '../policy/folders/files.js';
import { peftConfig } from '../policy/folders/peft.js';
import { arraysFromAdapter } from '../policy/model/lora.js';
import type { Weights } from '../policy/model/weights.js';
import { formatTrajectory } from '../rollout/trajectory.js';
import { encodeSafetensors } from '../tensor/safetensors.js';
import { dropLinesFrom, resumeCheckpoint, saveCheckpoint, type RunState } from './checkpoint.js';
import { withSettings, type TrainConfig } from './config.js';
import { configDifferences } from './overrides.js';
import { checkGuards, mostSevere, type Alarm } from './guards.js';
import { strictMean, trendMetrics, type Metrics } from './metrics.js';
import { ALONE, type Ranks } from './ranks.js';
import type { Trainer, TrainingTask } from './trainer.js';
import { createTrainer } from './trainers.js';

/** Files with one line per step. */
const RECORDS = [METRICS_FILE, TRAJECTORIES_FILE];
/** Subfolder of the checkpoint with the highest recent mean reward. */
export const BEST_ADAPTER = 'adapter-best';

/** Maximum numbers of rollbacks, and of consecutive skipped steps, before a run stops. */
const MAX_ROLLBACKS = 3;
const MAX_SKIPPED = 10;
type Rollbacks = NonNullable<RunState['rollbacks']>;

/** Describes a run to its readers. */
export interface RunDescription {
  config: TrainConfig;
  /** The configuration without overrides. */
  preset?: TrainConfig;
  provenance: Provenance;
  /** The data folder of the questions; absent for the small world. */
  data?: string;
}

export interface TrainingRun extends TrainingTask {
  /**
   * Model folder. Adapters store its relative path as their base, with hashes of its
   * files. Default: the configuration's name, without hashes.
   */
  modelFolder?: string;
  /** Hash of weights, questions and passages: a run only resumes with the same. */
  inputsHash: string;
  /**
   * Number of processes that train together, with the same result for any number.
   * Default: 1. More need `modelFolder` and a CPU backend.
   */
  processes?: number;
  /** Output folder for metrics, trajectories, checkpoint and adapter. */
  folder: string;
  /**
   * Written to `run.json`, with the data as a relative path; results do not depend on it.
   */
  description?: Partial<Omit<RunDescription, 'config'>>;
  /** Steps after which the adapter is also saved, see {@link keptAdapter}. */
  keepSteps?: readonly number[];
  signal?: AbortSignal;
  onStep?: (step: number, metrics: Metrics, alarms: string[]) => void;
}

/** Custom rewards for the hash; nothing if the configuration describes the rewards. */
const customRewards = ({ rewards }: TrainingRun): { rewards?: string } =>
  rewards ? { rewards: rewards.map(({ name, weight = 1 }) => `${weight} ${name}`).join(', ') } : {};

/** Hashes everything the result depends on; tokens per pass do not matter. */
function hashRun(run: TrainingRun): string {
  return configHash({
    config: withSettings(run.config, { maxTokensPerPass: undefined }),
    inputsHash: run.inputsHash,
    ...customRewards(run),
  });
}

/** Subfolder of the adapter saved after a step. */
export const keptAdapter = (numSteps: number): string => `adapter-step-${numSteps}`;

/**
 * Trains, and writes `adapter/` (PEFT format), a folder for each of `keepSteps`, and
 * {@link BEST_ADAPTER}: the checkpoint with the highest mean reward since the previous
 * one, including steps that were later rolled back. An interrupted run resumes from its
 * checkpoint with the same result.
 * @throws the signal's reason, after saving a checkpoint; AbortError on Interrupt in a
 * notebook, after saving the start of the step unless its update had begun; Error if a
 * guard stops the run, `keepSteps` has a step that is out of range or past, or another
 * process uses the folder
 */
export async function runTraining(run: TrainingRun): Promise<void> {
  const ranks = await openRanks(run);
  const trainer = await createTrainer({ ...run, ranks }).catch((error: unknown) => {
    ranks.close();
    throw error;
  });
  const { numSteps } = trainer.session;
  try {
    const invalidStep = run.keepSteps?.find(
      (step) => !Number.isInteger(step) || step < 1 || step > numSteps,
    );
    if (invalidStep !== undefined)
      throw new RangeError(
        `Expected steps to keep to be integers from 1 to ${numSteps}, but got ${invalidStep}.`,
      );
    const base = run.modelFolder === undefined ? undefined : await identifyModel(run.modelFolder);
    await withFolderLock(run.folder, (lockLost) =>
      trainInFolder({ ...run, base, lockLost }, trainer),
    );
  } finally {
    ranks.close();
    trainer.dispose();
  }
}

async function openRanks(run: TrainingRun): Promise<Ranks> {
  const { processes: size = 1, modelFolder } = run;
  if (!Number.isInteger(size) || size < 1)
    throw new RangeError(`Expected processes to be an integer >= 1, but got ${size}.`);
  if (size === 1) return ALONE;
  if (modelFolder === undefined || run.sampler)
    throw new RangeError(
      `Expected a modelFolder and no sampler for ${size} processes. Use 1 process.`,
    );
  const { startRanks } = await import('./rank-processes.js');
  return startRanks(run, { size, modelFolder });
}

interface IdentifiedRun extends TrainingRun {
  /** The model, if it is in a folder. */
  base?: BaseModel;
  /** Aborts when another process takes over the folder. */
  lockLost: AbortSignal;
}

/** A run's state besides its weights. */
interface RunProgress {
  rollbacks: Rollbacks;
  best?: RunState['best'];
  /**
   * Rewards since the last regular checkpoint. A checkpoint made on interruption does not
   * reset them, or results would depend on it.
   */
  rewards: number[];
}

async function trainInFolder(run: IdentifiedRun, trainer: Trainer): Promise<void> {
  const { config, folder, keepSteps = [], signal } = run;
  const { session } = trainer;
  const { trained, numSteps } = session;
  let progress = (await restore(run, trainer)) ?? { rollbacks: [], rewards: [] };
  requireKept(run, session.step);
  if (session.step < numSteps) await writeDescription(run);
  let history = await dropLaterRecords(folder, session.step);
  let numSkipped = 0;
  while (session.step < numSteps) {
    run.lockLost.throwIfAborted();
    if (signal?.aborted) {
      await save(run, trainer, progress);
      signal.throwIfAborted();
    }
    const from = session.step;
    const { weights } = trained;
    const { rollbacks } = progress;
    const { alarm, reward } = await recordedStep(run, trainer, { rollbacks, history }).catch(
      async (error: unknown) => {
        // On Interrupt, a notebook does not wait for the end of the step.
        const isUnchanged = trained.weights === weights;
        if (isUnchanged && (error as Error).name === 'AbortError')
          await save(run, trainer, progress);
        throw error;
      },
    );
    const { step } = session;
    numSkipped = alarm?.action === 'skip' ? numSkipped + 1 : 0;
    if (alarm?.action === 'stop' || numSkipped >= MAX_SKIPPED) throw stopped(from, alarm!);
    if (alarm?.action === 'rollback') {
      const canRestore = session.rollbacks < MAX_ROLLBACKS;
      // A checkpoint right before this step already has the problem.
      const restored = canRestore ? await restore(run, trainer, from) : null;
      if (!restored) throw stopped(from, alarm);
      const rollback = { from, to: session.step, alarm: alarm.text };
      progress = {
        rollbacks: [...restored.rollbacks, rollback],
        best: progress.best ?? restored.best,
        rewards: restored.rewards,
      };
      session.rollbacks = progress.rollbacks.length;
      await save(run, trainer, progress);
      history = await dropLaterRecords(folder, session.step);
      continue;
    }
    // Before the checkpoint: a resumed run does not repeat this step.
    if (keepSteps.includes(step)) await saveAdapter(run, trained.weights, keptAdapter(step));
    if (trainer.isOnPolicy && reward !== undefined) progress.rewards.push(reward);
    if (step < numSteps && step % config.checkpointEvery > 0) continue;
    if (isBest(progress)) {
      progress.best = { step, reward: strictMean(progress.rewards) };
      const partial = partialPath(BEST_ADAPTER);
      await saveAdapter(run, trained.weights, partial);
      await replaceFolder(join(folder, partial), join(folder, BEST_ADAPTER));
    }
    progress.rewards = [];
    await save(run, trainer, progress);
  }
  await saveAdapter(run, trained.weights, 'adapter');
}

const isBest = ({ best, rewards }: RunProgress): boolean =>
  rewards.length > 0 && strictMean(rewards) > (best?.reward ?? -Infinity);

/** Without this folder, a run starts anew. */
export const checkpointFolder = (folder: string): string => join(folder, 'checkpoint');
const recordFiles = (folder: string): string[] => RECORDS.map((name) => join(folder, name));

function save(
  run: TrainingRun,
  { session: { step, trained } }: Trainer,
  { rollbacks, best, rewards }: RunProgress,
): Promise<void> {
  const state = {
    nextStep: step,
    hash: hashRun(run),
    ...(rollbacks.length > 0 && { rollbacks }),
    ...(best && { best }),
    ...(rewards.length > 0 && { rewards }),
  };
  const { weights, optimizer } = trained;
  return saveCheckpoint(
    checkpointFolder(run.folder),
    weights,
    optimizer,
    state,
    recordFiles(run.folder),
  );
}

/** Describes how a run differs from the one in its folder. */
async function describeDifferences({ config, folder }: TrainingRun): Promise<string> {
  const there = (await readJsonIfExists(join(folder, RUN_FILE))) as { config?: TrainConfig };
  const differences = configDifferences(config, there.config ?? config).filter(
    ({ name }) => !name.endsWith('.maxTokensPerPass'),
  );
  return differences.length > 0
    ? differences
        .map(({ name, value, preset }) => `${name} is ${preset} there, ${value} here`)
        .join('; ')
    : 'the model, data or rewards differ';
}

/** Restores the newest checkpoint, or the newest before a step; null if there is none. */
async function restore(
  run: TrainingRun,
  { session }: Trainer,
  before?: number,
): Promise<RunProgress | null> {
  const checkpoint = await resumeCheckpoint(checkpointFolder(run.folder), hashRun(run), {
    before,
    differences: () => describeDifferences(run),
  });
  if (!checkpoint) return null;
  const { nextStep, rollbacks = [], best, rewards = [] } = checkpoint.state;
  session.trained.restore(checkpoint);
  session.step = nextStep;
  session.rollbacks = rollbacks.length;
  return { rollbacks, best, rewards };
}

function requireKept({ folder, keepSteps = [] }: TrainingRun, numDone: number): void {
  const isKept = (step: number): boolean =>
    existsSync(join(folder, keptAdapter(step), TRAIN_CONFIG_FILE));
  const missedStep = keepSteps.find((step) => step <= numDone && !isKept(step));
  if (missedStep !== undefined)
    throw new Error(
      `Expected ${shortPath(folder)} to have the adapter after step ${missedStep}, but the run is at step ${numDone} and did not save it. Choose another folder, or remove this one.`,
    );
}

/** Drops the records from `step` on; returns the metrics of the steps before. */
async function dropLaterRecords(folder: string, step: number): Promise<Metrics[]> {
  for (const file of recordFiles(folder)) await dropLinesFrom(file, step);
  return readLog<Metrics>(join(folder, METRICS_FILE));
}

function writeDescription({ config, folder, description = {} }: TrainingRun): Promise<void> {
  const { preset, data, provenance = provenanceHere() } = description;
  const where = data === undefined ? undefined : relative(folder, resolve(data));
  const content = { config, preset, data: where, provenance };
  return writeJson(join(folder, RUN_FILE), content);
}

const stopped = (step: number, { text, action }: Alarm): Error => {
  const tried = action === 'stop' ? '' : ` (${action} did not help)`;
  return new Error(
    `Training stopped at step ${step}${tried}: ${text}. Set a guard's limit or action under "guards" in the configuration.`,
  );
};

/** Runs a step and records it; the reward is undefined if all searches timed out. */
async function recordedStep(
  { config, folder, onStep }: TrainingRun,
  trainer: Trainer,
  { rollbacks, history }: { rollbacks: Rollbacks; history: Metrics[] },
): Promise<{ alarm: Alarm | null; reward: number | undefined }> {
  const { step } = trainer.session;
  const withTrends = (metrics: Metrics): Metrics => ({
    ...metrics,
    ...trendMetrics([...history, metrics]),
  });
  const isUsable = (sampled: Metrics): boolean =>
    !checkGuards(withTrends(sampled), config).some(({ action }) => action === 'skip');
  const { trajectories, ...measured } = await trainer.next(isUsable);
  const metrics = withTrends(measured.metrics);
  const raised = checkGuards(metrics, config);
  const alarms = [
    ...rollbacks
      .filter(({ to }) => to === step)
      .map((back) => `back from step ${back.from}: ${back.alarm}`),
    ...raised.map(({ action, text }) => (action === 'warn' ? text : `${text} (${action})`)),
  ];
  // JSON has no NaN; the alarm reports it.
  const finite = Object.fromEntries(
    Object.entries(metrics).filter(([, value]) => Number.isFinite(value)),
  );
  await appendText(join(folder, METRICS_FILE), `${JSON.stringify({ step, ...finite, alarms })}\n`);
  history.push(finite);
  const lines = trajectories.map((trajectory) =>
    formatTrajectory({ step, method: config.method, ...trajectory }),
  );
  await appendText(join(folder, TRAJECTORIES_FILE), lines.join(''));
  onStep?.(step, metrics, alarms);
  return { alarm: mostSevere(raised), reward: metrics.reward };
}

async function saveAdapter(run: IdentifiedRun, adapter: Weights, name: string): Promise<void> {
  const { config, model } = run;
  const folder = join(run.folder, name);
  await removePartial(folder);
  const arrays = await arraysFromAdapter(adapter, model.config, config.lora);
  const metadata = { config_hash: configHash(config), ...customRewards(run) };
  const bytes = encodeSafetensors(arrays, { storage: 'F16', metadata });
  await writeFileSafely(join(folder, ADAPTER_WEIGHTS), bytes);
  const base = run.modelFolder ? relative(folder, run.modelFolder) : config.model;
  const peft = peftConfig(config.lora, { config: model.config, base });
  await writeJson(join(folder, ADAPTER_CONFIG), peft);
  if (run.base) await writeBaseModel(folder, run.base);
  await writeJson(join(folder, TRAIN_CONFIG_FILE), config);
}
