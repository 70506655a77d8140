/** A GRPO run: steps with metrics, trajectories, checkpoints and guards, from a model to an adapter. */
import { existsSync } from 'node:fs';
import { appendFile, mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { configHash } from '../io/hash.js';
import { arraysFromAdapter, peftConfig } from '../policy/lora.js';
import { writeFileSafely } from '../io/files.js';
import { printSafetensors } from '../policy/safetensors.js';
import type { Weights } from '../policy/weights.js';
import { PAPER_REWARD } from '../rewards/reward.js';
import { printTrajectory } from '../rollout/trajectory.js';
import { dropLinesFrom, resumeCheckpoint } from './checkpoint.js';
import type { GrpoMetrics } from './grpo.js';
import { alarmsOf } from './guards.js';
import { GrpoTrainer, type GrpoTask } from './trainer.js';

const METRICS = 'metrics.jsonl';
const TRAJECTORIES = 'trajectories.jsonl';
/** Files with lines of every step. */
const RECORDS = [METRICS, TRAJECTORIES];
/** The file of an adapter's folder that is written last. */
export const TRAIN_CONFIG_FILE = 'train_config.json';

export interface GrpoRun extends GrpoTask {
  /** Where the model lies: adapters name it as their base, relative to themselves. Default: the configuration's name. */
  modelFolder?: string;
  /** Hash of the model's weights, the questions and the passages: a run does not go on with others. */
  inputsHash: string;
  /** Where metrics, trajectories, checkpoint and adapter go. */
  folder: string;
  /** Numbers of steps after which the adapter is kept as it then is, in a folder of its own ({@link keptAdapter}). */
  keepSteps?: readonly number[];
  signal?: AbortSignal;
  onStep?: (step: number, metrics: GrpoMetrics, alarms: string[]) => void;
}

/** The name of a reward of one's own; nothing for the paper's, which the configuration describes. */
const ownRewardOf = ({ reward = PAPER_REWARD }: GrpoRun): { reward?: string } =>
  reward === PAPER_REWARD ? {} : { reward: reward.name };

const hashOf = (run: GrpoRun): string =>
  configHash({ config: run.config, inputsHash: run.inputsHash, ...ownRewardOf(run) });

/** Name of the folder with the adapter after so many steps, in a run's folder. */
export const keptAdapter = (numSteps: number): string => `adapter-step-${numSteps}`;

/** @throws RangeError naming a number of steps to keep that the run does not have */
function checkKeepSteps({ config, keepSteps = [] }: GrpoRun): void {
  const { steps } = config.grpo;
  const wrong = keepSteps.find((step) => !Number.isInteger(step) || step < 1 || step > steps);
  if (wrong !== undefined)
    throw new RangeError(`Expected steps to keep to be integers from 1 to ${steps}, but got ${wrong}.`);
}

/** @throws Error naming a step to keep that the run is past and has not kept */
function requireKept({ folder, keepSteps = [] }: GrpoRun, numSteps: number): void {
  const isKept = (step: number): boolean => existsSync(join(folder, keptAdapter(step), TRAIN_CONFIG_FILE));
  const lost = keepSteps.find((step) => step <= numSteps && !isKept(step));
  if (lost !== undefined) {
    throw new Error(
      `Expected ${folder} to hold the adapter after step ${lost}, but the run has done ${numSteps} steps without keeping it. Choose another folder, or remove that one.`,
    );
  }
}

/**
 * Trains and writes `adapter/` (PEFT's format), and one such folder for each of `keepSteps`. A run that was stopped goes on
 * from its checkpoint, with the same result as one that was not.
 * @throws the signal's reason after a checkpoint; Error when a metric is not a number, or where `keepSteps` has a step that
 * the run does not have or is past
 */
export async function runGrpo(run: GrpoRun): Promise<void> {
  const { config, folder, keepSteps = [], signal } = run;
  checkKeepSteps(run);
  await mkdir(folder, { recursive: true });
  const checkpointFolder = join(folder, 'checkpoint');
  const checkpoint = await resumeCheckpoint(checkpointFolder, hashOf(run));
  const trainer = new GrpoTrainer(run);
  try {
    if (checkpoint) trainer.restore(checkpoint);
    requireKept(run, trainer.step);
    await Promise.all(RECORDS.map((name) => dropLinesFrom(join(folder, name), trainer.step)));
    while (trainer.step < config.grpo.steps) {
      if (signal?.aborted) {
        await trainer.save(checkpointFolder, hashOf(run));
        signal.throwIfAborted();
      }
      await recordedStep(run, trainer);
      const numSteps = trainer.step;
      // Before the checkpoint: a run that goes on from there does not do this step again.
      if (keepSteps.includes(numSteps)) await saveAdapter(run, trainer.adapter, keptAdapter(numSteps));
      if (numSteps === config.grpo.steps || numSteps % config.checkpointEvery === 0)
        await trainer.save(checkpointFolder, hashOf(run));
    }
    await saveAdapter(run, trainer.adapter, 'adapter');
  } finally {
    trainer.dispose();
  }
}

/** Does a step and writes what came of it. */
async function recordedStep({ config, folder, onStep }: GrpoRun, trainer: GrpoTrainer): Promise<void> {
  const { step } = trainer;
  const { metrics, trajectories } = await trainer.next();
  const alarms = alarmsOf(metrics);
  await appendFile(join(folder, METRICS), `${JSON.stringify({ step, ...metrics, alarms })}\n`);
  const lines = trajectories.map((trajectory) =>
    printTrajectory({ step, method: config.method, ...trajectory }),
  );
  await appendFile(join(folder, TRAJECTORIES), lines.join(''));
  onStep?.(step, metrics, alarms);
}

async function saveAdapter(run: GrpoRun, adapter: Weights, name: string): Promise<void> {
  const { config, model } = run;
  const folder = join(run.folder, name);
  const arrays = await arraysFromAdapter(adapter, model.config, config.lora);
  const metadata = { config_hash: configHash(config), ...ownRewardOf(run) };
  const bytes = printSafetensors(arrays, { storage: 'F16', metadata });
  await writeFileSafely(join(folder, 'adapter_model.safetensors'), bytes);
  const print = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
  await writeFileSafely(
    join(folder, 'adapter_config.json'),
    print(
      peftConfig(config.lora, {
        config: model.config,
        base: run.modelFolder ? relative(folder, run.modelFolder) : config.model,
      }),
    ),
  );
  await writeFileSafely(join(folder, TRAIN_CONFIG_FILE), print(config));
}
